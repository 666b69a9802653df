// Fills protobuf messages from a fuzz input, so that inputs have structure: nearly every message is understood by its
// reader, and most fields hold something at an edge.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <limits>
#include <string>

#include "tests/fuzz/fuzz_input.h"

namespace attune::fuzz {

// Most values are such as an honest program sends: a message with many fields would otherwise never be right as a
// whole, and nothing behind the first check would be reached.
inline double SomeDouble(Input& input) {
  constexpr std::array kOrdinary = {0.0, 1.0, 0.5, 1e-300, 1e17};
  if (input.Below(16) != 0) return kOrdinary[input.Below(kOrdinary.size())];
  constexpr std::array kEdges = {0.0,
                                 1.0,
                                 -1.0,
                                 0.5,
                                 1e300,
                                 1e-300,
                                 -1e300,
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
  const uint64_t pick = input.Below(kEdges.size() + 1);
  return pick < kEdges.size() ? kEdges[pick] : input.Take<double>();
}

inline uint64_t SomeNumber(Input& input) {
  if (input.Below(16) != 0) return input.Below(1000);
  switch (input.Below(4)) {
    case 0:
      return input.Below(4);
    case 1:
      return std::numeric_limits<uint64_t>::max() - input.Below(2);
    case 2:
      return uint64_t{1} << input.Below(64);
    default:
      return input.Take<uint64_t>();
  }
}

inline std::string SomeText(Input& input) {
  constexpr std::array kEdges = {"", "server", "worker", "\x1b[2J\n", "uid", "\xc3\xa9\xc2\x9b"};
  if (input.Below(8) == 0) return std::string(input.Below(20'000), 'x');
  return kEdges[input.Below(kEdges.size())];
}

inline void Fill(google::protobuf::Message& message, Input& input, int depth = 0) {
  using google::protobuf::FieldDescriptor;
  const auto& values = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count() && !input.empty(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (input.Below(3) == 0) continue;
    if (field.is_repeated()) {
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || depth > 6) continue;
      for (uint64_t n = input.Below(4); n > 0; --n) Fill(*values.AddMessage(&message, &field), input, depth + 1);
      continue;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        values.SetDouble(&message, &field, SomeDouble(input));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        values.SetUInt64(&message, &field, SomeNumber(input));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        values.SetUInt32(&message, &field, static_cast<uint32_t>(SomeNumber(input)));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        values.SetInt32(&message, &field, static_cast<int32_t>(SomeNumber(input)));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        values.SetBool(&message, &field, input.Below(2) == 1);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        values.SetEnumValue(&message, &field, static_cast<int>(input.Below(8)));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        values.SetString(&message, &field, SomeText(input));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth <= 6) Fill(*values.MutableMessage(&message, &field), input, depth + 1);
        break;
      default:
        break;
    }
  }
}

}  // namespace attune::fuzz
