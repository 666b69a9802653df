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

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/tuner/belief/goal_progress.h"
#include "operator/tuner/belief/job_description.h"
#include "operator/tuner/belief/report.h"
#include "operator/tuner/models/block_log.h"
#include "operator/tuner/models/cpu_model.h"
#include "operator/tuner/models/efficiency.h"
#include "operator/tuner/models/loss_curve.h"
#include "operator/tuner/models/memory_model.h"
#include "operator/tuner/models/pricing.h"
#include "operator/tuner/models/staleness_model.h"
#include "operator/tuner/models/structural_prior.h"
#include "operator/tuner/models/throughput_model.h"
#include "operator/tuner/models/timing_model.h"
#include "operator/tuner/records/decision_record.h"
#include "operator/tuner/records/history.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

struct DesignPoint;

struct Remaining {
  double low = 0, mid = 0, high = 0;  // seconds from now, 90 % interval
};

struct Decision {
  Setting setting;
  double seconds = 0;  // how long to stay before asking again
  DecisionKind kind = DecisionKind::kKeep;
  std::string why;
  std::optional<Remaining> remaining;  // nothing: unknown, and outlook says why
  Outlook outlook = Outlook::kTooEarly;
  uint64_t record = 0;  // number of the record of this change; 0: no change
};

// One row of `attune explain --model`.
struct SettingBelief {
  Setting setting;
  double seconds_per_update = 0;
  Gain gain;  // progress per second against the incumbent
  double efficiency = 1;
  double crash_probability = 0;
  double windows = 0;         // measured
  double price_per_hour = 0;  // by the objective's prices
  // Against the incumbent, as ratios: time to the goal from here, and what it costs.
  double relative_time = 1, relative_cost = 1;
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
  void SetEnding(double now, const Ending& ending);

  // These look at the job again, as of the last decision.
  // The best `count` settings, best first.
  std::vector<SettingBelief> Beliefs(size_t count) const;
  // Of one setting; nothing before the first decision, and of a setting that is not of the space.
  std::optional<SettingBelief> BeliefAbout(const Setting& setting) const;
  // Those that no other one beats in both time and cost, fastest first: what there is to choose from, at most `count`.
  std::vector<SettingBelief> Tradeoffs(size_t count) const;
  double spent() const { return spent_; }  // so far, by the objective's prices
  Setting Incumbent() const;
  const std::vector<DecisionRecord>& records() const { return records_; }  // the last kRecordsMax
  const SearchSpace& space() const { return space_; }
  uint64_t rejected_reports() const { return rejected_; }
  // Probability that progress per update has collapsed at the current setting.
  double CollapseProbability() const;
  // What similar jobs may start from.
  HistoryEntry Summary() const;

  // JSON: some 25 kilobytes, and half of one for each of the newest `records`.
  std::string Save(size_t records = kRecordsMax) const;
  static StatusOr<Tuner> Load(const std::string& state, PriorCache& priors);

  static constexpr size_t kRecordsMax = 40;
  // Probability of a crash above which a setting is not tried, and above which it is not stayed at.
  static constexpr double kTrialCrashMax = 0.1, kCrashMax = 0.5;
  static constexpr double kKnownWindows = 3;  // a setting measured this long is no trial

 private:
  friend class TunerState;
  Tuner(JobDescription job, SearchSpace space, std::shared_ptr<const StructuralPrior> prior);

  // Everything a decision is made from, computed once per decision.
  struct View {
    double now = 0;
    int current = 0;
    Posterior speed;
    CurveFit curve;
    std::array<double, kHypotheses> best_pace{};  // seconds per effective step at the best setting
    std::vector<double> staleness, log_efficiency, score, crash,
        windows;               // per setting; score: log seconds per progress, and its toll
    std::vector<double> toll;  // what the objective adds to that: log of a price
    int incumbent = 0;
    std::optional<Remaining> remaining;  // at the incumbent
    Outlook outlook = Outlook::kTooEarly;
    double horizon = 0;  // seconds
  };
  struct Proposal {
    int setting = -1;
    double value = 0, saving = 0, cost = 0;
    Gain gain;
  };

