// Random values for every field that a struct's list names (ps/core/protocol/field_list.h), as far as its type allows:
// what a message means does not matter to its codec.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/table_fields.h"

namespace attune::ps {

class RandomFields {
 public:
  explicit RandomFields(Random& random) : random_(random) {}

  template <HasFieldList T>
  void Fill(T& value) {
    VisitFields<T>([&](const auto&... entry) { (FillEntry(value, entry), ...); });
  }

 private:
  template <typename T, typename Entry>
  void FillEntry(T& owner, const Entry& entry) {
    FillValue(owner.*entry.member, entry.rule.most);
  }
  template <typename T, typename Value>
  void FillEntry(T& owner, const Columns<T, Value>& entry) {
    FillValue(owner.*entry.member, entry.most);
  }
  template <typename T, typename Value>
  void FillEntry(T& owner, const OneOf<T, Value>& entry) {
    Emplace(owner.*entry.member, random_.Below(std::variant_size_v<Value>));
    std::visit([&](auto& alternative) { Fill(alternative); }, owner.*entry.member);
  }

  // Small and large ones, of any length on the wire.
  uint64_t Number() { return random_.Chance(0.1) ? 0 : random_.Next() >> random_.Below(64); }

  template <typename Value>
  void FillValue(Value& value, size_t most) {
    if constexpr (std::is_same_v<Value, bool>) {
      value = random_.Chance(0.5);
    } else if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(random_.Below(static_cast<uint64_t>(EnumNumbers<Value>::kLast) + 1));
    } else if constexpr (std::is_same_v<Value, Duration>) {
      value = Duration(Number() >> 1);
    } else if constexpr (std::unsigned_integral<Value>) {
      value = static_cast<Value>(Number());
    } else if constexpr (std::is_floating_point_v<Value>) {
      value = static_cast<Value>(random_.Normal());
    } else if constexpr (WholeNumber<Value>) {
      value = Value(static_cast<decltype(value.value())>(Number()));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value.assign(random_.Below(std::min<size_t>(most, 20) + 1), static_cast<char>('a' + random_.Below(26)));
    } else if constexpr (std::is_same_v<Value, Status>) {
      value = random_.Chance(0.3) ? OkStatus() : Error(static_cast<StatusCode>(1 + random_.Below(16)), "a reason");
    } else if constexpr (std::is_same_v<Value, SyncMode>) {
      FillValue(value.slack, most);
    } else {
      Fill(value);
    }
  }
  template <typename Value>
  void FillValue(std::optional<Value>& value, size_t most) {
    value.reset();
    if (random_.Chance(0.5)) FillValue(value.emplace(), most);
  }
  template <typename Value>
  void FillValue(std::vector<Value>& values, size_t) {
    values.resize(random_.Below(4));
    for (Value& value : values) FillValue(value, kNameBytesMax);
  }

  Random& random_;
};

}  // namespace attune::ps
