// A read-only piece of an array that the sender keeps alive: how keys, gradients and rows travel through messages
// without being copied. Copying a Slice shares the memory. A Slice without an owner is of memory that is there for the
// length of a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "ps/core/protocol/row_memory.h"

namespace attune::ps {

template <typename T>
class Slice {
 public:
  Slice() = default;
  // Takes the vector over.
  Slice(std::vector<T> values) {  // NOLINT(google-explicit-constructor): a message field is set from a vector
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    view_ = *owner;
    owner_ = std::move(owner);
  }
  // A view into memory that `owner` keeps alive (a push's payload, a transport's receive buffer).
  Slice(std::shared_ptr<const void> owner, std::span<const T> view) : owner_(std::move(owner)), view_(view) {}

  // Memory for `size` values, filled by `fill(std::span<T>)` before anyone reads it.
  template <typename Fill>
  static Slice Filled(size_t size, Fill&& fill) {
    return FilledIn(NewRowMemory(size * sizeof(T)), size, std::forward<Fill>(fill));
  }
  // The same in memory of the caller's choice, large enough.
  template <typename Fill>
  static Slice FilledIn(std::shared_ptr<void> memory, size_t size, Fill&& fill) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<T> values(static_cast<T*>(memory.get()), size);
    fill(values);
    return Slice(std::shared_ptr<const void>(std::move(memory)), values);
  }

  std::span<const T> view() const { return view_; }
  const T* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const T& operator[](size_t i) const { return view_[i]; }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  // The same values in memory that stays.
  Slice Kept() const {
    if (owner_ != nullptr || empty()) return *this;
    return Filled(size(), [&](std::span<T> copy) { std::ranges::copy(view_, copy.begin()); });
  }
  Slice Part(size_t offset, size_t count) const { return Slice(owner_, view_.subspan(offset, count)); }

  friend bool operator==(const Slice& a, const Slice& b) { return std::ranges::equal(a.view_, b.view_); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> view_;
};

}  // namespace attune::ps
