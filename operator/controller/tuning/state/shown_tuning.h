// What people are shown of the tuner at work on a job, in its status: what it does now and why, how long the job is to
// last, which settings it has, believes in and recommends, and what was decided. It follows what is saved, so that it
// changes when that does and not with the clock. A plain value, of one thread; nothing of it fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/records/decision_record.h"
#include "operator/tuner/tuner.h"

namespace attune::controller {

class ShownTuning {
 public:
  // What the loop does now, and why: a sentence or two.
  void Say(std::string message) { message_ = std::move(message); }
  // As of a decision; nothing: not known.
  void Expect(const std::optional<tuner::Remaining>& remaining) { remaining_ = remaining; }
  // Returns whether another setting was recommended before, or none.
  bool Recommend(const JobSetting& best);

  struct Believed {
    JobSetting setting;
    std::optional<tuner::SettingBelief> belief;
  };
  // As of what is saved: all that was decided, oldest first; where the job runs and what is best as far as is known.
  void Update(const std::vector<tuner::NamedRecord>& story, const std::optional<Believed>& running,
              const std::optional<Believed>& best);

  const std::string& message() const { return message_; }
  // A decision has said how long the job is to last.
  bool HasExpectation() const { return remaining_.has_value(); }
  // Everything but the stage, the setting that is wanted and the number of changes.
  void Fill(const TuningInput& input, api::TuningStatus& status) const;

  // Without a word about its speed.
  static api::TuningSetting Shown(const JobSetting& setting);

 private:
  api::TuningSetting Shown(const Believed& believed) const;

  std::string message_;
  std::optional<tuner::Remaining> remaining_;
  std::optional<JobSetting> recommended_;
  std::optional<api::TuningSetting> running_, best_;
  std::vector<api::TuningDecision> decisions_;
};

}  // namespace attune::controller
