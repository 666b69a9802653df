#include "operator/tuner/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attune::tuner {
namespace {

constexpr double kNoisePrior = 0.05;                        // relative, of a window
constexpr double kMisfit = 0.004;                           // of the loss: no real curve is exactly one of ours
constexpr double kLengthWindows = 400, kLengthSigma = 1.2;  // prior of the whole job, log-normal
constexpr double kUnreachablePrior = 0.05;

// Shapes over u = log2(E / tau), tabulated so that moving to the next tau is moving by a whole number of entries.
constexpr size_t kShapeCount = 5, kTaus = 79;
constexpr double kTauLow = -8.5, kTauHigh = 5.5;  // octaves of tau against the steps made so far
constexpr int kPerTau = 3;
constexpr double kStep = (kTauHigh - kTauLow) / (kTaus - 1) / kPerTau;  // octaves
constexpr double kTableLow = -28;
constexpr int kTableSize = static_cast<int>(40 / kStep);

double Shape(size_t shape, double x) {  // x = E / tau
  switch (shape) {
    case 0:
      return 1 / std::sqrt(1 + x);
    case 1:
      return 1 / (1 + x);
    case 2:
      return 1 / ((1 + x) * (1 + x));
    case 3:
      return std::exp(-std::pow(x, 0.6));
    default:
      return std::exp(-x);
  }
}

double Inverse(size_t shape, double f) {  // f in (0, 1]
  switch (shape) {
    case 0:
      return 1 / (f * f) - 1;
    case 1:
      return 1 / f - 1;
    case 2:
      return 1 / std::sqrt(f) - 1;
    case 3:
      return std::pow(-std::log(f), 1 / 0.6);
    default:
      return -std::log(f);
  }
}

using Table = std::vector<float>;

std::vector<Table> MakeTables() {
  std::vector<Table> tables(kShapeCount, Table(kTableSize + 2));
  for (size_t shape = 0; shape < kShapeCount; ++shape) {
    for (int i = 0; i < kTableSize + 2; ++i)
      tables[shape][static_cast<size_t>(i)] = static_cast<float>(Shape(shape, std::exp2(kTableLow + kStep * i)));
  }
  return tables;
}

struct Sums {
  double w = 0, f = 0, ff = 0, l = 0, fl = 0, ll = 0;
};

struct Line {
  double a = 0, b = 0, rss = 0;
};

double Rss(const Sums& s, double a, double b) {
  return s.ll + a * a * s.ff + b * b * s.w + 2 * a * b * s.f - 2 * a * s.fl - 2 * b * s.l;
}

Line WithFloor(const Sums& s, double b) {
  const double a = s.ff > 0 ? std::max(0.0, (s.fl - b * s.f) / s.ff) : 0;
  return {a, b, Rss(s, a, b)};
}

// Least squares under a, b >= 0.
Line Solve(const Sums& s) {
  const double determinant = s.w * s.ff - s.f * s.f;
  if (determinant > 1e-12 * s.w * s.ff) {
    const double a = (s.w * s.fl - s.f * s.l) / determinant, b = (s.ff * s.l - s.f * s.fl) / determinant;
    if (a >= 0 && b >= 0) return {a, b, Rss(s, a, b)};
    if (b < 0) return WithFloor(s, 0);
  }
  const double b = s.l / s.w;
  return {0, b, Rss(s, 0, b)};
}

struct Point {
  double loss = 0, weight = 0;
  size_t base = 0;      // table entry for the largest tau
  double fraction = 0;  // towards the next entry
};

// One curve: least squares of a and b for a shape, a tau and a hypothesis about efficiency.
struct Candidate {
  Line line;
  Sums sums;
  double tau = 0, made = 0;
  size_t shape = 0, hypothesis = 0;
};

double LengthLog(double windows) {
  const double z = std::log(std::max(windows, 1.0) / kLengthWindows) / kLengthSigma;
  return -0.5 * z * z;
}

}  // namespace

double LossCurve::noise() const {
  constexpr double kPrior = 4;
  if (differences_.empty()) return kNoisePrior;
  std::vector<double> sorted = differences_;
  for (double& value : sorted) value = std::abs(value);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double deviation = 1.4826 * sorted[sorted.size() / 2] / std::sqrt(2.0);
  const auto n = static_cast<double>(sorted.size());
  return std::clamp(std::sqrt((kPrior * kNoisePrior * kNoisePrior + n * deviation * deviation) / (kPrior + n)), 1e-4,
                    1.0);
}

