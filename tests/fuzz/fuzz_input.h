// Takes values off a fuzz input, front to back; zeros after its end. For targets whose input is a list of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace attune::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  template <typename T>
  requires std::is_arithmetic_v<T> T Take() {
    T value{};
    const size_t bytes = left_ < sizeof value ? left_ : sizeof value;
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  // Below `bound` > 0.
  uint64_t Below(uint64_t bound) { return Take<uint16_t>() % bound; }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace attune::fuzz
