#include "operator/tuner/loss_curve.h"

#include <Eigen/Core>
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
constexpr double kStrayedMax = 0.5;

// Shapes over u = log2(E / tau), tabulated so that moving to the next tau is moving by a whole number of entries.
constexpr size_t kShapeCount = 7, kTaus = 60;
constexpr double kTauLow = -8.5, kTauHigh = 5.5;  // octaves of tau against the steps made so far
constexpr size_t kPerTau = 3;
constexpr double kStep = (kTauHigh - kTauLow) / (kTaus - 1) / kPerTau;  // octaves
constexpr double kTableLow = -28;
constexpr size_t kTableTaus = static_cast<size_t>(40 / kStep / kPerTau);

// The last two stand still at first.
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
    case 4:
      return std::exp(-x);
    case 5:
      return 1 / (1 + x * x);
    default:
      return std::exp(-x * x);
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
    case 4:
      return -std::log(f);
    case 5:
      return std::sqrt(std::max(0.0, 1 / f - 1));
    default:
      return std::sqrt(-std::log(f));
  }
}

using Row = Eigen::Array<double, kTaus, 1>;  // one value for each tau
// By phase: entry [p][k] is at kTableLow + (kPerTau k + p) kStep.
using Table = std::array<std::vector<double>, kPerTau>;

