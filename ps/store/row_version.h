// The version of a row: recovery_era (16 bit) above row_counter (48 bit), compared as one number. It never falls for a
// reader: each applied push raises the counter, each recovery that rebuilt the row from a copy raises the era (and may
// lower the counter). A counter that ran over would raise the era, so order holds even then.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>

namespace attune::ps {

class RowVersion {
 public:
  static constexpr uint32_t kCounterBits = 48;

  constexpr RowVersion() = default;  // 0: no worker has pushed to the row
  constexpr explicit RowVersion(uint64_t value) : value_(value) {}
  // `counter` below 2^48.
  constexpr RowVersion(uint16_t era, uint64_t counter) : value_((uint64_t{era} << kCounterBits) | counter) {}

  constexpr uint64_t value() const { return value_; }  // as it travels
  constexpr uint16_t era() const { return static_cast<uint16_t>(value_ >> kCounterBits); }
  constexpr uint64_t counter() const { return value_ & ((uint64_t{1} << kCounterBits) - 1); }
  constexpr RowVersion Next() const { return After(1); }
  constexpr RowVersion After(uint64_t pushes) const { return RowVersion(value_ + pushes); }
  constexpr auto operator<=>(const RowVersion&) const = default;

  friend std::ostream& operator<<(std::ostream& out, RowVersion version) {
    return out << version.era() << ':' << version.counter();
  }

 private:
  uint64_t value_ = 0;
};

}  // namespace attune::ps
