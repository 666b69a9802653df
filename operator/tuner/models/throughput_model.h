// Gaussian process on log seconds per update over all settings of a space, in closed form. Its covariance is
//   l K0 + a^2 M + 9 + sd^2 exp(-|t - t'| / tau) (1 + M / 2)  (+ noise of each block),
// K0 and the mean from random structural models (structural_prior.h), M Matern 5/2; 9 frees the level, the last term is
// drift. l, a and sd come from a small grid by marginal likelihood. Source: docs/tuner.md#how-it-decides, 1.
#pragma once

#include <memory>
#include <vector>

#include "operator/tuner/models/block_log.h"
#include "operator/tuner/models/structural_prior.h"

namespace attune::tuner {

struct ThroughputOptions {
  bool structure = true;  // false: Matern on log2 knobs only
  bool drift = true;
  bool robust = true;  // blocks far from what the others say count less
};

// Log seconds per update at `to` less those at `from`, as something besides speed has shown them (cpu_model.h).
struct Difference {
  int from = 0, to = 0;
  double log_ratio = 0;
  double variance = 0;
};

// What is believed now about log seconds per update at every setting.
class Posterior {
 public:
  double mean(int id) const { return mean_[static_cast<size_t>(id)]; }
  double variance(int id) const { return Covariance(id, id); }
  double Covariance(int a, int b) const;
  // Variance of the difference between two settings, in which the common level cancels.
  double DifferenceVariance(int a, int b) const;
  double deviation_of_residuals() const { return residuals_; }  // of the blocks, in units of their expected deviation
  double drift() const { return drift_; }                       // chosen sd
  // No setting that was not measured is faster than what is possible there: log seconds for each.
  void BoundMeans(const std::vector<double>& least, const std::vector<double>& windows);

 private:
  friend class ThroughputModel;
  std::shared_ptr<const StructuralPrior> prior_;
  double l_ = 1, a_ = 0.12, drift_ = 0.01, residuals_ = 1;
  bool structure_ = true;
  size_t observed_ = 0;  // blocks and differences
  std::vector<double> mean_;
  std::vector<double> whitened_;  // observed_ values per setting
};

class ThroughputModel {
 public:
  ThroughputModel(std::shared_ptr<const StructuralPrior> prior, ThroughputOptions options)
      : prior_(std::move(prior)), options_(options) {}

  void SetPrior(std::shared_ptr<const StructuralPrior> prior) { prior_ = std::move(prior); }

  Posterior Fit(const BlockLog& log, double now, double tau, const std::vector<Difference>& differences = {}) const;

 private:
  std::shared_ptr<const StructuralPrior> prior_;
  ThroughputOptions options_;
};

}  // namespace attune::tuner
