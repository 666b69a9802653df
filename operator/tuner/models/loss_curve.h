// One loss curve for the whole job, in effective steps: each update counts as much as its efficiency. Fits
//   b + a (1 + E/tau)^-{0.5, 1, 2}  and  b + a exp(-(E/tau)^{0.6, 1}),   a, b >= 0,
// for every hypothesis about efficiency, and weighs all of them. From that come the weights of the hypotheses and what
// remains, with an interval. Source: docs/tuner.md#how-it-decides, 3; 1/(b0 k + b1) + b2 is Optimus' curve.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "operator/tuner/models/efficiency.h"

namespace attune::tuner {

struct LossWindow {
  double time = 0;
  double seconds = 0;
  double updates = 0;
  double loss = 0;  // mean over the window, > 0
  double staleness = 0;
};

enum class Outlook {
  kEstimated,    // the interval can be believed
  kTooEarly,     // not enough progress seen to say anything
  kUnknown,      // the loss does not follow a smooth curve (steps, plateaus), or may level off above the target
  kUnreachable,  // it levels off above the target
};

struct RemainingSteps {
  double steps = 0;  // effective
  double weight = 0;
  size_t hypothesis = 0;
};

// How fast the loss falls at present, relative, for each effective step.
struct Fall {
  double mean = 0, square = 0;  // square: mean of its square
};

struct CurveFit {
  HypothesisWeights weights{};            // of the hypotheses about efficiency
  std::array<Fall, kHypotheses> fall{};   // under each of them; 0 where it has no weight
  std::vector<RemainingSteps> remaining;  // weights sum to 1 - unreachable
  double unreachable = 0;                 // probability
  double misfit = 1;                      // chi squared per degree of freedom of the best curve
  double loss = 0;                        // smoothed, now
  double loss_drop = 0;                   // relative, per window, at the end
  Outlook outlook = Outlook::kTooEarly;
};

class LossCurve {
 public:
  explicit LossCurve(EfficiencyModel efficiency = EfficiencyModel(), double window_seconds = 10)
      : efficiency_(efficiency), window_seconds_(window_seconds) {}

  void Absorb(const LossWindow& window);
  // Steps of which no loss is known: progress was made.
  void AbsorbSteps(double updates, double staleness);

  // `seconds_per_step` of effective progress at the best setting, per hypothesis: what the length prior (log-normal
  // over windows of the whole job) is measured in. People make jobs as long as a good setting can bear; one that would
  // take far longer is more likely to be at a bad one.
  CurveFit Fit(double target, const std::array<double, kHypotheses>& seconds_per_step) const;

  const EfficiencyModel& efficiency() const { return efficiency_; }
  EfficiencyModel& efficiency() { return efficiency_; }
  double noise() const;  // relative, of a window
  size_t size() const { return segments_.size(); }

  static constexpr size_t kSegmentsMax = 32;
  static constexpr size_t kDifferencesMax = 64;

  struct Segment {
    double windows = 0;
    double loss = 0;
    double staleness = 0;
    double updates = 0;
    std::array<double, kHypotheses> steps{};   // effective, of this segment
    std::array<double, kHypotheses> before{};  // effective, before it (changes included)
  };
  struct Dump {
    std::vector<Segment> segments;
    std::array<double, kHypotheses> total{};
    std::vector<double> differences;
    double last_loss = 0, last_windows = 0;
  };
  Dump Save() const { return {segments_, total_, differences_, last_loss_, last_windows_}; }
  void Load(Dump dump);

 private:
  void Shrink();

  EfficiencyModel efficiency_;
  double window_seconds_;
  std::vector<Segment> segments_;
  std::array<double, kHypotheses> total_{};
  std::vector<double> differences_;  // of log loss, per window
  double last_loss_ = 0, last_windows_ = 0;
};

}  // namespace attune::tuner
