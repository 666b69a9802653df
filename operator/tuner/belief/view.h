// How a job looks before a decision: what is believed of every setting and how long the job still takes, from all
// models together. Computed once per decision. A plain value; settings are indices into the space of the evidence.
//
// Remaining time at a setting x is R(x) s(x): see tuner.h.
#pragma once

#include <optional>
#include <vector>

#include "operator/tuner/belief/evidence.h"
#include "operator/tuner/models/loss_curve.h"
#include "operator/tuner/models/throughput_model.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::tuner {

struct Remaining {
  double low = 0, mid = 0, high = 0;  // seconds from now, 90 % interval
};

struct View {
  double now = 0;  // seconds since the job began
  int current = 0;
  Posterior speed;
  CurveFit curve;
  // Per setting. Score: log seconds per progress, and its toll; toll: what the objective adds to that, log of a price.
  std::vector<double> staleness, log_efficiency, score, crash, windows, toll;
  int incumbent = 0;
  std::optional<Remaining> remaining;  // at the incumbent
  Outlook outlook = Outlook::kTooEarly;
  double horizon = 0;  // seconds

  // Progress per second, as a log gain.
  Gain GainOver(int candidate, int base) const;
};

// Probability of a crash above which a setting is not tried, and above which it is not stayed at.
inline constexpr double kTrialCrashMax = 0.1, kCrashMax = 0.5;
inline constexpr double kKnownWindows = 3;  // a setting measured this long is no trial

View Look(const Evidence& evidence, double now, int current);

// Probability that the candidate makes more progress per second.
double Certainty(const Evidence& evidence, const View& view, int candidate, int base);

// Probability that progress per update has collapsed where the job is.
double CollapseProbability(const Evidence& evidence, const View& view);

}  // namespace attune::tuner
