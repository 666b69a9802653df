#include "operator/tuner/models/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "operator/tuner/models/curve_fitting.h"

namespace attune::tuner {
namespace {

using curve::AllTaus;
using curve::Candidate;
using curve::Candidates;
using curve::Filter;
using curve::kShapeCount;
using curve::kStrays;
using curve::Line;
using curve::Point;
using curve::SomeTaus;
using curve::Sums;

constexpr double kNoisePrior = 0.05;                        // relative, of a window
constexpr double kMisfit = 0.004;                           // of the loss: no real curve is exactly one of ours
constexpr double kLengthWindows = 400, kLengthSigma = 1.2;  // prior of the whole job, log-normal
constexpr double kUnreachablePrior = 0.05;
constexpr double kDoubtful = 0.25;  // probability of never getting there above which no time is reported

std::vector<Point> MakePoints(const std::vector<LossCurve::Segment>& segments, double noise, double updates) {
  const size_t n = segments.size();
  std::vector<Point> points(n);
  double octaves_before = 0;
  for (size_t i = 0; i < n; ++i) {
    // Smoothed losses are what the relative noise is relative to. A noisy loss itself would favor low values.
    double sum = 0, windows = 0;
    for (size_t reach = 0; reach < n && (windows < 6 || reach == 0); ++reach) {
      for (const size_t j : {i - reach, i + reach}) {
        if (j >= n || (reach == 0 && windows > 0)) continue;
        sum += segments[j].loss * segments[j].windows;
        windows += segments[j].windows;
      }
    }
    points[i].one = windows / sum;
    points[i].loss = segments[i].loss * points[i].one;
    points[i].variance = noise * noise / segments[i].windows + kMisfit * kMisfit;
    // The first hypothesis counts plain updates.
    const double middle = segments[i].before[0] + segments[i].steps[0] / 2;
    const double octaves = std::log2(std::max(middle, updates * 1e-5) / updates);
    points[i].octaves = i == 0 ? 0 : std::max(0.0, octaves - octaves_before);
    octaves_before = octaves;
  }
  return points;
}

double LengthLog(double windows) {
  const double z = std::log(std::max(windows, 1.0) / kLengthWindows) / kLengthSigma;
  return -0.5 * z * z;
}

// Least squares for every shape, time scale, misspecification and hypothesis that has a prior. Places `points` on the
// way.
Candidates FitAll(const std::vector<LossCurve::Segment>& segments, const std::array<double, kHypotheses>& total,
                  const HypothesisWeights& prior, std::vector<Point>& points) {
  static const std::array<curve::Table, kShapeCount> tables = curve::MakeTables();
  const size_t n = segments.size();
  std::array<Filter, kStrays.size()> filters;
  for (size_t s = 0; s < kStrays.size(); ++s) filters[s] = curve::MakeFilter(points, kStrays[s]);
  Candidates candidates(n);
  std::vector<AllTaus> shapes(n);
  std::vector<SomeTaus> some(n);
  for (size_t h = 0; h < kHypotheses; ++h) {
    if (prior[h] <= 0) continue;
    const double made = std::max(total[h], 1e-9);
    for (size_t i = 0; i < n; ++i) {
      const double middle = std::max(segments[i].before[h] + segments[i].steps[h] / 2, made * 1e-5);
      points[i].Place((std::log2(middle / made) - curve::kTauHigh - curve::kTableLow) / curve::kStep);
    }
    for (size_t shape = 0; shape < kShapeCount; ++shape) {
      for (size_t i = 0; i < n; ++i) {
        shapes[i] = points[i].Values(tables[shape]);
        some[i] = Eigen::Map<const SomeTaus, 0, Eigen::InnerStride<2>>(shapes[i].data());
      }
      const Candidate candidate{.made = made, .shape = shape, .hypothesis = h};
      candidates.Add(candidate, curve::Sum(shapes, filters[0]), filters[0], kStrays[0]);
      // A curve that may be misspecified anyway needs no fine time scale.
      for (size_t s = 1; s < kStrays.size(); ++s)
        candidates.Add(candidate, curve::Sum(some, filters[s]), filters[s], kStrays[s]);
    }
  }
  return candidates;
}

// All candidates together: what each says remains, weighed by how well it fits and by the priors.
class Mixture {
 public:
  struct Basis {
    double target = 0;
    double reached = 0;            // a target at or above this one is reached
    double least = 0, temper = 0;  // of the candidates: the least surprise, and what surprise is divided by
    double window_seconds = 0;
    const std::array<double, kHypotheses>& seconds_per_step;
    const HypothesisWeights& prior;
  };

  // Adds up in `fit`, which outlives it and has `loss` already.
  Mixture(const Basis& basis, CurveFit& fit) : basis_(basis), fit_(fit) {}

