#include "operator/controller/draft.h"

#include <algorithm>

#include "operator/controller/text.h"

namespace attune::controller {
namespace {

constexpr size_t kNoteBytesMax = 1000;  // the API's limit of an Event's note is 1 KiB

}  // namespace

void Draft::Mark(const ObservedPod& pod, kube::Json annotations, std::string reason) {
  kube::Json patch = {{"metadata", {{"uid", pod.uid}, {"annotations", std::move(annotations)}}}};
  marks_.push_back(PatchPod{pod.name, pod.uid, std::move(patch), std::move(reason)});
}

void Draft::Drain(const ObservedPod& pod, std::string reason) {
  drains_.push_back(SendDrain{pod.name, pod.uid, std::move(reason)});
}

void Draft::Tell(const ObservedPod& pod, std::string key, v1::Directive directive, std::string reason) {
  drains_.push_back(SendDirective{pod.name, pod.uid, std::move(key), std::move(directive), std::move(reason)});
}

void Draft::Release(const ObservedPod& pod, std::string reason) {
  if (!pod.held) return;
  kube::Json patch = {{"metadata", {{"uid", pod.uid}, {"finalizers", pod.other_finalizers}}}};
  removals_.push_back(PatchPod{pod.name, pod.uid, std::move(patch), std::move(reason)});
}

void Draft::Remove(const ObservedPod& pod, std::optional<int64_t> grace_period_seconds, std::string reason) {
  Release(pod, reason);
  if (!IsBeingDeleted(pod)) removals_.push_back(DeletePod{pod.name, pod.uid, grace_period_seconds, std::move(reason)});
}

void Draft::ForceDelete(const ObservedPod& pod, std::string reason) {
  removals_.push_back(DeletePod{pod.name, pod.uid, 0, std::move(reason)});
}

void Draft::Normal(const char* event_reason, const char* action, std::string note) {
  events_.push_back(EmitEvent{false, event_reason, action, FitText(note, kNoteBytesMax)});
}

void Draft::Warn(const char* event_reason, const char* action, std::string note) {
  events_.push_back(EmitEvent{true, event_reason, action, FitText(note, kNoteBytesMax)});
}

void Draft::Status(api::TrainingJobStatus status, std::string reason) {
  status_.assign(1, WriteStatus{std::move(status), std::move(reason)});
}

void Draft::DeleteJob(std::string reason) { end_.push_back(controller::DeleteJob{std::move(reason)}); }

void Draft::Requeue(Duration delay, std::string reason) {
  constexpr Duration kLeast = std::chrono::milliseconds(10);  // never a busy loop
  delay = std::max(delay, kLeast);
  if (!requeue_ || delay < requeue_->delay) requeue_ = RequeueAfter{delay, std::move(reason)};
}

std::vector<Action> Draft::Finish() && {
  std::vector<Action> plan;
  for (auto* part : {&marks_, &status_, &creates_, &drains_, &removals_, &events_, &end_}) {
    for (Action& action : *part) plan.push_back(std::move(action));
  }
  if (requeue_) plan.emplace_back(std::move(*requeue_));
  return plan;
}

}  // namespace attune::controller
