#include "operator/tuner/models/block_log.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attune::tuner {
namespace {

// Relative deviation of a window: shot noise of single updates, and what differs between windows anyway.
constexpr double kUpdateNoise = 0.4, kWindowNoise = 0.025, kFloor = 0.006;

double WeightedMedian(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  const double half = std::accumulate(weights.begin(), weights.end(), 0.0) / 2;
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    sum += weights[order[i]];
    if (sum > half * (1 + 1e-9)) return values[order[i]];
    if (sum >= half * (1 - 1e-9) && i + 1 < order.size()) return (values[order[i]] + values[order[i + 1]]) / 2;
  }
  return values[order.back()];
}

double Mean(const std::vector<double>& values, const std::vector<double>& weights) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i] * weights[i];
    weight += weights[i];
  }
  return sum / weight;
}

}  // namespace

double BlockLog::WindowVariance(double updates, double windows) const {
  return kUpdateNoise * kUpdateNoise / std::max(updates, 0.5) + kWindowNoise * kWindowNoise / std::max(windows, 0.25);
}

double BlockLog::noise_scale() const {
  constexpr double kPrior = 4;  // differences worth of belief in the constants above
  if (differences_.empty()) return 1;
  std::vector<double> sorted = differences_;
  for (double& difference : sorted) difference = std::abs(difference);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double deviation = 1.4826 * sorted[sorted.size() / 2];
  const auto n = static_cast<double>(differences_.size());
  return std::clamp(std::sqrt((kPrior + n * deviation * deviation) / (kPrior + n)), 0.25, 5.0);
}

double BlockLog::tail_share() const {
  constexpr double kFar = 4, kPrior = 8;
  const double far = kFar * noise_scale();
  const auto count =
      std::count_if(differences_.begin(), differences_.end(), [&](double d) { return std::abs(d) > far; });
  // One bad window makes two large differences.
  return static_cast<double>(count) / 2 / (static_cast<double>(differences_.size()) + kPrior);
}

double BlockLog::Variance(double updates, double windows) const {
  const double scale = noise_scale();
  const double median_loss = windows > 2.5 && use_median_ ? 1.3 : 1;  // of efficiency under normal noise
  return scale * scale * median_loss * WindowVariance(updates, windows) + kFloor * kFloor;
}

void BlockLog::Refresh(Block& block) const {
  block.log_seconds = use_median_ ? WeightedMedian(block.values, block.weights) : Mean(block.values, block.weights);
  block.time = (block.begin + block.end) / 2;
}

void BlockLog::Close(Block& block) {
  block.closed = true;
  block.values.clear();
  block.weights.clear();
}

void BlockLog::Absorb(const SpeedWindow& window) {
  const double value = std::log(window.seconds / window.updates);
  const double windows = window.seconds / window_seconds_;
  const double variance = WindowVariance(window.updates, windows);
  if (window.setting == last_setting_) {
    differences_.push_back((value - last_value_) / std::sqrt(variance + last_variance_));
    if (differences_.size() > kDifferencesMax) differences_.erase(differences_.begin());
  }
  last_setting_ = window.setting;
  last_value_ = value;
  last_variance_ = variance;

  Block* open = nullptr;
  if (!blocks_.empty() && blocks_.back().source == 0 && !blocks_.back().closed) {
    Block& last = blocks_.back();
    // Blocks stay short against the job's age, so that drift can be seen.
    const bool full =
        last.values.size() >= kValuesMax ||
        (last.values.size() >= 3 && last.end - last.begin > std::max(8 * window_seconds_, 0.06 * last.end));
    if (last.setting == window.setting && !full) {
      open = &last;
    } else {
      Close(last);
    }
  }
  if (open == nullptr) {
    blocks_.push_back({.setting = window.setting, .begin = window.time - window.seconds});
    open = &blocks_.back();
  }
  open->end = window.time;
  open->updates += window.updates;
  open->windows += windows;
  open->values.push_back(value);
  open->weights.push_back(window.seconds);
  Refresh(*open);
  if (blocks_.size() > kBlocksMax) Shrink();
}

void BlockLog::AddHistory(int setting, int source, double log_seconds, double updates, double windows) {
  blocks_.insert(blocks_.begin(), {.setting = setting,
                                   .source = source,
                                   .updates = updates,
                                   .windows = windows,
                                   .log_seconds = log_seconds,
                                   .closed = true});
  if (blocks_.size() > kBlocksMax) Shrink();
}

// Two blocks of one setting that lie closest in time, compared with how long ago they were, become one.
void BlockLog::Shrink() {
  const double now = blocks_.back().end;
  double least = 1e300;
  std::pair<size_t, size_t> pair{0, 0};
  for (size_t i = 0; i + 1 < blocks_.size(); ++i) {
    for (size_t j = i + 1; j + 1 < blocks_.size(); ++j) {
      if (blocks_[i].setting != blocks_[j].setting || blocks_[i].source != blocks_[j].source) continue;
      const double distance = (blocks_[j].time - blocks_[i].time) / (now - blocks_[j].time + window_seconds_);
      if (distance < least) {
        least = distance;
        pair = {i, j};
      }
      break;  // only neighbors of one setting
    }
  }
  if (pair.second == 0) {  // every block is of another setting: history goes first, then the oldest
    const auto oldest = std::min_element(blocks_.begin(), blocks_.end() - 1, [](const Block& a, const Block& b) {
      return std::pair(a.source == 0, a.end) < std::pair(b.source == 0, b.end);
    });
    blocks_.erase(oldest);
    return;
  }
  Block& a = blocks_[pair.first];
  const Block& b = blocks_[pair.second];
  const double wa = 1 / WindowVariance(a.updates, a.windows), wb = 1 / WindowVariance(b.updates, b.windows);
  a.log_seconds = (a.log_seconds * wa + b.log_seconds * wb) / (wa + wb);
  a.time = (a.time * wa + b.time * wb) / (wa + wb);
  a.end = b.end;
  a.updates += b.updates;
  a.windows += b.windows;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(pair.second));
}

double BlockLog::WindowsAt(int setting) const {
  double windows = 0;
  for (const Block& block : blocks_) {
    if (block.setting == setting && block.source == 0) windows += block.windows;
  }
  return windows;
}

double BlockLog::LastSeen(int setting) const {
  double seen = -1;
  for (const Block& block : blocks_) {
    if (block.setting == setting && block.source == 0) seen = std::max(seen, block.end);
  }
  return seen;
}

void BlockLog::Load(Dump dump) {
  blocks_ = std::move(dump.blocks);
  differences_ = std::move(dump.differences);
  last_value_ = dump.last_value;
  last_variance_ = dump.last_variance;
  last_setting_ = dump.last_setting;
}

}  // namespace attune::tuner