void LossCurve::AbsorbSteps(double updates, double staleness) {
  const auto q = efficiency_.Efficiencies(staleness);
  for (size_t h = 0; h < kHypotheses; ++h) total_[h] += updates * q[h];
}

void LossCurve::Absorb(const LossWindow& window) {
  const double windows = std::max(window.seconds / window_seconds_, 1e-3);
  if (last_loss_ > 0) {
    differences_.push_back(std::log(window.loss / last_loss_) / std::sqrt((1 / windows + 1 / last_windows_) / 2));
    if (differences_.size() > kDifferencesMax) differences_.erase(differences_.begin());
  }
  last_loss_ = window.loss;
  last_windows_ = windows;
  Segment segment{.windows = windows, .loss = window.loss, .staleness = window.staleness, .updates = window.updates};
  const auto q = efficiency_.Efficiencies(window.staleness);
  segment.before = total_;
  for (size_t h = 0; h < kHypotheses; ++h) {
    segment.steps[h] = window.updates * q[h];
    total_[h] += segment.steps[h];
  }
  segments_.push_back(segment);
  if (segments_.size() > kSegmentsMax) Shrink();
}

// The neighbors that together are shortest against how far the job was become one; equal staleness first, because a
// change of staleness is what tells the hypotheses apart.
void LossCurve::Shrink() {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    const Segment &a = segments_[i], &b = segments_[i + 1];
    const double apart = std::abs(a.staleness - b.staleness) / (1 + std::max(a.staleness, b.staleness));
    const double size = (b.before[0] + b.steps[0] - a.before[0]) / (b.before[0] + b.steps[0]) * (1 + 10 * apart);
    if (size < least) {
      least = size;
      best = i;
    }
  }
  Segment& a = segments_[best];
  const Segment& b = segments_[best + 1];
  const double windows = a.windows + b.windows;
  a.loss = (a.loss * a.windows + b.loss * b.windows) / windows;
  a.staleness = (a.staleness * a.updates + b.staleness * b.updates) / std::max(a.updates + b.updates, 1e-9);
  a.updates += b.updates;
  for (size_t h = 0; h < kHypotheses; ++h) a.steps[h] = b.before[h] + b.steps[h] - a.before[h];
  a.windows = windows;
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
}

