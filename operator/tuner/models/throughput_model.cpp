#include "operator/tuner/models/throughput_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attune::tuner {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kLevel = 9;            // variance of the unknown level
constexpr double kOtherJob = 0.85;      // how much of a similar job's surface is this job's
constexpr double kOutlier = 4;          // deviations; under heavy tails already
constexpr double kHeavyOutlier = 2.5;   // these, on the slow side
constexpr double kHeavyShare = 0.04;    // of windows beyond kOutlier
constexpr double kOutlierVariance = 6;  // how much less such a block counts
constexpr double kHeavyVariance = 30;

struct Hyper {
  double a, l, penalty;
};
constexpr std::array<Hyper, 5> kShapes = {Hyper{0.05, 1, 0}, Hyper{0.12, 1, 0}, Hyper{0.25, 1, 0.7},
                                          Hyper{0.12, 0.5, 0.2}, Hyper{0.12, 2, 0.4}};
constexpr std::array<Hyper, 3> kPlainShapes = {Hyper{0.25, 0, 0}, Hyper{0.5, 0, 0}, Hyper{0.9, 0, 0}};
struct Drift {
  double deviation, penalty;
};
constexpr std::array<Drift, 3> kDrifts = {Drift{0.01, 0}, Drift{0.08, 0.6}, Drift{0.25, 1.6}};

// Covariances among the blocks, before any choice of l, a and sd.
struct Parts {
  Matrix structure, matern, aging, level;
  Vector values, noise;
};

Parts Gather(const StructuralPrior& prior, const std::vector<Block>& blocks, const BlockLog& log, double tau,
             bool structure) {
  const auto n = static_cast<Eigen::Index>(blocks.size());
  Parts parts{Matrix(n, n), Matrix(n, n), Matrix(n, n), Matrix(n, n), Vector(n), Vector(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    const Block& a = blocks[static_cast<size_t>(i)];
    parts.values(i) = a.log_seconds - (structure ? prior.mean(a.setting) : 0);
    parts.noise(i) = log.Variance(a);
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Block& b = blocks[static_cast<size_t>(j)];
      const bool same = a.source == b.source;
      const double share = same ? 1 : kOtherJob;
      const double matern = prior.matern_row(a.setting)[b.setting];
      parts.structure(i, j) = parts.structure(j, i) = share * prior.structure_row(a.setting)[b.setting];
      parts.matern(i, j) = parts.matern(j, i) = share * matern;
      parts.level(i, j) = parts.level(j, i) = same ? kLevel : 0;
      parts.aging(i, j) = parts.aging(j, i) =
          same ? std::exp(-std::abs(a.time - b.time) / tau) * (1 + 0.5 * matern) : 0;
    }
  }
  return parts;
}

struct Fitted {
  double likelihood = -std::numeric_limits<double>::infinity();
  Hyper shape{};
  double drift = 0;
  Eigen::LLT<Matrix> factor;
  Vector weights;
};

void Try(const Parts& parts, const Hyper& shape, const Drift& drift, Fitted& best) {
  Matrix k = shape.l * parts.structure + shape.a * shape.a * parts.matern + parts.level +
             drift.deviation * drift.deviation * parts.aging;
  k.diagonal() += parts.noise;
  Eigen::LLT<Matrix> factor(k);
  if (factor.info() != Eigen::Success) return;
  Vector weights = factor.solve(parts.values);
  const double likelihood = -0.5 * parts.values.dot(weights) - factor.matrixLLT().diagonal().array().log().sum() -
                            shape.penalty - drift.penalty;
  if (!(likelihood > best.likelihood)) return;
  best = {likelihood, shape, drift.deviation, std::move(factor), std::move(weights)};
}

template <typename Shapes>
Fitted Choose(const Parts& parts, const Shapes& shapes, bool with_drift) {
  Fitted best;
  for (const Hyper& shape : shapes) {
    for (const Drift& drift : kDrifts) {
      Try(parts, shape, drift, best);
      if (!with_drift) break;
    }
  }
  return best;
}

// Left-out residuals in units of their deviation (Rasmussen and Williams 2006, 5.12).
Vector LeftOut(const Fitted& fitted) {
  const auto n = fitted.weights.size();
  const Matrix inverse = fitted.factor.solve(Matrix::Identity(n, n));
  return fitted.weights.array() / inverse.diagonal().array().sqrt();
}

}  // namespace

