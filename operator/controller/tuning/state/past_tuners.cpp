#include "operator/controller/tuning/state/past_tuners.h"

#include <utility>

#include "operator/controller/observe/names.h"

namespace attune::controller {

void PastTuners::Add(const tuner::Tuner& tuner, bool tried, std::vector<TuningOutput::Event>& events) {
  history_.Add(tuner.Summary());
  spent_ += tuner.spent();
  if (tried) {
    for (const tuner::DecisionRecord& record : tuner.records()) {
      tuner::NamedRecord named = tuner::WithNames(record, tuner.space());
      named.record.number += decided_;
      if (record.verdict == tuner::Verdict::kOpen) named.record.verdict = tuner::Verdict::kUnjudged;
      // Every change that Events announce has its outcome among them.
      if (named.record.number > reported_) events.push_back({false, kEventTuningOutcome, tuner::Explain(named)});
      story_.push_back(std::move(named));
    }
    if (!tuner.records().empty()) decided_ += tuner.records().back().number;
    if (story_.size() > kStoryMax) story_.erase(story_.begin(), story_.end() - static_cast<std::ptrdiff_t>(kStoryMax));
  }
  reported_ = decided_;
}

void PastTuners::Report(const tuner::Tuner& present, std::vector<TuningOutput::Event>& events) {
  for (const tuner::DecisionRecord& record : present.records()) {
    if (record.number + decided_ <= reported_ || record.verdict == tuner::Verdict::kOpen) continue;
    reported_ = record.number + decided_;
    events.push_back(
        {record.verdict == tuner::Verdict::kCrashed, kEventTuningOutcome, tuner::Explain(record, present.space())});
  }
}

void PastTuners::Load(Saved saved) {
  story_ = std::move(saved.story);
  if (story_.size() > kStoryMax) story_.resize(kStoryMax);
  spent_ = saved.spent;
  decided_ = saved.decided;
  reported_ = saved.reported;
}

}  // namespace attune::controller