CurveFit LossCurve::Fit(double target, double elapsed, const std::array<double, kHypotheses>& seconds_per_step) const {
  static const std::vector<Table> tables = MakeTables();
  CurveFit fit;
  fit.weights = efficiency_.prior();
  const size_t n = segments_.size();
  if (n < 4) return fit;

  // Smoothed losses: what the relative noise is relative to. A noisy loss itself would favor low values.
  const double v = noise();
  std::vector<Point> points(n);
  for (size_t i = 0; i < n; ++i) {
    double sum = 0, windows = 0;
    for (size_t reach = 0; reach < n && (windows < 6 || reach == 0); ++reach) {
      for (const size_t j : {i - reach, i + reach}) {
        if (j >= n || (reach == 0 && windows > 0)) continue;
        sum += segments_[j].loss * segments_[j].windows;
        windows += segments_[j].windows;
      }
    }
    const double smooth = sum / windows;
    points[i].loss = segments_[i].loss;
    points[i].weight = 1 / ((v * v / segments_[i].windows + kMisfit * kMisfit) * smooth * smooth);
    fit.loss = smooth;
  }

  std::vector<Candidate> candidates;
  candidates.reserve(kHypotheses * kShapeCount * kTaus);
  double least = std::numeric_limits<double>::infinity();
  for (size_t h = 0; h < kHypotheses; ++h) {
    if (efficiency_.prior()[h] <= 0) continue;
    const double made = std::max(total_[h], 1e-9);
    for (size_t i = 0; i < n; ++i) {
      const double middle = std::max(segments_[i].before[h] + segments_[i].steps[h] / 2, made * 1e-5);
      const double u = (std::log2(middle / made) - kTauHigh - kTableLow) / kStep;
      points[i].base = static_cast<size_t>(std::max(0.0, std::floor(u)));
      points[i].fraction = std::clamp(u - static_cast<double>(points[i].base), 0.0, 1.0);
    }
    for (size_t shape = 0; shape < kShapeCount; ++shape) {
      std::array<Sums, kTaus> sums{};
      for (const Point& point : points) {
        const float* entry = tables[shape].data() + point.base;
        const double w = point.weight, l = point.loss;
        for (size_t k = 0; k < kTaus; ++k, entry += kPerTau) {
          const double f = entry[0] + point.fraction * (entry[1] - entry[0]);
          Sums& s = sums[k];
          s.f += w * f;
          s.ff += w * f * f;
          s.fl += w * f * l;
        }
      }
      Sums constant;
      for (const Point& point : points) {
        constant.w += point.weight;
        constant.l += point.weight * point.loss;
        constant.ll += point.weight * point.loss * point.loss;
      }
      for (size_t k = 0; k < kTaus; ++k) {
        Sums& s = sums[k];
        s.w = constant.w;
        s.l = constant.l;
        s.ll = constant.ll;
        const double tau = made * std::exp2(kTauHigh - (kTauHigh - kTauLow) * static_cast<double>(k) / (kTaus - 1));
        candidates.push_back({Solve(s), s, tau, made, shape, h});
        least = std::min(least, candidates.back().line.rss);
      }
    }
  }

  const auto freedom = static_cast<double>(n > 5 ? n - 4 : 1);
  fit.misfit = least / freedom;
  const double temper = std::max(1.0, fit.misfit);
  double total = 0;
  HypothesisWeights weights{};
  const auto consider = [&](const Candidate& c, const Line& line, double share) {
    const double f = line.a > 0 ? (target - line.b) / line.a : -1;
    double steps = -1;  // never
    if (f >= 1 || target >= fit.loss * (1 + v)) {
      steps = 0;
    } else if (f > 1e-12) {
      steps = std::max(0.0, c.tau * Inverse(c.shape, f) - c.made);
    }
    const double prior = steps < 0 ? std::log(kUnreachablePrior)
                                   : LengthLog((elapsed + steps * seconds_per_step[c.hypothesis]) / window_seconds_);
    const double weight =
        share * efficiency_.prior()[c.hypothesis] * std::exp(prior - 0.5 * (line.rss - least) / temper);
    total += weight;
    weights[c.hypothesis] += weight;
    if (steps < 0) {
      fit.unreachable += weight;
    } else if (weight > 0) {
      fit.remaining.push_back({steps, weight, c.hypothesis});
    }
  };
  constexpr double kNegligible = 16;  // chi squared above the best
  for (const Candidate& c : candidates) {
    if (c.line.rss - least > kNegligible * temper) continue;
    // The floor is known only so well: three points of its normal distribution, a fitted to each.
    const Sums& s = c.sums;
    const double determinant = s.w * s.ff - s.f * s.f;
    const double deviation = determinant > 1e-12 * s.w * s.ff ? std::sqrt(temper * s.ff / determinant) : 0;
    consider(c, c.line, 2.0 / 3);
    for (const double side : {-1.7320508, 1.7320508}) {
      Line line = WithFloor(s, std::max(0.0, c.line.b + side * deviation));
      line.rss = c.line.rss;  // its weight is that of the quadrature
      consider(c, line, 1.0 / 6);
    }
  }
  if (!(total > 0)) return fit;  // numbers beyond reason
  for (double& weight : weights) weight /= total;
  for (RemainingSteps& one : fit.remaining) one.weight /= total;
  fit.unreachable /= total;
  fit.weights = weights;

  double windows = 0;
  for (const Segment& segment : segments_) windows += segment.windows;
  fit.loss_drop = segments_.front().loss > 0 ? (1 - fit.loss / segments_.front().loss) / std::max(windows, 1.0) : 0;
  if (windows < 8) {
    fit.outlook = Outlook::kTooEarly;
  } else if (fit.misfit > 3.5 && n >= 12) {
    fit.outlook = Outlook::kUnknown;
  } else if (fit.unreachable > 0.9 && windows > 40) {
    fit.outlook = Outlook::kUnreachable;
  } else {
    fit.outlook = Outlook::kEstimated;
  }
  return fit;
}

void LossCurve::Load(Dump dump) {
  segments_ = std::move(dump.segments);
  total_ = dump.total;
  differences_ = std::move(dump.differences);
  last_loss_ = dump.last_loss;
  last_windows_ = dump.last_windows;
}

}  // namespace attune::tuner
