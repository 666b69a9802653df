// A plan being written: policies add what they want, in any order; Finish() puts it into the one order that is safe.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/controller/action.h"
#include "operator/controller/observed.h"

namespace attune::controller {

class Draft {
 public:
  // Facts written to pods before they are counted in the status.
  void Mark(const ObservedPod& pod, kube::Json annotations, std::string reason);
  void Create(Action create) { creates_.push_back(std::move(create)); }
  void Drain(const ObservedPod& pod, std::string reason);
  void Tell(const ObservedPod& pod, std::string key, v1::Directive directive, std::string reason);
  // Lets go of the pod (our finalizer) and, unless it is being deleted already, deletes it.
  void Remove(const ObservedPod& pod, std::optional<int64_t> grace_period_seconds, std::string reason);
  void Release(const ObservedPod& pod, std::string reason);
  // Of a pod that is being deleted already and whose machine does not answer.
  void ForceDelete(const ObservedPod& pod, std::string reason);
  void Normal(const char* event_reason, const char* action, std::string note);
  void Warn(const char* event_reason, const char* action, std::string note);
  void Status(api::TrainingJobStatus status, std::string reason);
  void DeleteJob(std::string reason);
  // The earliest wish wins.
  void Requeue(Duration delay, std::string reason);

  // Marks, status, creations, drains and directives, removals, Events, and last when to look again.
  std::vector<Action> Finish() &&;

 private:
  std::vector<Action> marks_, status_, creates_, drains_, removals_, events_, end_;
  std::optional<RequeueAfter> requeue_;
};

}  // namespace attune::controller
