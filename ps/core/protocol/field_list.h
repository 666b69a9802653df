// How a struct is sent: the one list of its fields, beside it. The codec in both directions
// (ps/runtime/control/field_codec.h), the check of what is received (ps/core/check/control_message_check.cpp) and the
// tests follow the list. A field is added as a member, an entry of the list in the place of the member, and a line in
// proto/attune/v1/coordinator.proto. A member without an entry does not compile where the struct is encoded; an entry
// and the .proto that differ fail tests/ps/runtime/field_lists_test.cpp.
//
//   struct Mark {
//     CutId cut;
//     std::string directory;
//   };
//   ATTUNE_FIELDS(Mark, FIELD(cut), FIELD(directory, AtMost(kPathBytesMax)));
//
// A list is a template that is compiled only where something visits it, so that it costs other includers nothing.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/time_source.h"

namespace attune::ps {

// What a received value must be, beyond its type. Of an optional one, or of a list: each value that is there.
enum class Is : uint8_t {
  kAnything,
  kCount,        // a number that no sum of a core wraps: at most kNumberMax
  kNode,         // the number of a node
  kNodeOrNone,   // 0 means none
  kTable,        // the number of a table
  kTableOrNone,  // 0 means none
  kFinite,
  kNotNaN,
  kSeconds,     // finite, from 0 to thirty years
  kLeaseTime,   // from 0 to a day
  kFailure,     // a status that is not OK
  kMetricName,  // contract::IsMetricName
  kFileName,    // of a file in a directory: never a path
};

struct FieldRule {
  FieldRule() = default;
  constexpr FieldRule(Is what) : is(what) {}  // NOLINT(google-explicit-constructor): FIELD(clock, Is::kCount)

  Is is = Is::kAnything;
  size_t most = 0;              // bytes of a text, entries of a list
  bool unless_default = false;  // a struct that is not sent while it is T{}
};
constexpr FieldRule AtMost(size_t most, Is what = Is::kAnything) {
  FieldRule rule(what);
  rule.most = most;
  return rule;
}
constexpr FieldRule UnlessDefault() {
  FieldRule rule;
  rule.unless_default = true;
  return rule;
}

template <typename Value>
inline constexpr bool kNeedsLimit = std::is_same_v<Value, std::string>;
template <typename Value>
inline constexpr bool kNeedsLimit<std::vector<Value>> = true;

// A member that is sent as the field `name` of the protobuf message.
template <typename Owner, typename Value>
struct Field {
  constexpr Field(const char* field_name, Value Owner::*of, FieldRule how = {})
      : name(field_name), member(of), rule(how) {}
  const char* name;
  Value Owner::*member;
  FieldRule rule;
};
// Does not compile for a text or a list without AtMost: what is received takes no memory that nothing bounds.
template <typename Owner, typename Value>
consteval Field<Owner, Value> Bounded(Field<Owner, Value> field) {
  if (kNeedsLimit<Value> && field.rule.most == 0) throw "a text or a list without AtMost";
  return field;
}

// A struct whose fields lie in the same protobuf message as its owner's; or the only member of its owner, which is sent
// as this value.
template <typename Owner, typename Value>
struct Inlined {
  constexpr explicit Inlined(Value Owner::*of, FieldRule how = {}) : member(of), rule(how) {}
  Value Owner::*member;
  FieldRule rule;
};

// A list of structs of numbers that is sent as parallel lists, one per field of the struct.
template <typename Owner, typename Value>
struct Columns {
  constexpr Columns(std::vector<Value> Owner::*of, size_t entries_most) : member(of), most(entries_most) {}
  std::vector<Value> Owner::*member;
  size_t most;
};

// A variant that is sent as the oneof `name`; the fields of its alternatives are in ps/store/formulas/table_options.h.
template <typename Owner, typename Value>
struct OneOf {
  template <size_t kNames>
  requires(kNames == std::variant_size_v<Value>) constexpr OneOf(const char* oneof_name, Value Owner::*of,
                                                                 const char* const (&of_alternatives)[kNames])
      : name(oneof_name), member(of), alternatives(std::to_array(of_alternatives)) {}
  const char* name;
  Value Owner::*member;
  std::array<const char*, std::variant_size_v<Value>> alternatives;
};

template <typename T>
struct FieldList;
template <typename T>
concept HasFieldList = requires {
  sizeof(FieldList<T>);
};

// visit(entries...) with all entries of the list of T.
template <HasFieldList T, typename Visit>
constexpr auto VisitFields(Visit&& visit) {
  return FieldList<T>::template Apply<T>(std::forward<Visit>(visit));
}

#define ATTUNE_FIELDS(type, ...)                 \
  template <>                                    \
  struct FieldList<type> {                       \
    template <typename T, typename Visit>        \
    static constexpr auto Apply(Visit&& visit) { \
      return visit(__VA_ARGS__);                 \
    }                                            \
  }
// Only in ATTUNE_FIELDS. FIELD_AS: in the .proto it has another name.
#define FIELD_AS(name, member, ...) \
  ::attune::ps::Bounded(::attune::ps::Field(name, &T::member __VA_OPT__(, ) __VA_ARGS__))
#define FIELD(member, ...) FIELD_AS(#member, member __VA_OPT__(, ) __VA_ARGS__)

// An enumeration as a number: kFirst for its value 0, and its last value. Specialized beside the enumeration.
template <typename Enum>
struct EnumNumbers;

// What is sent as a whole number.
template <std::unsigned_integral Number>
constexpr uint64_t ToNumber(Number number) {
  return number;
}
template <typename Id>
requires requires(Id id) {
  { id.value() } -> std::unsigned_integral;
}
constexpr uint64_t ToNumber(Id id) { return id.value(); }
constexpr uint64_t ToNumber(Duration duration) { return static_cast<uint64_t>(duration.count()); }
template <typename Enum>
requires std::is_enum_v<Enum>
constexpr uint64_t ToNumber(Enum value) { return EnumNumbers<Enum>::kFirst + static_cast<uint64_t>(value); }
template <typename Value>
concept WholeNumber = requires(Value value) {
  ToNumber(value);
};

namespace internal {

// Converts to whatever a struct's next member is, but not to the struct itself.
template <typename Owner>
struct AnyMember {
  template <typename Value>
  requires(!std::is_same_v<Value, Owner>) operator Value() const;
};

template <typename T, typename... Values>
concept BeginsWith = requires(Values (*... value)()) {
  T{value()...};
};
// The values are its members, all and in order: it can be made of them, and of none more. An optional member would be
// ambiguous for AnyMember.
template <typename T, typename... Values>
concept ConsistsOf =
    BeginsWith<T, Values...> && !BeginsWith<T, Values..., AnyMember<T>> && !BeginsWith<T, Values..., std::nullopt_t>;

}  // namespace internal

// Whether the list of T has every member, in the order of their declaration.
template <HasFieldList T>
constexpr bool ListsEveryMember() {
  return VisitFields<T>([]<typename... Entries>(const Entries&...) {
    return internal::ConsistsOf<T,
                                std::remove_cvref_t<decltype(std::declval<T&>().*std::declval<Entries>().member)>...>;
  });
}

}  // namespace attune::ps
