// Little-endian numbers and strings to and from bytes. What is read is bounded by what is there; reading past the end
// gives zeros and is remembered.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace attune::ps {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian and written as memory is");

// What a decoder says of bytes that its format does not allow; callers add the path.
inline Status Damaged(const std::string& how) { return Error(StatusCode::kInvalidArgument, how); }

class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void PutBytes(std::string_view bytes) { bytes_.append(bytes); }
  void PutString(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    const std::string_view bytes = GetBytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // Empty when fewer are left.
  std::string_view GetBytes(size_t count) {
    if (bytes_.size() < count) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }
  std::string GetString(uint32_t size_max) {
    const auto size = Get<uint32_t>();
    if (size > size_max) {
      ok_ = false;
      bytes_ = {};
    }
    return ok_ ? std::string(GetBytes(size)) : std::string();
  }
  size_t left() const { return bytes_.size(); }
  bool ok() const { return ok_; }
  bool IsComplete() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace attune::ps