  void Add(Candidate c) {
    if (c.surprise - basis_.least > Candidates::kNegligible * basis_.temper) return;
    c.fall = curve::Fall(c.shape, c.made / c.tau) / c.tau;
    // The floor is known only so well: three points of its normal distribution, a fitted to each.
    const Sums& s = c.sums;
    const double determinant = s.w * s.ff - s.f * s.f;
    const double deviation = determinant > 1e-12 * s.w * s.ff ? std::sqrt(basis_.temper * s.ff / determinant) : 0;
    Add(c, c.line, 2.0 / 3);
    for (const double side : {-1.7320508, 1.7320508})  // weights are those of the quadrature
      Add(c, curve::WithFloor(s, std::max(0.0, c.line.b + side * deviation)), 1.0 / 6);
  }

  // False, and leaves `fit` of no use but for its loss and prior, when nothing has a weight.
  bool Normalize() {
    if (!(total_ > 0)) return false;
    for (size_t h = 0; h < kHypotheses; ++h) {
      if (!(weights_[h] > 0)) continue;
      fit_.fall[h].mean /= weights_[h];
      fit_.fall[h].square /= weights_[h];
      weights_[h] /= total_;
    }
    for (RemainingSteps& one : fit_.remaining) one.weight /= total_;
    fit_.unreachable /= total_;
    fit_.weights = weights_;
    return true;
  }

 private:
  void Add(const Candidate& c, const Line& line, double share) {
    const double f = line.a > 0 ? (basis_.target * (1 - c.strayed) - line.b) / line.a : -1;
    double steps = -1;  // never
    if (f >= 1 || basis_.target >= basis_.reached) {
      steps = 0;
    } else if (f > 1e-12) {
      steps = std::max(0.0, c.tau * curve::Inverse(c.shape, f) - c.made);
    }
    const double prior =
        steps < 0 ? std::log(kUnreachablePrior)
                  : LengthLog((c.made + steps) * basis_.seconds_per_step[c.hypothesis] / basis_.window_seconds);
    const double weight =
        share * basis_.prior[c.hypothesis] * std::exp(prior - 0.5 * (c.surprise - basis_.least) / basis_.temper);
    total_ += weight;
    weights_[c.hypothesis] += weight;
    const double fall = line.a * c.fall / fit_.loss;
    fit_.fall[c.hypothesis].mean += weight * fall;
    fit_.fall[c.hypothesis].square += weight * fall * fall;
    if (steps < 0) {
      fit_.unreachable += weight;
    } else if (weight > 0) {
      fit_.remaining.push_back({steps, weight, c.hypothesis});
    }
  }

  const Basis basis_;
  CurveFit& fit_;
  double total_ = 0;
  HypothesisWeights weights_{};
};

Outlook OutlookOf(const CurveFit& fit, double windows, size_t segments) {
  if (windows < 8) return Outlook::kTooEarly;
  if (fit.misfit > 3.5 && segments >= 12) return Outlook::kUnknown;
  if (fit.unreachable > 0.9 && windows > 40) return Outlook::kUnreachable;
  return fit.unreachable > kDoubtful ? Outlook::kUnknown : Outlook::kEstimated;
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

// The neighbors that together are shortest against how far the job was become one. A change of staleness between them
// is what distinguishes the hypotheses: it is given up only where one side of it was too short to show anything.
void LossCurve::Shrink() {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    const Segment &a = segments_[i], &b = segments_[i + 1];
    const double apart = std::abs(a.staleness - b.staleness) / (1 + std::max(a.staleness, b.staleness));
    constexpr double kPerWindow = 0.1;
    const double size = (b.before[0] + b.steps[0] - a.before[0]) / (b.before[0] + b.steps[0]) * (1 + 10 * apart) +
                        kPerWindow * apart * std::min(a.windows, b.windows);
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

CurveFit LossCurve::Fit(double target, const std::array<double, kHypotheses>& seconds_per_step) const {
  CurveFit fit;
  fit.weights = efficiency_.prior();
  if (segments_.size() < 4) return fit;
  const double v = noise();
  std::vector<Point> points = MakePoints(segments_, v, std::max(total_[0], 1e-9));
  fit.loss = 1 / points.back().one;
  const Candidates candidates = FitAll(segments_, total_, efficiency_.prior(), points);
  fit.misfit = candidates.plain_misfit();
  Mixture mixture({.target = target,
                   .reached = fit.loss * (1 + v),
                   .least = candidates.least(),
                   .temper = candidates.temper(),
                   .window_seconds = window_seconds_,
                   .seconds_per_step = seconds_per_step,
                   .prior = efficiency_.prior()},
                  fit);
  for (const Candidate& c : candidates.all()) mixture.Add(c);
  if (!mixture.Normalize()) return fit;  // numbers beyond reason

  double windows = 0;
  for (const Segment& segment : segments_) windows += segment.windows;
  fit.loss_drop = segments_.front().loss > 0 ? (1 - fit.loss / segments_.front().loss) / std::max(windows, 1.0) : 0;
  fit.outlook = OutlookOf(fit, windows, segments_.size());
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
