// Statistical efficiency: progress per update, 1 for perfectly fresh rows. A small set of hypotheses how it falls with
// staleness; which of them holds is learned from the loss (loss_curve.h).
//   q(z) = 1 / (1 + c z)                    for c on a grid, z the staleness in updates (BSP: workers - 1)
//   q(z) = (0.06 + 0.94 / (1 + (z/z0)^8)) / (1 + 0.01 z)   a collapse beyond z0: more workers, faster steps, hardly any
//                                                          progress
// Source: docs/tuner.md#how-it-decides, 2; the collapse is our own.
#pragma once

#include <array>
#include <cstddef>

namespace attune::tuner {

inline constexpr size_t kSlopes = 7;
inline constexpr size_t kCollapses = 6;
inline constexpr size_t kHypotheses = kSlopes + kCollapses;
using HypothesisWeights = std::array<double, kHypotheses>;  // sum to 1

class EfficiencyModel {
 public:
  // `staleness_max`: at the largest number of workers. 0 leaves a single hypothesis, q = 1.
  explicit EfficiencyModel(double staleness_max = 0, bool with_collapse = true);

  double Efficiency(size_t hypothesis, double staleness) const;
  std::array<double, kHypotheses> Efficiencies(double staleness) const;
  const HypothesisWeights& prior() const { return prior_; }
  void SetPrior(const HypothesisWeights& prior) { prior_ = prior; }

  // Expected log efficiency. A collapse that the data do not show yet weighs little: it is noticed and left when it
  // comes; once it is likely it weighs fully.
  double ExpectedLog(const HypothesisWeights& weights, double staleness) const;
  // Probability that progress has collapsed at this staleness.
  double CollapseProbability(const HypothesisWeights& weights, double staleness) const;

  double staleness_max() const { return staleness_max_; }

 private:
  double staleness_max_;
  HypothesisWeights prior_{};
};

}  // namespace attune::tuner
