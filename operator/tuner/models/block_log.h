// What was measured of throughput, as few blocks: successive windows at one setting become one observation, whose value
// is their median. Bounded; a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune::tuner {

// A window as the model sees it: seconds per update at a setting.
struct SpeedWindow {
  int setting = 0;
  double time = 0;     // its end, seconds since the job started
  double seconds = 0;  // > 0
  double updates = 0;  // > 0
};

struct Block {
  int setting = 0;
  int source = 0;   // 0: this job; n: the n-th similar job of the history
  double time = 0;  // middle
  double begin = 0, end = 0;
  double updates = 0;
  double windows = 0;                   // in units of the job's window
  double log_seconds = 0;               // log of seconds per update
  std::vector<double> values, weights;  // of its windows, until it is closed
  bool closed = false;
};

class BlockLog {
 public:
  explicit BlockLog(double window_seconds = 10, bool use_median = true)
      : window_seconds_(window_seconds), use_median_(use_median) {}

  void Absorb(const SpeedWindow& window);
  void AddHistory(int setting, int source, double log_seconds, double updates, double windows);

  const std::vector<Block>& blocks() const { return blocks_; }
  // Variance of a block's log seconds; `updates` and `windows` of a trial that is only imagined give its noise.
  double Variance(double updates, double windows) const;
  double Variance(const Block& block) const { return Variance(block.updates, block.windows); }
  // Windows measured at a setting so far in this job, and when it was last seen (-1: never).
  double WindowsAt(int setting) const;
  double LastSeen(int setting) const;
  double noise_scale() const;
  double tail_share() const;  // of windows that lie far outside of normal noise

  static constexpr size_t kBlocksMax = 45;
  static constexpr size_t kValuesMax = 12;
  static constexpr size_t kDifferencesMax = 48;

  // For serialization.
  struct Dump {
    std::vector<Block> blocks;
    std::vector<double> differences;
    double last_value = 0, last_variance = 0;
    int last_setting = -1;
  };
  Dump Save() const { return {blocks_, differences_, last_value_, last_variance_, last_setting_}; }
  void Load(Dump dump);

 private:
  double WindowVariance(double updates, double windows) const;
  void Close(Block& block);
  void Refresh(Block& block) const;
  void Shrink();

  double window_seconds_;
  bool use_median_;
  std::vector<Block> blocks_;        // by time
  std::vector<double> differences_;  // of successive windows at one setting, in units of their expected deviation
  double last_value_ = 0, last_variance_ = 0;
  int last_setting_ = -1;
};

}  // namespace attune::tuner
