// Fitting one family of loss curves: least squares for every time scale at once, with and without a walk of the loss
// beside the curve. Used by loss_curve.cpp alone.
//
// Everything is relative to the smoothed loss. Under a random walk over octaves of steps the points of a curve are
// correlated; a Kalman filter makes their innovations independent (Harvey 1989, chapter 3), after which least squares
// of the two linear parameters is as without.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attune::tuner::curve {

inline constexpr double kStrayedMax = 0.5;  // of the loss

// Shapes over u = log2(E / tau), tabulated so that moving to the next tau is moving by a whole number of entries.
inline constexpr size_t kShapeCount = 7, kTaus = 60;
inline constexpr double kTauLow = -8.5, kTauHigh = 5.5;  // octaves of tau against the steps made so far
inline constexpr size_t kPerTau = 3;
inline constexpr double kStep = (kTauHigh - kTauLow) / (kTaus - 1) / kPerTau;  // octaves
inline constexpr double kTableLow = -28;
inline constexpr size_t kTableTaus = static_cast<size_t>(40 / kStep / kPerTau);

// The last two stand still at first.
inline double Shape(size_t shape, double x) {  // x = E / tau
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

inline double Inverse(size_t shape, double f) {  // f in (0, 1]
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

// How fast a shape falls at x, per unit of x; positive.
inline double Fall(size_t shape, double x) {
  const double step = 0.01 * x + 1e-6;
  return (Shape(shape, x) - Shape(shape, x + step)) / step;
}

using AllTaus = Eigen::Array<double, kTaus, 1>;       // one value for each tau
using SomeTaus = Eigen::Array<double, kTaus / 2, 1>;  // for every other one
// By phase: entry [p][k] is at kTableLow + (kPerTau k + p) kStep.
using Table = std::array<std::vector<double>, kPerTau>;

inline std::array<Table, kShapeCount> MakeTables() {
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

inline double Rss(const Sums& s, double a, double b) {
  return s.ll + a * a * s.ff + b * b * s.w + 2 * a * b * s.f - 2 * a * s.fl - 2 * b * s.l;
}

inline Line WithFloor(const Sums& s, double b) {
  const double a = s.ff > 0 ? std::max(0.0, (s.fl - b * s.f) / s.ff) : 0;
  return {a, b, Rss(s, a, b)};
}

// Least squares under a, b >= 0.
inline Line Solve(const Sums& s) {
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
  double loss = 0;  // relative to the smoothed loss, which everything here is divided by
  double one = 0;   // 1 / smoothed loss
  double variance = 0;
  double octaves = 0;          // of steps since the point before
  size_t base = 0, phase = 0;  // table entry for the largest tau
  double fraction = 0;         // towards the next entry

  void Place(double entry) {
    const double at = std::max(0.0, entry);
    const auto whole = static_cast<size_t>(at);
    base = whole / kPerTau;
    phase = whole % kPerTau;
    fraction = at - static_cast<double>(whole);
  }
  AllTaus Values(const Table& table) const {
    const bool last = phase + 1 == kPerTau;
    const Eigen::Map<const AllTaus> from(table[phase].data() + base);
    const Eigen::Map<const AllTaus> to(last ? table[0].data() + base + 1 : table[phase + 1].data() + base);
    return one * (from + fraction * (to - from));
  }
};

// How far a real curve strays from every one of ours: a random walk of the relative loss over octaves of steps.
struct Stray {
  double deviation = 0;  // after one octave
  double penalty = 0;
};
inline constexpr std::array<Stray, 3> kStrays = {Stray{0, 0}, Stray{0.03, 0.7}, Stray{0.15, 1.6}};

// Under such a walk the points are correlated; a Kalman filter makes their innovations independent. Its gains depend
// on variances alone, so that one filter serves all curves.
struct Filter {
  std::vector<double> gain, weight;        // of each point; weight: one over the variance of its innovation
  std::vector<double> loss, one;           // innovations
  double walked_loss = 0, walked_one = 0;  // the walk at the end
  double log_determinant = 0;
};

inline Filter MakeFilter(const std::vector<Point>& points, const Stray& stray) {
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
template <typename Row>
struct RowSums {
  Row f = Row::Zero(), ff = Row::Zero(), fl = Row::Zero(), walked = Row::Zero();
  double w = 0, l = 0, ll = 0;
  Sums At(Eigen::Index k) const { return {w, f(k), ff(k), l, fl(k), ll}; }
};

template <typename Row>
RowSums<Row> Sum(const std::vector<Row>& shape, const Filter& filter) {
  RowSums<Row> sums;
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
  double fall = 0;      // of the shape now, per effective step
};

// All candidates that may matter: those far worse than the best so far are passed over at once.
class Candidates {
 public:
  static constexpr double kNegligible = 12;  // chi squared above the best

  explicit Candidates(size_t points) : freedom_(static_cast<double>(points > 5 ? points - 4 : 1)) {}

  template <typename Row>
  void Add(Candidate c, const RowSums<Row>& rows, const Filter& filter, const Stray& stray) {
    constexpr size_t kEvery = kTaus / static_cast<size_t>(Row::RowsAtCompileTime);
    // Half as many time scales: each stands for two.
    const double penalty = filter.log_determinant + 2 * stray.penalty - 2 * std::log(static_cast<double>(kEvery));
    for (Eigen::Index k = 0; k < Row::RowsAtCompileTime; ++k) {
      c.sums = rows.At(k);
      c.line = Solve(c.sums);
      c.surprise = c.line.rss + penalty;
      if (c.surprise < least_) {
        least_ = c.surprise;
        least_rss_ = c.line.rss;
      }
      if (stray.deviation == 0) least_plain_ = std::min(least_plain_, c.line.rss);
      if (c.surprise - least_ > kNegligible * temper()) continue;
      c.tau = c.made * Taus()[static_cast<size_t>(k) * kEvery];
      c.strayed = std::clamp(filter.walked_loss - c.line.a * rows.walked(k) - c.line.b * filter.walked_one,
                             -kStrayedMax, kStrayedMax);
      all_.push_back(c);
    }
  }

  const std::vector<Candidate>& all() const { return all_; }
  double least() const { return least_; }
  // No belief is sharper than the best curve fits.
  double temper() const { return std::max(1.0, least_rss_ / freedom_); }
  double plain_misfit() const { return least_plain_ / freedom_; }

 private:
  static const std::array<double, kTaus>& Taus() {  // against the steps made
    static const std::array<double, kTaus> taus = [] {
      std::array<double, kTaus> made{};
      for (size_t k = 0; k < kTaus; ++k)
        made[k] = std::exp2(kTauHigh - (kTauHigh - kTauLow) * static_cast<double>(k) / (kTaus - 1));
      return made;
    }();
    return taus;
  }

  double freedom_;
  std::vector<Candidate> all_;
  double least_ = std::numeric_limits<double>::infinity(), least_rss_ = least_, least_plain_ = least_;
};

}  // namespace attune::tuner::curve
