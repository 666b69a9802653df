#include "bench/tuning/recorded_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace attune::bench {
namespace {

// The nearest falling curve: neighbors that rise are replaced by their mean (pool adjacent violators).
void MakeFalling(std::vector<double>& values) {
  struct Block {
    double sum;
    size_t count;
    double Mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (const double value : values) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].Mean() < blocks.back().Mean()) {
      blocks[blocks.size() - 2].sum += blocks.back().sum;
      blocks[blocks.size() - 2].count += blocks.back().count;
      blocks.pop_back();
    }
  }
  auto to = values.begin();
  for (const Block& block : blocks) to = std::fill_n(to, block.count, block.Mean());
}

// Updates until both have the loss that the worse one ends with.
StatusOr<double> RelativeCost(const std::string& path, const RecordedLoss& one) {
  ASSIGN_OR_RETURN(const RecordedLoss other, ReadRecordedLoss(path));
  const double target = std::max(one.loss.back(), other.loss.back());
  return std::max(1.0, other.StepsUntil(target) / one.StepsUntil(target));
}

}  // namespace

double RecordedLoss::At(double at) const {
  const auto next = static_cast<size_t>(std::upper_bound(steps.begin(), steps.end(), at) - steps.begin());
  if (next == 0) return loss.front();
  if (next == steps.size()) return loss.back();
  const double part = (at - steps[next - 1]) / (steps[next] - steps[next - 1]);
  return loss[next - 1] + part * (loss[next] - loss[next - 1]);
}

double RecordedLoss::StepsUntil(double target) const {
  for (size_t i = 0; i < loss.size(); ++i) {
    if (loss[i] > target) continue;
    if (i == 0 || loss[i - 1] == loss[i]) return steps[i];
    return steps[i - 1] + (steps[i] - steps[i - 1]) * (loss[i - 1] - target) / (loss[i - 1] - loss[i]);
  }
  return steps.back();
}

StatusOr<RecordedLoss> ReadRecordedLoss(const std::string& path) {
  constexpr size_t kPointsMax = 10'000;
  std::ifstream file(path);
  if (!file) return Error(StatusCode::kNotFound, "cannot read the recorded losses '" + path + "'");
  RecordedLoss recorded;
  std::vector<double> variances;
  std::string line;
  std::getline(file, line);
  for (int number = 2; std::getline(file, line); ++number) {
    double steps = 0, mean = 0, variance = 0;
    const bool is_point = std::sscanf(line.c_str(), "%lf,%lf,%lf", &steps, &mean, &variance) == 3;
    if (!is_point || !(mean > 0) || !(variance >= 0) || variances.size() == kPointsMax ||
        (!recorded.steps.empty() && !(steps > recorded.steps.back()))) {
      return Error(
          StatusCode::kInvalidArgument,
          path + ":" + std::to_string(number) + ": wanted rising steps, a loss and its variance, not '" + line + "'");
    }
    recorded.steps.push_back(steps);
    recorded.loss.push_back(mean);
    variances.push_back(variance);
  }
  if (recorded.steps.size() < 2) return Error(StatusCode::kInvalidArgument, path + " holds no two points");
  MakeFalling(recorded.loss);
  const auto middle = variances.begin() + static_cast<ptrdiff_t>(variances.size() / 2 + variances.size() / 4);
  std::nth_element(variances.begin() + static_cast<ptrdiff_t>(variances.size() / 2), middle, variances.end());
  recorded.step_variance = *middle;
  return recorded;
}

StatusOr<RecordedExample> ReadRecordedExample(const std::string& example) {
  const std::string path = std::string(ATTUNE_RECORDED_DIRECTORY) + "/" + example;
  RecordedExample recorded;
  ASSIGN_OR_RETURN(recorded.loss, ReadRecordedLoss(path + "-async-1.csv"));
  for (const char* workers : {"2", "4"}) {
    ASSIGN_OR_RETURN(const double cost, RelativeCost(path + "-async-" + workers + ".csv", recorded.loss));
    recorded.async_cost.push_back(cost);
  }
  ASSIGN_OR_RETURN(const double bsp, RelativeCost(path + "-bsp-4.csv", recorded.loss));
  recorded.bsp_cost = {bsp};
  return recorded;
}

}  // namespace attune::bench