double Posterior::Covariance(int a, int b) const {
  const double matern = prior_->matern_row(a)[b];
  double covariance = a_ * a_ * matern + kLevel + drift_ * drift_ * (1 + 0.5 * matern);
  if (structure_) covariance += l_ * prior_->structure_row(a)[b];
  const double* x = whitened_.data() + static_cast<size_t>(a) * blocks_;
  const double* y = whitened_.data() + static_cast<size_t>(b) * blocks_;
  for (size_t i = 0; i < blocks_; ++i) covariance -= x[i] * y[i];
  return covariance;
}

double Posterior::DifferenceVariance(int a, int b) const {
  if (a == b) return 0;
  return std::max(1e-8, Covariance(a, a) + Covariance(b, b) - 2 * Covariance(a, b));
}

Posterior ThroughputModel::Fit(const BlockLog& log, double now, double tau) const {
  const std::vector<Block>& blocks = log.blocks();
  const auto n = static_cast<Eigen::Index>(blocks.size());
  const Eigen::Index size = prior_->size();
  Posterior posterior;
  posterior.prior_ = prior_;
  posterior.structure_ = options_.structure;
  posterior.mean_.assign(static_cast<size_t>(size), 0);
  if (options_.structure) {
    for (int id = 0; id < prior_->size(); ++id) posterior.mean_[static_cast<size_t>(id)] = prior_->mean(id);
  } else {
    posterior.a_ = 0.5;
    posterior.l_ = 0;
  }
  if (n == 0) return posterior;

  Parts parts = Gather(*prior_, blocks, log, tau, options_.structure);
  const auto choose = [&] {
    return options_.structure ? Choose(parts, kShapes, options_.drift) : Choose(parts, kPlainShapes, options_.drift);
  };
  Fitted fitted = choose();
  if (fitted.weights.size() != n) return posterior;  // numbers beyond reason; the prior stands
  if (n >= 3) {
    const Vector residuals = LeftOut(fitted);
    std::vector<double> sizes(static_cast<size_t>(n));
    bool again = false;
    const bool heavy = log.tail_share() > kHeavyShare;
    for (Eigen::Index i = 0; i < n; ++i) {
      sizes[static_cast<size_t>(i)] = std::abs(residuals(i));
      if (!options_.robust) continue;
      if (heavy && residuals(i) > kHeavyOutlier && blocks[static_cast<size_t>(i)].windows < 2.5) {
        parts.noise(i) *= kHeavyVariance;
      } else if (std::abs(residuals(i)) > kOutlier) {
        parts.noise(i) *= kOutlierVariance;
      } else {
        continue;
      }
      again = true;
    }
    std::nth_element(sizes.begin(), sizes.begin() + n / 2, sizes.end());
    posterior.residuals_ = 1.4826 * sizes[static_cast<size_t>(n / 2)];
    if (again) fitted = choose();
    if (fitted.weights.size() != n) return posterior;
  }
  posterior.l_ = fitted.shape.l;
  posterior.a_ = fitted.shape.a;
  posterior.drift_ = fitted.drift;
  posterior.blocks_ = blocks.size();

  Matrix cross(n, size);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Block& block = blocks[static_cast<size_t>(i)];
    const bool own = block.source == 0;
    const double share = own ? 1 : kOtherJob;
    const double aged = own ? fitted.drift * fitted.drift * std::exp(-std::abs(now - block.time) / tau) : 0;
    const Eigen::Map<const Eigen::RowVectorXf> matern(prior_->matern_row(block.setting), size);
    cross.row(i) = (share * fitted.shape.a * fitted.shape.a + 0.5 * aged) * matern.cast<double>();
    cross.row(i).array() += (own ? kLevel : 0) + aged;
    if (options_.structure) {
      const Eigen::Map<const Eigen::RowVectorXf> structure(prior_->structure_row(block.setting), size);
      cross.row(i) += share * fitted.shape.l * structure.cast<double>();
    }
  }
  const Vector shift = cross.transpose() * fitted.weights;
  for (Eigen::Index id = 0; id < size; ++id) posterior.mean_[static_cast<size_t>(id)] += shift(id);
  fitted.factor.matrixL().solveInPlace(cross);
  posterior.whitened_.assign(cross.data(), cross.data() + cross.size());
  return posterior;
}

}  // namespace attune::tuner
