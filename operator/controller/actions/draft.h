// A plan being written: policies add what they want, in any order; Finish() puts it into the order of need.
//
//   directives, marks, removals   what keeps a job alive or lets it go: nothing that fails elsewhere may delay it
//   the tuner's record            what it must not forget, kept before anything shows or follows from it
//   the status                    facts
//   creations, changes of specs and sizes   what a quota, a policy or a taken name may refuse
//   the end of the job
//
// Where one act must not happen without another, it says so: it names the other one in `needs`, and is put after it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "operator/controller/actions/action.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Delays of Draft::Requeue: for the next step of an act in flight, which takes seconds, and for what takes longer or
// goes by the clock of another machine.
inline constexpr Duration kLookAgain = std::chrono::seconds(1);
inline constexpr Duration kLookLater = std::chrono::seconds(10);

class Draft {
 public:
  using Ref = size_t;  // of an act added before
  using Needs = std::vector<Ref>;

  // A fact written to a pod before it is counted in the status, or before the pod is asked to act on it.
  Ref Mark(const ObservedPod& pod, kube::Json annotations, std::string reason);
  Ref Create(Action create, Needs needs = {});
  // To the object in which the tuner's memory is kept, or from there.
  Ref Record(Action record);
  // What no pod of the job can do without: every pod created needs it.
  Ref CreateForPods(Action create);
  // `resources`: requests and limits of the role's container, those that change.
  Ref Resize(const ObservedPod& pod, kube::Json resources, std::string reason, Needs needs = {});
  Ref Drain(const ObservedPod& pod, std::string reason, Needs needs = {});
  Ref Direct(const ObservedPod& pod, std::string key, v1::Directive directive, std::string reason);
  // Removes our finalizer from the pod and, unless it is being deleted already, deletes it. One that had not started
  // when it was seen goes only if that still holds: it may be at work by now.
  Needs Remove(const ObservedPod& pod, std::optional<int64_t> grace_period_seconds, std::string reason);
  // The pod is removed no sooner than this is done: it carries what is known only from it.
  void HoldRemoval(const ObservedPod& pod, Ref until) { holds_[pod.uid].push_back(until); }
  Needs Release(const ObservedPod& pod, std::string reason);
  // Of a pod that is being deleted already: it gets less time for it.
  Needs Hasten(const ObservedPod& pod, int64_t grace_period_seconds, std::string reason);
  // Of a pod that is being deleted already and whose machine does not answer.
  Needs ForceDelete(const ObservedPod& pod, std::string reason);
  // `needs`: what the Event reports.
  void Normal(const char* event_reason, const char* action, std::string_view note, Needs needs = {});
  void Warn(const char* event_reason, const char* action, std::string_view note, Needs needs = {});
  Ref Status(api::TrainingJobStatus status, std::string reason);
  Ref DeleteJob(std::string reason);
  // The earliest of all requests counts.
  void Requeue(Duration delay, std::string reason);

  // The most urgent first, each after what it needs; last when to look again.
  std::vector<Step> Finish() &&;

 private:
  // In the order in which they are carried out.
  enum class Urgency { kDirective, kMark, kRemoval, kRecord, kStatus, kEvent, kCreation, kEnd };
  struct Entry {
    Urgency urgency;
    Step step;
  };
  Ref Add(Urgency urgency, Action action, Needs needs = {});

  std::vector<Entry> entries_;  // each after what it needs
  Needs for_pods_;
  std::map<std::string, Needs> holds_;  // by pod uid
  std::optional<RequeueAfter> requeue_;
};

// Both lists in one.
Draft::Needs Joined(Draft::Needs first, const Draft::Needs& second);

}  // namespace attune::controller
