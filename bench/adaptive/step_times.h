// What the steps of a measured worker spend on rows. One line of JSON at its end, which bench/adaptive/run reads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/time_source.h"
#include "bench/cpu_seconds.h"

namespace attune::adaptive_bench {

// Begin, then Think and Access in turns, and End, for every step. Of one thread.
class StepTimes {
 public:
  // What is measured begins after so many seconds.
  explicit StepTimes(double skip_seconds) : counted_from_(began_ + skip_seconds) {}

  // The step begins, with accesses to rows.
  void Begin() {
    const double now = Now();
    if (began_ < counted_from_ && now >= counted_from_) {
      access_.clear();
      began_ = now;
      cpu_before_ = ProcessCpuSeconds();
    }
    spent_ = -now;
  }
  // Between two steps: the first one since what is measured has begun is put off for so long. What the process takes
  // meanwhile is given as "idle_cores".
  void IdleOnce(double seconds) {
    if (seconds <= 0 || idle_cores_ >= 0 || began_ < counted_from_) return;
    const double before = ProcessCpuSeconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    idle_cores_ = (ProcessCpuSeconds() - before) / seconds;
  }
  // The program computes, and accesses rows again.
  void Think() { spent_ += Now(); }
  void Access() { spent_ -= Now(); }
  void End() {
    ended_ = Now();
    ++steps_in_all_;
    access_.push_back(spent_ + ended_);
  }

  // "skipped": false says that the run ended before anything was to be measured, and all of it is given.
  void Write(const std::string& directory, uint32_t worker) {
    std::ranges::sort(access_);
    std::ofstream(directory + "/worker-" + std::to_string(worker) + ".json")
        << "{\"steps\":" << access_.size() << ",\"steps_in_all\":" << steps_in_all_
        << ",\"seconds\":" << ended_ - began_ << ",\"idle_cores\":" << idle_cores_
        << ",\"skipped\":" << (began_ >= counted_from_ ? "true" : "false")
        << ",\"cpu_seconds\":" << ProcessCpuSeconds() - cpu_before_ << ",\"access_p50_ms\":" << 1e3 * Quantile(0.5)
        << ",\"access_p99_ms\":" << 1e3 * Quantile(0.99) << "}\n";
  }

 private:
  static double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); }
  double Quantile(double share) const {
    return access_.empty() ? 0 : access_[static_cast<size_t>(share * static_cast<double>(access_.size() - 1))];
  }

  double began_ = Now(), ended_ = began_, cpu_before_ = ProcessCpuSeconds(), spent_ = 0;
  const double counted_from_;
  uint64_t steps_in_all_ = 0;
  double idle_cores_ = -1;      // none was measured
  std::vector<double> access_;  // seconds of each step
};

}  // namespace attune::adaptive_bench
