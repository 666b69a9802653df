// Whether to wait awake for a moment before a sleep: an answer that comes within microseconds is cheaper to wait for
// so, where a second core can bring it. What has paid lately is done again; now and then it is tried whether it pays.
//
// Pure; not thread-safe.
#pragma once

#include <algorithm>

namespace attune::ps {

class SpinJudge {
 public:
  explicit SpinJudge(int cores) : allowed_(cores > 1) {}

  bool ShouldSpin() {
    if (!allowed_) return false;
    if (score_ > 0) return true;
    return ++skipped_ % kProbeEvery == 0;
  }
  // `paid`: there was something to do before the time was over.
  void Ended(bool paid) { score_ = std::clamp(score_ + (paid ? 2 : -3), 0, kScoreMax); }

  static constexpr int kScoreMax = 64;
  static constexpr int kProbeEvery = 256;  // sleeps without a spin, while spinning did not pay

 private:
  const bool allowed_;
  int score_ = 8;
  int skipped_ = 0;
};

}  // namespace attune::ps
