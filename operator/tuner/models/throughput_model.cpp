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

// Differences follow the blocks. What drifts, and the level, are the same on both of their sides.
void Append(const StructuralPrior& prior, const std::vector<Block>& blocks, const std::vector<Difference>& differences,
            bool structure, Parts& parts) {
  const auto n = static_cast<Eigen::Index>(blocks.size()), all = n + static_cast<Eigen::Index>(differences.size());
  for (Matrix* matrix : {&parts.structure, &parts.matern, &parts.aging, &parts.level}) {
    Matrix larger = Matrix::Zero(all, all);
    larger.topLeftCorner(n, n) = *matrix;
    *matrix = std::move(larger);
  }
  parts.values.conservativeResize(all);
  parts.noise.conservativeResize(all);
  for (Eigen::Index i = n; i < all; ++i) {
    const Difference& d = differences[static_cast<size_t>(i - n)];
    parts.values(i) = d.log_ratio - (structure ? prior.mean(d.to) - prior.mean(d.from) : 0);
    parts.noise(i) = d.variance;
    const float* k_to = prior.structure_row(d.to);
    const float* k_from = prior.structure_row(d.from);
    const float* m_to = prior.matern_row(d.to);
    const float* m_from = prior.matern_row(d.from);
    for (Eigen::Index j = 0; j <= i; ++j) {
      double k = 0, m = 0;
      if (j < n) {
        const Block& block = blocks[static_cast<size_t>(j)];
        const double share = block.source == 0 ? 1 : kOtherJob;
        k = share * (k_to[block.setting] - k_from[block.setting]);
        m = share * (m_to[block.setting] - m_from[block.setting]);
      } else {
        const Difference& other = differences[static_cast<size_t>(j - n)];
        k = k_to[other.to] - k_from[other.to] - k_to[other.from] + k_from[other.from];
        m = m_to[other.to] - m_from[other.to] - m_to[other.from] + m_from[other.from];
      }
      parts.structure(i, j) = parts.structure(j, i) = k;
      parts.matern(i, j) = parts.matern(j, i) = m;
    }
  }
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
  const double* x = whitened_.data() + static_cast<size_t>(a) * observed_;
  const double* y = whitened_.data() + static_cast<size_t>(b) * observed_;
  for (size_t i = 0; i < observed_; ++i) covariance -= x[i] * y[i];
  return covariance;
}

double Posterior::DifferenceVariance(int a, int b) const {
  if (a == b) return 0;
  return std::max(1e-8, Covariance(a, a) + Covariance(b, b) - 2 * Covariance(a, b));
}

void Posterior::BoundMeans(const std::vector<double>& least, const std::vector<double>& windows) {
  for (size_t i = 0; i < std::min(least.size(), mean_.size()); ++i) {
    if (windows[i] <= 0) mean_[i] = std::max(mean_[i], least[i]);
  }
}

namespace {

// What one block, or one difference, has in common with every setting.
Eigen::RowVectorXd CrossOf(const StructuralPrior& prior, const Fitted& fitted, const Block& block, double now,
                           double tau, bool structure) {
  const bool own = block.source == 0;
  const double share = own ? 1 : kOtherJob;
  const double aged = own ? fitted.drift * fitted.drift * std::exp(-std::abs(now - block.time) / tau) : 0;
  const Eigen::Map<const Eigen::RowVectorXf> matern(prior.matern_row(block.setting), prior.size());
  Eigen::RowVectorXd row = (share * fitted.shape.a * fitted.shape.a + 0.5 * aged) * matern.cast<double>();
  row.array() += (own ? kLevel : 0) + aged;
  if (structure) {
    const Eigen::Map<const Eigen::RowVectorXf> rows(prior.structure_row(block.setting), prior.size());
    row += share * fitted.shape.l * rows.cast<double>();
  }
  return row;
}

Eigen::RowVectorXd CrossOf(const StructuralPrior& prior, const Fitted& fitted, const Difference& difference,
                           bool structure) {
  using Row = Eigen::Map<const Eigen::RowVectorXf>;
  const Row to(prior.matern_row(difference.to), prior.size()), from(prior.matern_row(difference.from), prior.size());
  Eigen::RowVectorXd row = fitted.shape.a * fitted.shape.a * (to - from).cast<double>();
  if (structure) {
    const Row k_to(prior.structure_row(difference.to), prior.size());
    const Row k_from(prior.structure_row(difference.from), prior.size());
    row += fitted.shape.l * (k_to - k_from).cast<double>();
  }
  return row;
}

}  // namespace

Posterior ThroughputModel::Fit(const BlockLog& log, double now, double tau,
                               const std::vector<Difference>& differences) const {
  const std::vector<Block>& blocks = log.blocks();
  const auto n = static_cast<Eigen::Index>(blocks.size());
  const Eigen::Index all = n + static_cast<Eigen::Index>(differences.size());
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
  if (!differences.empty()) Append(*prior_, blocks, differences, options_.structure, parts);
  const auto choose = [&] {
    return options_.structure ? Choose(parts, kShapes, options_.drift) : Choose(parts, kPlainShapes, options_.drift);
  };
  Fitted fitted = choose();
  if (fitted.weights.size() != all) return posterior;  // numbers beyond reason; the prior stands
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
    if (fitted.weights.size() != all) return posterior;
  }
  posterior.l_ = fitted.shape.l;
  posterior.a_ = fitted.shape.a;
  posterior.drift_ = fitted.drift;
  posterior.observed_ = static_cast<size_t>(all);

  Matrix cross(all, size);
  for (Eigen::Index i = 0; i < n; ++i)
    cross.row(i) = CrossOf(*prior_, fitted, blocks[static_cast<size_t>(i)], now, tau, options_.structure);
  for (Eigen::Index i = n; i < all; ++i)
    cross.row(i) = CrossOf(*prior_, fitted, differences[static_cast<size_t>(i - n)], options_.structure);
  const Vector shift = cross.transpose() * fitted.weights;
  for (Eigen::Index id = 0; id < size; ++id) posterior.mean_[static_cast<size_t>(id)] += shift(id);
  fitted.factor.matrixL().solveInPlace(cross);
  posterior.whitened_.assign(cross.data(), cross.data() + cross.size());
  return posterior;
}

}  // namespace attune::tuner