std::array<Table, kShapeCount> MakeTables() {
  std::array<Table, kShapeCount> tables;
  for (size_t shape = 0; shape < kShapeCount; ++shape) {
    for (size_t phase = 0; phase < kPerTau; ++phase) {
      std::vector<double>& row = tables[shape][phase];
      row.resize(kTableTaus + kTaus + 2);
      for (size_t k = 0; k < row.size(); ++k) {
        const auto at = static_cast<double>(kPerTau * k + phase);
        row[k] = Shape(shape, std::exp2(kTableLow + kStep * at));
      }
    }
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
  double loss = 0;    // relative to the smoothed loss, which everything here is divided by
  double one = 0;     // 1 / smoothed loss
  double variance = 0;
  double octaves = 0;  // of steps since the point before
  size_t base = 0, phase = 0;  // table entry for the largest tau
  double fraction = 0;         // towards the next entry
};

// How far a real curve strays from every one of ours: a random walk of the relative loss over octaves of steps.
struct Stray {
  double deviation = 0;  // after one octave
  double penalty = 0;
};
constexpr std::array<Stray, 3> kStrays = {Stray{0, 0}, Stray{0.03, 0.7}, Stray{0.15, 1.6}};

// Under such a walk the points are correlated; a Kalman filter makes their innovations independent. Its gains depend
// on variances alone, so that one filter serves all curves.
struct Filter {
  std::vector<double> gain, weight;  // of each point; weight: one over the variance of its innovation
  std::vector<double> loss, one;     // innovations
  double walked_loss = 0, walked_one = 0;  // the walk at the end
  double log_determinant = 0;
};

Filter MakeFilter(const std::vector<Point>& points, const Stray& stray) {
  constexpr double kOctavesBefore = 4;  // walked before the first point
  const double per_octave = stray.deviation * stray.deviation;
  Filter filter;
  double variance = per_octave * kOctavesBefore;
  for (const Point& point : points) {
    variance += per_octave * point.octaves;
    const double innovation = variance + point.variance, gain = variance / innovation;
    const double loss = point.loss - filter.walked_loss, one = point.one - filter.walked_one;
    filter.gain.push_back(gain);
    filter.weight.push_back(1 / innovation);
    filter.loss.push_back(loss);
    filter.one.push_back(one);
    filter.walked_loss += gain * loss;
    filter.walked_one += gain * one;
    filter.log_determinant += std::log(innovation);
    variance *= 1 - gain;
  }
  return filter;
}

// Weighted sums for all taus at once, and where the walk of f ends.
struct RowSums {
  Row f = Row::Zero(), ff = Row::Zero(), fl = Row::Zero(), walked = Row::Zero();
  double w = 0, l = 0, ll = 0;
  Sums At(Eigen::Index k) const { return {w, f(k), ff(k), l, fl(k), ll}; }
};

RowSums Sum(const std::vector<Row>& shape, const Filter& filter) {
  RowSums sums;
  for (size_t i = 0; i < shape.size(); ++i) {
    const double w = filter.weight[i], loss = filter.loss[i], one = filter.one[i];
    const Row innovation = shape[i] - sums.walked;
    sums.walked += filter.gain[i] * innovation;
    sums.f += (w * one) * innovation;
    sums.ff += w * innovation.square();
    sums.fl += (w * loss) * innovation;
    sums.w += w * one * one;
    sums.l += w * one * loss;
    sums.ll += w * loss * loss;
  }
  return sums;
}

// One curve: least squares of a and b for a shape, a tau and a hypothesis about efficiency.
struct Candidate {
  Line line;
  Sums sums;
  double tau = 0, made = 0;
  size_t shape = 0, hypothesis = 0;
  double surprise = 0;  // chi squared, log determinant and penalty together
  double strayed = 0;   // relative distance of the loss from the curve now
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

// The neighbors that together are shortest against how far the job was become one. A change of staleness between them
// is what tells the hypotheses apart: it is given up only where one side of it was too short to tell anything.
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
  static const std::array<Table, kShapeCount> tables = MakeTables();
  CurveFit fit;
  fit.weights = efficiency_.prior();
  const size_t n = segments_.size();
  if (n < 4) return fit;

  // Smoothed losses: what the relative noise is relative to. A noisy loss itself would favor low values.
  const double v = noise();
  std::vector<Point> points(n);
  const double updates = std::max(total_[0], 1e-9);  // the first hypothesis counts plain updates
  double octaves_before = 0;
  for (size_t i = 0; i < n; ++i) {
    double sum = 0, windows = 0;
    for (size_t reach = 0; reach < n && (windows < 6 || reach == 0); ++reach) {
      for (const size_t j : {i - reach, i + reach}) {
        if (j >= n || (reach == 0 && windows > 0)) continue;
        sum += segments_[j].loss * segments_[j].windows;
        windows += segments_[j].windows;
      }
    }
    fit.loss = sum / windows;
    points[i].loss = segments_[i].loss / fit.loss;
    points[i].one = 1 / fit.loss;
    points[i].variance = v * v / segments_[i].windows + kMisfit * kMisfit;
    const double octaves =
        std::log2(std::max(segments_[i].before[0] + segments_[i].steps[0] / 2, updates * 1e-5) / updates);
    points[i].octaves = i == 0 ? 0 : std::max(0.0, octaves - octaves_before);
    octaves_before = octaves;
  }
  std::array<Filter, kStrays.size()> filters;
  for (size_t s = 0; s < kStrays.size(); ++s) filters[s] = MakeFilter(points, kStrays[s]);

  std::vector<Candidate> candidates;
  candidates.reserve(kHypotheses * kShapeCount * kTaus * kStrays.size());
  double least = std::numeric_limits<double>::infinity(), least_rss = least, least_plain = least;
  std::vector<Row> shapes(n);
  for (size_t h = 0; h < kHypotheses; ++h) {
    if (efficiency_.prior()[h] <= 0) continue;
    const double made = std::max(total_[h], 1e-9);
    for (size_t i = 0; i < n; ++i) {
      const double middle = std::max(segments_[i].before[h] + segments_[i].steps[h] / 2, made * 1e-5);
      const double u = std::max(0.0, (std::log2(middle / made) - kTauHigh - kTableLow) / kStep);
      const auto entry = static_cast<size_t>(std::floor(u));
      points[i].base = entry / kPerTau;
      points[i].phase = entry % kPerTau;
      points[i].fraction = u - static_cast<double>(entry);
    }
    for (size_t shape = 0; shape < kShapeCount; ++shape) {
      for (size_t i = 0; i < n; ++i) {
        const Point& point = points[i];
        const bool last = point.phase + 1 == kPerTau;
        const double* low = tables[shape][point.phase].data() + point.base;
        const double* high = last ? tables[shape][0].data() + point.base + 1
                                  : tables[shape][point.phase + 1].data() + point.base;
        const Eigen::Map<const Row> from(low), to(high);
        shapes[i] = point.one * (from + point.fraction * (to - from));
      }
      for (size_t s = 0; s < kStrays.size(); ++s) {
        const Filter& filter = filters[s];
        const RowSums rows = Sum(shapes, filter);
        for (Eigen::Index k = 0; k < static_cast<Eigen::Index>(kTaus); ++k) {
          Candidate c{.sums = rows.At(k), .made = made, .shape = shape, .hypothesis = h};
          c.line = Solve(c.sums);
          c.tau = made * std::exp2(kTauHigh - (kTauHigh - kTauLow) * static_cast<double>(k) / (kTaus - 1));
          c.strayed = std::clamp(filter.walked_loss - c.line.a * rows.walked(k) - c.line.b * filter.walked_one,
                                 -kStrayedMax, kStrayedMax);
          c.surprise = c.line.rss + filter.log_determinant + 2 * kStrays[s].penalty;
          if (c.surprise < least) {
            least = c.surprise;
            least_rss = c.line.rss;
          }
          if (s == 0) least_plain = std::min(least_plain, c.line.rss);
          candidates.push_back(c);
        }
      }
    }
  }

  const auto freedom = static_cast<double>(n > 5 ? n - 4 : 1);
  fit.misfit = least_plain / freedom;
  const double temper = std::max(1.0, least_rss / freedom);
  double total = 0;
  HypothesisWeights weights{};
  const auto consider = [&](const Candidate& c, const Line& line, double share) {
    const double f = line.a > 0 ? (target * (1 - c.strayed) - line.b) / line.a : -1;
    double steps = -1;  // never
    if (f >= 1 || target >= fit.loss * (1 + v)) {
      steps = 0;
    } else if (f > 1e-12) {
      steps = std::max(0.0, c.tau * Inverse(c.shape, f) - c.made);
    }
    const double prior = steps < 0 ? std::log(kUnreachablePrior)
                                   : LengthLog((c.made + steps) * seconds_per_step[c.hypothesis] / window_seconds_);
    const double weight =
        share * efficiency_.prior()[c.hypothesis] * std::exp(prior - 0.5 * (c.surprise - least) / temper);
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
    if (c.surprise - least > kNegligible * temper) continue;
    // The floor is known only so well: three points of its normal distribution, a fitted to each.
    const Sums& s = c.sums;
    const double determinant = s.w * s.ff - s.f * s.f;
    const double deviation = determinant > 1e-12 * s.w * s.ff ? std::sqrt(temper * s.ff / determinant) : 0;
    consider(c, c.line, 2.0 / 3);
    for (const double side : {-1.7320508, 1.7320508})  // weights are those of the quadrature
      consider(c, WithFloor(s, std::max(0.0, c.line.b + side * deviation)), 1.0 / 6);
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
