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
  void Given() { ++given_; }
  // One was read.
  void Served() { ++served_; }
  // Copies are judged by the reads of many steps: thousands may come at once, with one answer, and none of them has
  // been read by then. After a long time without copies it is tried again.
  void StepBegan() {
    ++steps_;
    if (given_ >= kCopies && steps_ >= kStepsJudged) {
      const uint64_t reads = served_ / given_;
      if (reads < kReadsFew) uses_min_ = std::min(2 * uses_min_, kUsesMax);
      if (reads > kReadsMany) uses_min_ = std::max(uses_min_ / 2, kUsesMin);
      Restart();
    } else if (uses_min_ > kUsesMin && steps_ >= kStepsWithout) {
      uses_min_ /= 2;
      Restart();
    }
  }
  uint32_t uses_min() const { return uses_min_; }

 private:
  static constexpr uint32_t kUsesMin = 2, kUsesMax = 64;
  static constexpr uint64_t kCopies = 256, kStepsJudged = 512;  // at least
  static constexpr uint64_t kReadsFew = 3, kReadsMany = 6;
  static constexpr uint64_t kStepsWithout = 8192;

  void Restart() { given_ = served_ = steps_ = 0; }

  uint32_t uses_min_ = kUsesMin;
  uint64_t given_ = 0, served_ = 0, steps_ = 0;
};

}  // namespace attune::ps
