#include "ps/runtime/control/coordinator_codec.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/contract.h"
#include "ps/core/check/message_check.h"
#include "ps/runtime/control/field_codec.h"

namespace attune::ps {
namespace {

using codec::Proto;
using codec::ProtoField;

// The field of `kind` in which a kind of message travels has its name: TableOpened in table_opened. nullptr: the kind
// does not travel in that direction.
template <typename Kind>
const ProtoField* FieldOf(const google::protobuf::Descriptor& envelope) {
  std::string name;
  for (const char letter : std::string_view(NameOf(Kind{}))) {
    if (std::isupper(letter) != 0 && !name.empty()) name.push_back('_');
    name.push_back(static_cast<char>(std::tolower(letter)));
  }
  return envelope.FindFieldByName(name);
}

template <typename Envelope, typename Kind>
bool PutKind(const Kind& message, Envelope& out) {
  if constexpr (HasFieldList<Kind>) {
    static const ProtoField* const field = FieldOf<Kind>(*Envelope::descriptor());
    if (field == nullptr) return false;
    codec::PutValue(message, {}, out, *field);
    return true;
  } else {
    return false;  // a message about rows
  }
}

template <typename Envelope>
StatusOr<Envelope> Encode(const Message& message, const char* not_sent) {
  Envelope out;
  const bool sent = std::visit([&](const auto& kind) { return PutKind(kind, out); }, message);
  if (sent) return out;
  return Error(StatusCode::kInvalidArgument, std::string(NameOf(message)) + not_sent);
}

using GetKind = StatusOr<Message> (*)(const Proto& from, const ProtoField& field);

template <typename Kind>
StatusOr<Message> Decoded(const Proto& from, const ProtoField& field) {
  Kind message;
  RETURN_IF_ERROR(codec::GetValue(from, field, {}, message));
  return Message(std::move(message));
}

// By the number of the field.
template <typename Envelope, typename... Kinds>
std::vector<GetKind> DecodersOf(const std::variant<Kinds...>*) {
  std::vector<GetKind> decoders;
  const auto add = [&]<typename Kind>(const Kind*) {
    if constexpr (HasFieldList<Kind>) {
      const ProtoField* field = FieldOf<Kind>(*Envelope::descriptor());
      if (field == nullptr) return;
      decoders.resize(std::max<size_t>(decoders.size(), static_cast<size_t>(field->number()) + 1));
      decoders[static_cast<size_t>(field->number())] = &Decoded<Kind>;
    }
  };
  (add(static_cast<const Kinds*>(nullptr)), ...);
  return decoders;
}

template <typename Envelope>
StatusOr<Message> Decode(const Envelope& message, const char* unknown) {
  static const auto decoders = DecodersOf<Envelope>(static_cast<const MessageVariant*>(nullptr));
  static const auto* const kind = Envelope::descriptor()->FindOneofByName("kind");
  const ProtoField* field = message.GetReflection()->GetOneofFieldDescriptor(message, kind);
  const auto number = static_cast<size_t>(field == nullptr ? 0 : field->number());
  if (number >= decoders.size() || decoders[number] == nullptr) return Error(StatusCode::kInvalidArgument, unknown);
  StatusOr<Message> decoded = decoders[number](message, *field);
  if (decoded.ok()) RETURN_IF_ERROR(CheckMessage(*decoded));
  return decoded;
}

}  // namespace

StatusOr<v1::NodeMessage> ToNodeMessage(const Message& message) {
  StatusOr<v1::NodeMessage> out = Encode<v1::NodeMessage>(message, " is not sent to a coordinator");
  if (out.ok() && out->has_join()) out->mutable_join()->set_protocol_version(contract::kProtocolVersion);
  return out;
}

StatusOr<v1::CoordinatorMessage> ToCoordinatorMessage(const Message& message) {
  return Encode<v1::CoordinatorMessage>(message, " is not sent by a coordinator");
}

StatusOr<Message> FromNodeMessage(const v1::NodeMessage& message) {
  if (message.has_join() && message.join().protocol_version() != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "protocol version " + std::to_string(message.join().protocol_version()) +
                     " joins a coordinator of version " + std::to_string(contract::kProtocolVersion) +
                     "; use the same release for all pods of a job");
  }
  return Decode(message, "control message of a kind this coordinator does not know");
}

StatusOr<Message> FromCoordinatorMessage(const v1::CoordinatorMessage& message) {
  return Decode(message, "control message of a kind this node does not know");
}

}  // namespace attune::ps
