#include "tests/operator/controller/status/condition_rules.h"

#include <algorithm>
#include <set>

#include "operator/controller/status/degraded.h"
#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

using api::IsTrue;

// Of a job whose pods have ended nothing that is about its pods is true.
constexpr const char* kAboutPods[] = {api::kReady,         api::kServersReady, api::kWorkersReady,
                                      api::kReconfiguring, api::kTuning,       api::kMetricsAvailable,
                                      api::kProgressing,   api::kSuspended,    kDegraded};

class Judge {
 public:
  Judge(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next) : before_(before), next_(next) {}

  std::vector<std::string> Run(int64_t generation) {
    Each(generation);
    Together();
    OverTime();
    return std::move(found_);
  }

 private:
  void Expect(bool holds, const std::string& otherwise) {
    if (!holds) found_.push_back(otherwise);
  }

  void Each(int64_t generation) {
    std::set<std::string> types;
    for (const api::Condition& condition : next_.conditions) {
      Expect(types.insert(condition.type).second, condition.type + " is there twice");
      Expect(condition.status == "True" || condition.status == "False" || condition.status == "Unknown",
             condition.type + " is " + condition.status);
      Expect(!condition.reason.empty(), condition.type + " has no reason");
      Expect(!condition.last_transition_time.empty(), condition.type + " has no time");
      Expect(condition.observed_generation <= generation, condition.type + " is about a spec that is yet to come");
    }
    Expect(next_.observed_generation <= generation, "the status is about a spec that is yet to come");
  }

  void Together() {
    const bool ended = HasEnded(next_);
    Expect(!(IsTrue(next_, api::kSucceeded) && IsTrue(next_, api::kFailed)), "it succeeded and failed");
    Expect(ended == (next_.phase == "Succeeded" || (next_.phase == "Failed" && HasEnded(next_))),
           "it has ended and is shown as " + next_.phase);
    Expect(ended == !next_.completion_time.empty(), "it has ended without a time, or has one and has not");
    for (const char* type : kAboutPods)
      Expect(!(ended && IsTrue(next_, type)), std::string("it has ended and is ") + type);
    if (IsTrue(next_, api::kReady))
      Expect(IsTrue(next_, api::kServersReady) && IsTrue(next_, api::kWorkersReady), "it is ready, its parts are not");
    for (const char* type : kAboutPods) {
      const bool is_other = std::string_view(type) != api::kSuspended;
      Expect(!(IsTrue(next_, api::kSuspended) && is_other && IsTrue(next_, type)),
             std::string("it is suspended and is ") + type);
    }
    Expect(!(IsTrue(next_, kClosingDone) && !IsTrue(next_, kGoalReached)), "the closing work is done before the goal");
  }

  void OverTime() {
    Expect(next_.observed_generation >= before_.observed_generation, "the observed generation went back");
    for (const api::Condition& was : before_.conditions) {
      const api::Condition* is = api::FindCondition(next_, was.type);
      if (is == nullptr) continue;
      Expect((is->status != was.status) || is->last_transition_time == was.last_transition_time,
             was.type + " has another time without another status");
    }
    for (const char* type : {api::kSucceeded, kGoalReached})
      Expect(!IsTrue(before_, type) || IsTrue(next_, type), std::string(type) + " was taken back");
    Expect(!HasEnded(before_) || HasEnded(next_), "its end was taken back");
  }

  const api::TrainingJobStatus& before_;
  const api::TrainingJobStatus& next_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> Contradictions(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                                        int64_t generation) {
  return Judge(before, next).Run(generation);
}

}  // namespace attune::controller
