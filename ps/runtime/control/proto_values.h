// Single values of a protobuf message, by the descriptor of their field. Only .cpp files include this header; it brings
// protobuf.
#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include "base/status.h"

namespace attune::ps::codec {

using Proto = google::protobuf::Message;
using ProtoField = google::protobuf::FieldDescriptor;

// Any number without a fraction as 64 bits: bool, enumeration, signed or unsigned. One that does not fit into the field
// loses its upper bits.
void SetNumber(uint64_t number, Proto& to, const ProtoField& field);
uint64_t NumberOf(const Proto& from, const ProtoField& field);

// Lists of numbers.
template <typename NumberAt>
void AddNumbers(size_t count, NumberAt&& number_at, Proto& to, const ProtoField& field) {
  const auto add = [&]<typename Number>(const google::protobuf::MutableRepeatedFieldRef<Number>& list) {
    for (size_t i = 0; i < count; ++i) list.Add(static_cast<Number>(number_at(i)));
  };
  const google::protobuf::Reflection& reflection = *to.GetReflection();
  if (field.cpp_type() == ProtoField::CPPTYPE_UINT64) {
    add(reflection.GetMutableRepeatedFieldRef<uint64_t>(&to, &field));
  } else {
    add(reflection.GetMutableRepeatedFieldRef<uint32_t>(&to, &field));
  }
}
// take(place, number) for each, until it gives an error.
template <typename Take>
Status ForEachNumber(const Proto& from, const ProtoField& field, Take&& take) {
  const auto read = [&](const auto& list) {
    Status status;
    for (int i = 0; i < list.size() && status.ok(); ++i) status = take(static_cast<size_t>(i), uint64_t{list.Get(i)});
    return status;
  };
  const google::protobuf::Reflection& reflection = *from.GetReflection();
  if (field.cpp_type() == ProtoField::CPPTYPE_UINT64) {
    return read(reflection.GetRepeatedFieldRef<uint64_t>(from, &field));
  }
  return read(reflection.GetRepeatedFieldRef<uint32_t>(from, &field));
}

void SetReal(float number, Proto& to, const ProtoField& field);
void SetReal(double number, Proto& to, const ProtoField& field);
void GetReal(const Proto& from, const ProtoField& field, float& number);
void GetReal(const Proto& from, const ProtoField& field, double& number);

void SetText(const std::string& text, Proto& to, const ProtoField& field);
Status GetText(const Proto& from, const ProtoField& field, size_t most, std::string& text);

// A status as v1::JobStatus.
void PutStatus(const Status& status, Proto& to);
Status GetStatus(const Proto& from);

// Entries of a list; InvalidArgument when there are more.
StatusOr<int> SizeOf(const Proto& from, const ProtoField& field, size_t most);

// The field of that name; a broken invariant when there is none: a field list (ps/core/protocol/field_list.h) and
// proto/attune/v1/coordinator.proto differ.
const ProtoField* FieldNamed(const char* name, const google::protobuf::Descriptor& message);

}  // namespace attune::ps::codec
