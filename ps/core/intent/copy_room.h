// How much memory copies of rows may take at a worker, and take. Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::ps {

class CopyRoom {
 public:
  explicit CopyRoom(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  bool HasFor(size_t bytes) const { return bytes_ + bytes <= bytes_max_; }
  void Take(size_t bytes) { bytes_ += bytes; }
  void Free(size_t bytes) { bytes_ -= bytes; }
  void FreeAll() { bytes_ = 0; }
  bool empty() const { return bytes_ == 0; }

 private:
  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
};

}  // namespace attune::ps
