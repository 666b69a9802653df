// What earlier tuners of a job decided and spent, which decisions were announced, and what was measured before the
// present one: by them, and in jobs like this. A job has another tuner whenever its knobs or its objective change; to
// people it is one story with one numbering.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/records/decision_record.h"
#include "operator/tuner/records/history.h"
#include "operator/tuner/tuner.h"

namespace attune::controller {

class PastTuners {
 public:
  // The tuner is one of them from now on: what it did not come to judge is closed. `tried`: what it decided was done,
  // not only recommended.
  void Add(const tuner::Tuner& tuner, bool tried, std::vector<TuningOutput::Event>& events);
  // Announces changes of the present tuner whose worth is known now, each once.
  void Report(const tuner::Tuner& present, std::vector<TuningOutput::Event>& events);

  // Oldest first, numbered from the job's begin; the last kStoryMax.
  const std::vector<tuner::NamedRecord>& story() const { return story_; }
  double spent() const { return spent_; }          // of the budget
  uint64_t decided() const { return decided_; }    // by them: numbers of the present tuner begin behind
  uint64_t reported() const { return reported_; }  // the last number that was announced, the present tuner's included

  // What the next tuner begins with; of jobs like this as far as they are known, until one of this job is added.
  const tuner::JobHistory& history() const { return history_; }
  void SetHistory(tuner::JobHistory history) { history_ = std::move(history); }

  // What another operator continues from. The history is not: it comes from where all jobs keep theirs.
  struct Saved {
    std::vector<tuner::NamedRecord> story;
    double spent = 0;
    uint64_t decided = 0, reported = 0;
  };
  void Load(Saved saved);

  static constexpr size_t kStoryMax = 60;

 private:
  std::vector<tuner::NamedRecord> story_;
  double spent_ = 0;
  uint64_t decided_ = 0, reported_ = 0;
  tuner::JobHistory history_;
};

}  // namespace attune::controller
