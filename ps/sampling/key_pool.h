// Draws that use each key several times (SamplingMode::kPool): a pool of keys is drawn, each of them is handed out so
// many times in random order, and then another pool is drawn. The scheme is "sample reuse with pooling" of NuPS
// (Renz-Wieland et al., SIGMOD 2022).
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/types/key.h"

namespace attune::ps {

class KeyPool {
 public:
  static constexpr size_t kKeys = 256, kUses = 16;

  // `draw()` gives the keys of another pool.
  template <typename Draw>
  Key Next(Random& random, Draw&& draw) {
    if (left_.empty()) {
      for (size_t i = 0; i < kKeys; ++i) left_.insert(left_.end(), kUses, draw());
    }
    std::swap(left_[random.Below(left_.size())], left_.back());
    const Key key = left_.back();
    left_.pop_back();
    return key;
  }

 private:
  std::vector<Key> left_;  // uses of the pool
};

}  // namespace attune::ps
