// The tuner at work on one job: reports in, changes of the job's spec out, which the ladder of the other policies
// carries out. A state machine over tuner::Tuner:
//
//   learn how long the job is -> stay at a setting, window by window -> ask the tuner -> move to what it says, and wait
//   until as many pods take part -> stay ...
//
// Pure: time, figures and the prior cache are arguments. What it must not forget is in TuningOutput::state, so that a
// new operator continues. Its death, or a wrong turn of it, leaves the job training at the setting it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/tuning_values.h"
#include "operator/controller/tuning/change_gate.h"
#include "operator/controller/tuning/knobs_in_force.h"
#include "operator/controller/tuning/parts_care.h"
#include "operator/controller/tuning/state/job_clock.h"
#include "operator/controller/tuning/state/job_course.h"
#include "operator/controller/tuning/state/past_tuners.h"
#include "operator/controller/tuning/state/setting_stay.h"
#include "operator/controller/tuning/state/shown_tuning.h"
#include "operator/controller/tuning/state/window_meter.h"
#include "operator/tuner/tuner.h"

namespace attune::controller {

class TuningLoop {
 public:
  // `saved`: TuningOutput::state of an earlier operator; what cannot be read is started over.
  explicit TuningLoop(std::string saved = "") : saved_(std::move(saved)) {}

  TuningOutput Step(const TuningInput& input, tuner::PriorCache& priors);

  // Of TuningOutput::state: what tuner::Tuner::Load reads; "" when there is none.
  static std::string TunerStateOf(const std::string& saved);
  // Of TuningOutput::state: what was decided since the job began, whatever became of the tuner that decided it.
  static std::vector<tuner::NamedRecord> StoryOf(const std::string& saved);
  // Of TuningOutput::state: what is wrong with a part of the job, a line each.
  static std::vector<std::string> FindingsOf(const std::string& saved);
  // Of the same: at which second of the job it was saved; below 0: it is none.
  static double TimeOf(const std::string& saved);

  // What similar jobs may start from; nothing before the first decision.
  std::optional<tuner::HistoryEntry> Summary() const;
  void SetHistory(tuner::JobHistory history) { earlier_.SetHistory(std::move(history)); }

  // A job that ends within so many windows is left alone.
  static constexpr double kShortJobWindows = 20;
  // A setting that has not come about after this long is given up.
  static constexpr double kMovingTimeout = 180;
  // How long measuring waits for rows that still move.
  static constexpr double kRowsTimeout = 30;
  static constexpr size_t kStateBytesMax = 64 << 10;
  // Decisions that are remembered, of all tuners of the job together.
  static constexpr size_t kStoryMax = PastTuners::kStoryMax;

 private:
  // At work the job moves to a setting or stays at one.
  enum class Stage { kLearning, kAtWork, kDone };

  void Restore(tuner::PriorCache& priors);
  std::string Save() const;
  void Retire(bool tried, TuningOutput& output);
  bool IsInfeasible(const TuningInput& input, TuningOutput& output);
  void Remember();
  void Describe();
  ShownTuning::Believed Believe(const JobSetting& setting) const;
  // False: not yet, or never; stage and message say which.
  bool Begin(const TuningInput& input, tuner::PriorCache& priors);
  void Learn(const TuningInput& input, tuner::PriorCache& priors);
  void Move(const TuningInput& input, TuningOutput& output);
  void Stay(const TuningInput& input, TuningOutput& output);
  void Decide(const TuningInput& input, TuningOutput& output);
  bool WaitsForPolicy(const TuningInput& input);
  bool HoldsBack(const TuningInput& input, const tuner::Decision& decision, const JobSetting& target,
                 TuningOutput& output);
  void StayFor(const TuningInput& input, const Refusal& refusal);
  void Recommend(const TuningInput& input, TuningOutput& output);
  void FollowUser(const TuningInput& input);
  void Order(const TuningInput& input, const JobSetting& target, bool trial, TuningOutput& output);
  void Settle(const TuningInput& input);
  void CloseWindow(const TuningInput& input, bool during_change);
  void Crashed(const TuningInput& input, const std::string& what, TuningOutput& output);
  bool IsMoving() const { return stage_ == Stage::kAtWork && course_.is_moving(); }
  void FillStatus(const TuningInput& input, TuningOutput& output) const;

  std::string saved_, state_;
  std::optional<tuner::Tuner> tuner_;

  Stage stage_ = Stage::kLearning;
  JobClock clock_;
  JobCourse course_;
  SettingStay stay_;
  KnobsInForce knobs_;
  PastTuners earlier_;
  std::vector<PastChange> past_;  // that policies count; changes of users are none
  uint64_t policy_refusals_ = 0;
  ShownTuning shown_;
  PartsCare parts_;
  WindowMeter window_;
  std::optional<TuningInput> first_;  // of this process
};

}  // namespace attune::controller
