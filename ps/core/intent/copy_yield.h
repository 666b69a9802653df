// From how many uses ahead a worker asks for copies of rows: from two on, and from more where copies are hardly read
// before they are taken back. Such a program touches rows again only by chance, and asking for each of them costs more
// than it saves. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attune::ps {

class CopyYield {
 public:
  // A copy has come.
  void Given() {
    if (++given_ < kCopies) return;
    const uint64_t reads = served_ / kCopies;
    if (reads < kReadsFew) uses_min_ = std::min(2 * uses_min_, kUsesMax);
    if (reads > kReadsMany) uses_min_ = std::max(uses_min_ / 2, kUsesMin);
    Restart();
  }
  // One was read.
  void Served() { ++served_; }
  // With every step: after a long time without copies it is tried again.
  void StepBegan() {
    if (uses_min_ == kUsesMin || ++steps_ < kSteps) return;
    uses_min_ /= 2;
    Restart();
  }
  uint32_t uses_min() const { return uses_min_; }

 private:
  static constexpr uint32_t kUsesMin = 2, kUsesMax = 64;
  static constexpr uint64_t kCopies = 256;  // after so many it is judged
  static constexpr uint64_t kReadsFew = 3, kReadsMany = 6;
  static constexpr uint64_t kSteps = 8192;

  void Restart() { given_ = served_ = steps_ = 0; }

  uint32_t uses_min_ = kUsesMin;
  uint64_t given_ = 0, served_ = 0, steps_ = 0;
};

}  // namespace attune::ps
