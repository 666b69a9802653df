#include "operator/controller/actions/draft.h"

#include <algorithm>
#include <numeric>

#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

// The API's limit of an Event's note is 1 KiB; the executor may add a few words.
constexpr size_t kPlannedNoteBytesMax = 960;

}  // namespace

Draft::Ref Draft::Add(Urgency urgency, Action action, Needs needs) {
  for (const Ref need : needs) urgency = std::max(urgency, entries_[need].urgency);
  entries_.push_back({urgency, {std::move(action), std::move(needs)}});
  return entries_.size() - 1;
}

Draft::Ref Draft::Mark(const ObservedPod& pod, kube::Json annotations, std::string reason) {
  kube::Json patch = {{"metadata", {{"uid", pod.uid}, {"annotations", std::move(annotations)}}}};
  return Add(Urgency::kMark, PatchPod{pod.name, pod.uid, std::move(patch), std::move(reason)});
}

Draft::Ref Draft::Create(Action create, Needs needs) {
  const bool is_pod = std::holds_alternative<CreatePod>(create);
  return Add(Urgency::kCreation, std::move(create), is_pod ? Joined(for_pods_, needs) : std::move(needs));
}

Draft::Ref Draft::Record(Action record) { return Add(Urgency::kRecord, std::move(record)); }

Draft::Ref Draft::CreateForPods(Action create) {
  for_pods_.push_back(Create(std::move(create)));
  return for_pods_.back();
}

Draft::Ref Draft::Resize(const ObservedPod& pod, kube::Json resources, std::string reason, Needs needs) {
  kube::Json container = {{"name", ToString(pod.role)}, {"resources", std::move(resources)}};
  kube::Json patch = {{"metadata", {{"uid", pod.uid}}},
                      {"spec", {{"containers", kube::Json::array({std::move(container)})}}}};
  return Add(Urgency::kCreation, ResizePod{pod.name, pod.uid, std::move(patch), std::move(reason)}, std::move(needs));
}

Draft::Ref Draft::Drain(const ObservedPod& pod, std::string reason, Needs needs) {
  return Add(Urgency::kDirective, SendDrain{pod.name, pod.uid, std::move(reason)}, std::move(needs));
}

Draft::Ref Draft::Direct(const ObservedPod& pod, std::string key, v1::Directive directive, std::string reason) {
  return Add(Urgency::kDirective,
             SendDirective{pod.name, pod.uid, std::move(key), std::move(directive), std::move(reason)});
}

Draft::Needs Draft::Release(const ObservedPod& pod, std::string reason) {
  if (!pod.held) return {};
  kube::Json patch = {{"metadata", {{"uid", pod.uid}, {"finalizers", pod.other_finalizers}}}};
  const auto held = holds_.find(pod.uid);
  return {Add(Urgency::kRemoval, PatchPod{pod.name, pod.uid, std::move(patch), std::move(reason)},
              held == holds_.end() ? Needs{} : held->second)};
}

Draft::Needs Draft::Remove(const ObservedPod& pod, std::optional<int64_t> grace_period_seconds, std::string reason) {
  // Deleted while still held, it would read as deleted from outside.
  Needs removal = Release(pod, reason);
  if (IsBeingDeleted(pod)) return removal;
  DeletePod deletion{pod.name, pod.uid, grace_period_seconds, std::move(reason)};
  if (!HasStarted(pod)) {
    deletion.resource_version = pod.resource_version;
    for (const Ref release : removal) {
      std::get<PatchPod>(entries_[release].step.action).patch["metadata"]["resourceVersion"] = pod.resource_version;
    }
  }
  const auto held = holds_.find(pod.uid);
  Needs needs = held == holds_.end() ? removal : Joined(removal, held->second);
  removal.push_back(Add(Urgency::kRemoval, std::move(deletion), std::move(needs)));
  return removal;
}

Draft::Needs Draft::Hasten(const ObservedPod& pod, int64_t grace_period_seconds, std::string reason) {
  return {Add(Urgency::kRemoval, DeletePod{pod.name, pod.uid, grace_period_seconds, std::move(reason)})};
}

Draft::Needs Draft::ForceDelete(const ObservedPod& pod, std::string reason) {
  return Hasten(pod, 0, std::move(reason));
}

void Draft::Normal(const char* event_reason, const char* action, std::string_view note, Needs needs) {
  Add(Urgency::kEvent, EmitEvent{false, event_reason, action, FitText(note, kPlannedNoteBytesMax)}, std::move(needs));
}

void Draft::Warn(const char* event_reason, const char* action, std::string_view note, Needs needs) {
  Add(Urgency::kEvent, EmitEvent{true, event_reason, action, FitText(note, kPlannedNoteBytesMax)}, std::move(needs));
}

Draft::Ref Draft::Status(api::TrainingJobStatus status, std::string reason) {
  return Add(Urgency::kStatus, WriteStatus{std::move(status), std::move(reason)});
}

Draft::Ref Draft::DeleteJob(std::string reason) { return Add(Urgency::kEnd, controller::DeleteJob{std::move(reason)}); }

void Draft::Requeue(Duration delay, std::string reason) {
  constexpr Duration kLeast = std::chrono::milliseconds(10);  // never a busy loop
  delay = std::max(delay, kLeast);
  if (!requeue_ || delay < requeue_->delay) requeue_ = RequeueAfter{delay, std::move(reason)};
}

std::vector<Step> Draft::Finish() && {
  // Nothing is more urgent than what it needs, so a stable order keeps each after its needs.
  std::vector<Ref> order(entries_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](Ref entry) { return entries_[entry].urgency; });
  std::vector<size_t> place(entries_.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;

  std::vector<Step> plan;
  for (const Ref entry : order) {
    Step& step = plan.emplace_back(std::move(entries_[entry].step));
    for (size_t& need : step.needs) need = place[need];
  }
  if (requeue_) plan.push_back({std::move(*requeue_), {}});
  return plan;
}

Draft::Needs Joined(Draft::Needs first, const Draft::Needs& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace attune::controller
