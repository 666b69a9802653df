#include "ps/runtime/control/proto_values.h"

#include "attune/v1/coordinator.pb.h"
#include "base/check.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps::codec {
namespace {

const google::protobuf::Reflection& ReflectionOf(const Proto& message) { return *message.GetReflection(); }

Status TooMany(const ProtoField& field, uint64_t found, const char* what, uint64_t most) {
  return Error(StatusCode::kInvalidArgument, "control message with " + std::to_string(found) + ' ' + what + " in '" +
                                                 field.full_name() + "'; at most " + std::to_string(most) +
                                                 " are allowed");
}

}  // namespace

void SetNumber(uint64_t number, Proto& to, const ProtoField& field) {
  const google::protobuf::Reflection& reflection = ReflectionOf(to);
  switch (field.cpp_type()) {
    case ProtoField::CPPTYPE_UINT64:
      return reflection.SetUInt64(&to, &field, number);
    case ProtoField::CPPTYPE_UINT32:
      return reflection.SetUInt32(&to, &field, static_cast<uint32_t>(number));
    case ProtoField::CPPTYPE_INT64:
      return reflection.SetInt64(&to, &field, static_cast<int64_t>(number));
    case ProtoField::CPPTYPE_BOOL:
      return reflection.SetBool(&to, &field, number != 0);
    case ProtoField::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&to, &field, static_cast<int>(number));
    default:
      ATTUNE_CHECK(false) << field.full_name() << " holds no whole number";
  }
}

uint64_t NumberOf(const Proto& from, const ProtoField& field) {
  const google::protobuf::Reflection& reflection = ReflectionOf(from);
  switch (field.cpp_type()) {
    case ProtoField::CPPTYPE_UINT64:
      return reflection.GetUInt64(from, &field);
    case ProtoField::CPPTYPE_UINT32:
      return reflection.GetUInt32(from, &field);
    case ProtoField::CPPTYPE_INT64:
      return static_cast<uint64_t>(reflection.GetInt64(from, &field));
    case ProtoField::CPPTYPE_BOOL:
      return reflection.GetBool(from, &field) ? 1 : 0;
    case ProtoField::CPPTYPE_ENUM:
      return static_cast<uint64_t>(reflection.GetEnumValue(from, &field));
    default:
      ATTUNE_CHECK(false) << field.full_name() << " holds no whole number";
      return 0;
  }
}

void SetReal(float number, Proto& to, const ProtoField& field) { ReflectionOf(to).SetFloat(&to, &field, number); }
void SetReal(double number, Proto& to, const ProtoField& field) { ReflectionOf(to).SetDouble(&to, &field, number); }
void GetReal(const Proto& from, const ProtoField& field, float& number) {
  number = ReflectionOf(from).GetFloat(from, &field);
}
void GetReal(const Proto& from, const ProtoField& field, double& number) {
  number = ReflectionOf(from).GetDouble(from, &field);
}

void SetText(const std::string& text, Proto& to, const ProtoField& field) {
  ReflectionOf(to).SetString(&to, &field, text);
}

Status GetText(const Proto& from, const ProtoField& field, size_t most, std::string& text) {
  std::string scratch;
  const std::string& found = ReflectionOf(from).GetStringReference(from, &field, &scratch);
  if (found.size() > most) return TooMany(field, found.size(), "bytes", most);
  text = found;
  return OkStatus();
}

void PutStatus(const Status& status, Proto& to) {
  auto* message = google::protobuf::DynamicCastToGenerated<v1::JobStatus>(&to);
  ATTUNE_CHECK(message != nullptr) << to.GetTypeName();
  message->set_code(static_cast<uint32_t>(status.code()));
  message->set_message(std::string(attune::Message(status).substr(0, kStatusBytesMax)));
}

Status GetStatus(const Proto& from) {
  const auto* message = google::protobuf::DynamicCastToGenerated<v1::JobStatus>(&from);
  ATTUNE_CHECK(message != nullptr) << from.GetTypeName();
  if (message->code() == 0) return OkStatus();
  const bool known = message->code() <= static_cast<uint32_t>(StatusCode::kUnauthenticated);
  return Error(known ? static_cast<StatusCode>(message->code()) : StatusCode::kUnknown,
               std::string_view(message->message()).substr(0, kStatusBytesMax));
}

StatusOr<int> SizeOf(const Proto& from, const ProtoField& field, size_t most) {
  const int size = ReflectionOf(from).FieldSize(from, &field);
  if (static_cast<size_t>(size) > most) return TooMany(field, static_cast<uint64_t>(size), "entries", most);
  return size;
}

const ProtoField* FieldNamed(const char* name, const google::protobuf::Descriptor& message) {
  const ProtoField* field = message.FindFieldByName(name);
  ATTUNE_CHECK(field != nullptr) << message.full_name() << " has no field '" << name << "'";
  return field;
}

}  // namespace attune::ps::codec
