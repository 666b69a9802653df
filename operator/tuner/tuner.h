// The tuner of one job. Reports in, decisions out; pure: time comes with reports and questions, randomness from a seed,
// so that equal inputs give equal decisions. One object per job; not thread-safe.
//
//   ASSIGN_OR_RETURN(Tuner tuner, Tuner::Create(job, priors));
//   Status taken = tuner.Absorb(report);              // each window; an error says what was wrong with the report
//   Decision next = tuner.Decide(now, current);       // stay at next.setting for next.seconds, then ask again
//   std::string state = tuner.Save();                 // a new operator continues with Tuner::Load(state, priors)
//
// Remaining time at a setting x is R(x) s(x): seconds per update s from a Gaussian process (throughput_model.h),
// updates to go R from one loss curve in effective steps (loss_curve.h). A trial is worth the share of the remaining
// time it is expected to save, and costs a slower window, the change, the way back, and perhaps a crash; all in
// seconds. Source: docs/tuner.md#how-it-decides.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operator/tuner/belief/evidence.h"
#include "operator/tuner/belief/setting_belief.h"
#include "operator/tuner/belief/view.h"
#include "operator/tuner/choice/decision_log.h"
#include "operator/tuner/choice/efficiency_probe.h"
#include "operator/tuner/choice/proposal.h"
#include "operator/tuner/choice/start_design.h"
#include "operator/tuner/choice/stays.h"
#include "operator/tuner/records/decision_record.h"
#include "operator/tuner/records/history.h"

namespace attune::tuner {

struct Decision {
  Setting setting;
  double seconds = 0;  // how long to stay before asking again
  DecisionKind kind = DecisionKind::kKeep;
  std::string why;
  std::optional<Remaining> remaining;  // nothing: unknown, and outlook says why
  Outlook outlook = Outlook::kTooEarly;
  uint64_t record = 0;  // number of the record of this change; 0: no change
};

class Tuner {
 public:
  static StatusOr<Tuner> Create(JobDescription job, PriorCache& priors);

  // InvalidArgument for a report that cannot be true (negative, not finite, out of order, of an unknown setting); it is
  // counted and otherwise ignored.
  Status Absorb(const Report& report);
  Decision Decide(double now, const Setting& current);
  // Who counts what is left better than the goal said at the beginning (steps of an epoch are known only once some were
  // made; a job resumes) says so, as often as it likes. Each >= 0.
  void SetEnding(double now, const Ending& ending) { evidence_.SetEnding(now, ending); }

  // These look at the job again, as of the last decision.
  // The best `count` settings, best first.
  std::vector<SettingBelief> Beliefs(size_t count) const;
  // Of one setting; nothing before the first decision, and of a setting that is not of the space.
  std::optional<SettingBelief> BeliefAbout(const Setting& setting) const;
  // Those that no other one beats in both time and cost, fastest first: what there is to choose from, at most `count`.
  std::vector<SettingBelief> Tradeoffs(size_t count) const;
  double spent() const { return evidence_.spent(); }  // so far, by the objective's prices
  Setting Incumbent() const;
  const std::vector<DecisionRecord>& records() const { return log_.records(); }  // the last kRecordsMax
  const SearchSpace& space() const { return evidence_.space(); }
  uint64_t rejected_reports() const { return rejected_; }
  // Probability that progress per update has collapsed at the current setting.
  double CollapseProbability() const;
  // What similar jobs may start from.
  HistoryEntry Summary() const;

  // JSON: some 25 kilobytes, and half of one for each of the newest `records`.
  std::string Save(size_t records = kRecordsMax) const;
  static StatusOr<Tuner> Load(const std::string& state, PriorCache& priors);

  static constexpr size_t kRecordsMax = DecisionLog::kRecordsMax;
  // Probability of a crash above which a setting is not tried.
  static constexpr double kTrialCrashMax = tuner::kTrialCrashMax;

 private:
  friend class TunerState;
  explicit Tuner(Evidence evidence) : evidence_(std::move(evidence)) {}

  // What a decision is for, in words; a record has what is predicted as a figure.
  struct Why {
    std::string expectation;
    std::string reason;
  };
  Decision TakeFirstLook(const View& view, int setting);
  Decision Probe(const View& view, const Proposal& probe);
  Decision Try(const View& view, const Proposal& trial);
  Decision Settle(const View& view);
  Why WhyKept(const View& view, const Proposal& move) const;
  Decision Finish(const View& view, DecisionKind kind, const Proposal& proposal, const Why& why);
  double SecondsToStay(const View& view, DecisionKind kind) const;
  // The view of the last decision; nothing before it.
  std::optional<View> LookAgain() const;

  Evidence evidence_;
  StartDesign design_;
  EfficiencyProbe probe_;
  Stays stays_;
  DecisionLog log_;
  std::optional<std::pair<double, int>> looked_;  // time and setting of the last decision
  uint64_t rejected_ = 0;
};

}  // namespace attune::tuner