  View Look(double now, int current) const;
  void FitBestPace(View& view) const;
  void FitEfficiency(View& view) const;
  int ChooseIncumbent(const View& view) const;
  void FitRemaining(View& view) const;
  Gain GainOver(const View& view, int candidate, int base) const;
  // Probability that the candidate makes more progress per second.
  double Certainty(const View& view, int candidate, int base) const;
  double CostOfTrial(const View& view, int candidate, const Gain& gain, double loss) const;
  std::vector<double> LeadsToCome(const View& view) const;
  double Caution() const;
  Proposal BestTrial(const View& view) const;
  bool OnlyWaits(int candidate, int base) const;
  std::optional<int> NextOfStartDesign(const View& view);
  Setting MediumSize(const View& view, const DesignPoint& point) const;
  bool StaysAtFirst(int knob) const;
  int WithoutIdleCores(const View& view) const;
  bool OnlyStarves(int candidate, int base) const;
  bool DiffersInCoresAlone(int id, int other) const;
  void TurnEveryKnob(const Setting& current, Setting& wanted) const;
  int FirstLook(const View& view, const Setting& medium) const;
  bool IsBearable(const View& view, int id) const;
  struct Doubts {
    std::array<double, kHypotheses> saving{};  // seconds, times probability
    std::array<double, kHypotheses> weight{};  // probability; 0: this one is no doubt
    double total_saving = 0, probability = 0;
  };
  std::optional<Proposal> NextOfProbe(const View& view);
  bool MayProbe(const View& view) const;
  std::vector<int> ProbeSettings(const View& view) const;
  Doubts FindDoubts(const View& view, int setting) const;
  double WorthOfProbe(const View& view, const Doubts& doubts, int setting, double windows) const;
  double CostOfProbeWindow(const Gain& gain) const;
  std::pair<Proposal, double> PlanProbe(const View& view) const;
  int Adopt(const View& view, Proposal& move) const;
  bool IsCertain(const View& view, int target, const Gain& gain) const;
  int Simplify(const View& view, int target) const;
  std::optional<Gain> StillUncertain(const View& view, int target) const;
  double StayAtTrial(const View& view) const;
  double StayAtKeep(const View& view) const;
  struct Why {
    std::string expectation;  // what is predicted, in words; a record has it as a figure
    std::string reason;
  };
  static Why WhyTrial(const Proposal& trial, const std::string& over, double horizon);
  Decision Finish(const View& view, int target, DecisionKind kind, const Proposal& proposal, const Why& why);
  void CloseRecord(const View& view, int next, DecisionKind kind);
  void AbsorbSpeed(const Report& report, int id);
  void FollowTimes();
  void WeighPrices(View& view) const;
  SettingBelief BeliefOf(const View& view, int id) const;

  JobDescription job_;
  SearchSpace space_;
  std::shared_ptr<const StructuralPrior> prior_;  // of all jobs of the space; the throughput's may be this job's
  BlockLog blocks_;
  MemoryModel memory_;
  CpuModel cpu_;
  TimingModel timing_;
  LossCurve curve_;
  ThroughputModel throughput_;
  Pricing pricing_;
  StalenessModel staleness_;
  GoalProgress progress_;
  std::vector<DecisionRecord> records_;

  // State besides the models.
  std::optional<std::pair<double, int>> looked_;  // time and setting of the last decision
  double spent_ = 0;                              // by the objective's prices
  uint64_t rejected_ = 0;
  size_t design_next_ = 0;
  int probe_setting_ = -1;                        // of the probe of efficiency in progress
  double probe_windows_ = 0, probe_planned_ = 0;  // made of it, and how many it shall have
  double probe_staleness_ = 0;                    // of the incumbent when the last one began
  double windows_since_probe_ = 0;
  int last_setting_ = -1, previous_setting_ = -1;
  int kept_setting_ = -1, previous_kept_ = -1;  // decided last to be kept, and before it
  double windows_here_ = 0;                     // at the present setting since the last change
  uint64_t next_number_ = 1;
};

}  // namespace attune::tuner
