// Structs to and from protobuf messages, from the lists of their fields (ps/core/protocol/field_list.h). Reading
// believes nothing: texts and lists are bounded before memory is taken, enumerations are known ones, durations are not
// negative. Only .cpp files include this header; it brings protobuf.
//
// What a kind of value travels as:
//   bool, numbers, ids, Duration, enumerations   a number
//   std::optional, SyncMode                      a field with presence
//   std::vector                                  a repeated field, or parallel ones (Columns)
//   Status                                       v1::JobStatus
//   a variant                                    a oneof (OneOf)
//   a struct with a list                         a message, always there unless the list says UnlessDefault
//   a struct of one Inlined number               that number
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/table_fields.h"
#include "ps/runtime/control/proto_values.h"

namespace attune::ps::codec {

template <HasFieldList T>
void Put(const T& from, Proto& to);
template <HasFieldList T>
Status Get(const Proto& from, T& to);

// --- whole numbers

template <typename Value>
Status FromNumber(uint64_t number, const ProtoField& field, Value& to) {
  if constexpr (std::is_same_v<Value, Duration>) {
    to = Duration(std::max<int64_t>(static_cast<int64_t>(number), 0));
  } else if constexpr (std::is_enum_v<Value>) {
    using Numbers = EnumNumbers<Value>;
    if (number < Numbers::kFirst || number > ToNumber(Numbers::kLast)) {
      return Error(StatusCode::kInvalidArgument,
                   field.full_name() + ' ' + std::to_string(number) +
                       " is not known to this release; use the same release for all pods");
    }
    to = static_cast<Value>(number - Numbers::kFirst);
  } else if constexpr (std::unsigned_integral<Value>) {
    to = static_cast<Value>(number);
  } else {
    to = Value(static_cast<decltype(to.value())>(number));
  }
  return OkStatus();
}

// --- fields of a list

// The fields of a message in the order of the list of T; nullptr for entries that are none by themselves.
template <typename Owner, typename Value>
const ProtoField* Locate(const Field<Owner, Value>& entry, const google::protobuf::Descriptor& message) {
  return FieldNamed(entry.name, message);
}
template <typename Entry>
const ProtoField* Locate(const Entry&, const google::protobuf::Descriptor&) {
  return nullptr;
}
template <HasFieldList T>
const auto& FieldsIn(const Proto& message) {
  static const auto fields = VisitFields<T>([&](const auto&... entry) {
    return std::array<const ProtoField*, sizeof...(entry)>{Locate(entry, *message.GetDescriptor())...};
  });
  return fields;
}

// use(entry, its field) for the entries of the list of T, until it gives an error.
template <HasFieldList T, typename Use>
Status ForEachEntry(const Proto& message, Use&& use) {
  const auto& fields = FieldsIn<T>(message);
  return VisitFields<T>([&](const auto&... entry) {
    Status status;
    size_t at = 0;
    (void)((status = use(entry, fields[at++])).ok() && ...);
    return status;
  });
}

// A struct of one Inlined number.
template <typename Entry>
inline constexpr bool kIsInlinedNumber = false;
template <typename Owner, typename Value>
inline constexpr bool kIsInlinedNumber<Inlined<Owner, Value>> = WholeNumber<Value>;
template <HasFieldList T>
constexpr bool IsOneNumber() {
  return VisitFields<T>([]<typename... Entries>(const Entries&...) { return (kIsInlinedNumber<Entries> || ...); });
}
template <typename T, typename Use>
auto WithOneNumber(T& owner, Use&& use) {
  return VisitFields<std::remove_const_t<T>>([&](const auto& entry) { return use(owner.*entry.member); });
}

// --- one value into, or out of, the field of a message

template <typename Value>
void PutValue(const std::optional<Value>& value, const FieldRule& rule, Proto& to, const ProtoField& field);
template <typename Value>
Status GetValue(const Proto& from, const ProtoField& field, const FieldRule& rule, std::optional<Value>& value);

template <typename Value>
void PutValue(const Value& value, const FieldRule& rule, Proto& to, const ProtoField& field) {
  if constexpr (WholeNumber<Value>) {
    SetNumber(ToNumber(value), to, field);
  } else if constexpr (std::is_floating_point_v<Value>) {
    SetReal(value, to, field);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    SetText(value, to, field);
  } else if constexpr (std::is_same_v<Value, Status>) {
    PutStatus(value, *to.GetReflection()->MutableMessage(&to, &field));
  } else if constexpr (std::is_same_v<Value, SyncMode>) {
    PutValue(value.slack, rule, to, field);
  } else if constexpr (IsOneNumber<Value>()) {
    WithOneNumber(value, [&](const auto& number) { SetNumber(ToNumber(number), to, field); });
  } else {
    if (rule.unless_default && value == Value()) return;
    Put(value, *to.GetReflection()->MutableMessage(&to, &field));
  }
}
template <typename Value>
void PutValue(const std::optional<Value>& value, const FieldRule& rule, Proto& to, const ProtoField& field) {
  if (value) PutValue(*value, rule, to, field);
}
template <typename Value>
void PutValue(const std::vector<Value>& values, const FieldRule&, Proto& to, const ProtoField& field) {
  if constexpr (WholeNumber<Value>) {
    AddNumbers(
        values.size(), [&](size_t i) { return ToNumber(values[i]); }, to, field);
  } else {
    for (const Value& value : values) Put(value, *to.GetReflection()->AddMessage(&to, &field));
  }
}

template <typename Value>
Status GetValue(const Proto& from, const ProtoField& field, const FieldRule& rule, Value& value) {
  if constexpr (WholeNumber<Value>) {
    return FromNumber(NumberOf(from, field), field, value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    GetReal(from, field, value);
    return OkStatus();
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return GetText(from, field, rule.most, value);
  } else if constexpr (std::is_same_v<Value, Status>) {
    value = GetStatus(from.GetReflection()->GetMessage(from, &field));
    return OkStatus();
  } else if constexpr (std::is_same_v<Value, SyncMode>) {
    return GetValue(from, field, rule, value.slack);
  } else if constexpr (IsOneNumber<Value>()) {
    return WithOneNumber(value, [&](auto& number) { return FromNumber(NumberOf(from, field), field, number); });
  } else {
    return Get(from.GetReflection()->GetMessage(from, &field), value);
  }
}
template <typename Value>
Status GetValue(const Proto& from, const ProtoField& field, const FieldRule& rule, std::optional<Value>& value) {
  if (!from.GetReflection()->HasField(from, &field)) return OkStatus();
  return GetValue(from, field, rule, value.emplace());
}
template <typename Value>
Status GetValue(const Proto& from, const ProtoField& field, const FieldRule& rule, std::vector<Value>& values) {
  ASSIGN_OR_RETURN(const int size, SizeOf(from, field, rule.most));
  values.reserve(static_cast<size_t>(size));
  if constexpr (WholeNumber<Value>) {
    return ForEachNumber(from, field,
                         [&](size_t, uint64_t number) { return FromNumber(number, field, values.emplace_back()); });
  } else {
    for (int i = 0; i < size; ++i) {
      RETURN_IF_ERROR(Get(from.GetReflection()->GetRepeatedMessage(from, &field, i), values.emplace_back()));
    }
    return OkStatus();
  }
}

// --- one entry of a list

template <typename T, typename Value>
void PutEntry(const T& from, const Field<T, Value>& entry, const ProtoField* field, Proto& to) {
  PutValue(from.*entry.member, entry.rule, to, *field);
}
template <typename T, typename Value>
Status GetEntry(const Proto& from, const Field<T, Value>& entry, const ProtoField* field, T& to) {
  return GetValue(from, *field, entry.rule, to.*entry.member);
}

template <typename T, typename Value>
void PutEntry(const T& from, const Inlined<T, Value>& entry, const ProtoField*, Proto& to) {
  if constexpr (std::is_same_v<Value, Status>) {
    PutStatus(from.*entry.member, to);
  } else {
    Put(from.*entry.member, to);
  }
}
template <typename T, typename Value>
Status GetEntry(const Proto& from, const Inlined<T, Value>& entry, const ProtoField*, T& to) {
  if constexpr (std::is_same_v<Value, Status>) {
    to.*entry.member = GetStatus(from);
    return OkStatus();
  } else {
    return Get(from, to.*entry.member);
  }
}

template <typename T, typename Value>
void PutEntry(const T& from, const Columns<T, Value>& entry, const ProtoField*, Proto& to) {
  const std::vector<Value>& rows = from.*entry.member;
  (void)ForEachEntry<Value>(to, [&](const auto& column, const ProtoField* field) {
    AddNumbers(
        rows.size(), [&](size_t i) { return ToNumber(rows[i].*column.member); }, to, *field);
    return OkStatus();
  });
}
template <typename T, typename Value>
Status GetEntry(const Proto& from, const Columns<T, Value>& entry, const ProtoField*, T& to) {
  std::vector<Value>& rows = to.*entry.member;
  bool first = true;
  return ForEachEntry<Value>(from, [&](const auto& column, const ProtoField* field) -> Status {
    ASSIGN_OR_RETURN(const int size, SizeOf(from, *field, entry.most));
    if (std::exchange(first, false)) rows.resize(static_cast<size_t>(size));
    if (rows.size() != static_cast<size_t>(size)) {
      return Error(StatusCode::kInvalidArgument, "control message whose list '" + field->full_name() + "' has " +
                                                     std::to_string(size) + " entries; the lists beside it have " +
                                                     std::to_string(rows.size()));
    }
    return ForEachNumber(from, *field,
                         [&](size_t i, uint64_t number) { return FromNumber(number, *field, rows[i].*column.member); });
  });
}

template <typename T, typename Value>
void PutEntry(const T& from, const OneOf<T, Value>& entry, const ProtoField*, Proto& to) {
  const Value& value = from.*entry.member;
  const ProtoField* field = FieldNamed(entry.alternatives[value.index()], *to.GetDescriptor());
  std::visit([&](const auto& alternative) { PutValue(alternative, {}, to, *field); }, value);
}
template <typename T, typename Value>
Status GetEntry(const Proto& from, const OneOf<T, Value>& entry, const ProtoField*, T& to) {
  for (size_t i = 0; i < entry.alternatives.size(); ++i) {
    const ProtoField* field = FieldNamed(entry.alternatives[i], *from.GetDescriptor());
    if (!from.GetReflection()->HasField(from, field)) continue;
    Emplace(to.*entry.member, i);
    return std::visit([&](auto& alternative) { return GetValue(from, *field, {}, alternative); }, to.*entry.member);
  }
  return Error(StatusCode::kInvalidArgument, "control message whose " + from.GetDescriptor()->full_name() + " has no " +
                                                 entry.name + " this release knows");
}

// --- a struct

template <HasFieldList T>
void Put(const T& from, Proto& to) {
  static_assert(ListsEveryMember<T>(), "its list of fields lacks a member, or has another order");
  (void)ForEachEntry<T>(to, [&](const auto& entry, const ProtoField* field) {
    PutEntry(from, entry, field, to);
    return OkStatus();
  });
}

template <HasFieldList T>
Status Get(const Proto& from, T& to) {
  return ForEachEntry<T>(from,
                         [&](const auto& entry, const ProtoField* field) { return GetEntry(from, entry, field, to); });
}

}  // namespace attune::ps::codec
