#include "operator/controller/plan/resizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "operator/controller/actions/change_setting.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {
namespace {

constexpr char kIdentityPrefix[] = "ResizePod ";

// Texts about several pods, each with the pods that it is about and the acts that make it true.
class Findings {
 public:
  void Add(const std::string& text, const ObservedPod& pod, const Draft::Needs& needs = {}) {
    Entry& entry = entries_[text];
    entry.pods.push_back(pod.name);
    entry.needs = Joined(std::move(entry.needs), needs);
  }
  bool empty() const { return entries_.empty(); }

  // "a-worker-0, a-worker-1: cpu 1 -> 2"; of many pods the first few.
  template <class Call>
  void ForEach(Call call) const {
    for (const auto& [text, entry] : entries_) call(Names(entry.pods) + ": " + text, entry.needs);
  }
  void AppendTo(std::string& message) const {
    ForEach([&](const std::string& text, const Draft::Needs&) { message += (message.empty() ? "" : "; ") + text; });
  }

 private:
  struct Entry {
    std::vector<std::string> pods;
    Draft::Needs needs;
  };

  static std::string Names(const std::vector<std::string>& pods) {
    constexpr size_t kNamedMax = 3;
    std::string names;
    for (size_t i = 0; i < std::min(pods.size(), kNamedMax); ++i) names += (i == 0 ? "" : ", ") + pods[i];
    if (pods.size() > kNamedMax) names += " and " + std::to_string(pods.size() - kNamedMax) + " more";
    return names;
  }

  std::map<std::string, Entry> entries_;
};

// The figures that a resize is about.
Amounts Changed(const ContainerFigures& wanted, const ContainerFigures& asked) {
  Amounts changed = ShownOf(wanted);
  if (wanted.cpu == asked.cpu) changed.cpu.reset();
  if (wanted.memory == asked.memory) changed.memory.reset();
  return changed;
}

// What one resize after another has made of those that the pod had first.
Amounts Combined(Amounts earlier, const Amounts& later) {
  if (later.cpu) earlier.cpu = later.cpu;
  if (later.memory) earlier.memory = later.memory;
  return earlier;
}

class ResizePlanner {
 public:
  ResizePlanner(const Observed& observed, const PlanOptions& options, Now now, Draft& draft)
      : observed_(observed),
        options_(options),
        now_(now),
        draft_(draft),
        blocked_for_all_(BlockedForAllPods(observed)) {}

  void Plan(const ObservedPod& pod) {
    const ContainerFigures wanted = WantedFor(pod);
    if (wanted == pod.resize.asked) {
      Follow(pod);
    } else {
      Ask(pod, wanted);
    }
  }

  ResizesView Report() {
    SendEvents();
    ResizesView view;
    const std::pair<const Findings*, const char*> by_need[] = {{&in_progress_, kReasonResizing},
                                                               {&infeasible_, kReasonResizeInfeasible},
                                                               {&deferred_, kReasonResizeDeferred},
                                                               {&refused_, kReasonResizeRefused},
                                                               {&not_supported_, kReasonResizeNotSupported}};
    for (const auto& [findings, reason] : by_need) {
      if (findings->empty()) continue;
      if (view.reason.empty()) view.reason = reason;
      findings->AppendTo(view.message);
    }
    if (blocked_for_all_ != nullptr) {
      if (view.reason.empty()) view.reason = kReasonResizeNotSupported;
      view.message += (view.message.empty() ? "" : "; ") + blocked_for_all_->message +
                      ". Pods that are made from now on have the figures of the spec";
    }
    view.under_way = !in_progress_.empty();
    return view;
  }

 private:
  ContainerFigures WantedFor(const ObservedPod& pod) {
    const api::RoleResources spec = ResourcesOf(observed_, pod.role);
    const ContainerFigures stated = StatedFigures(observed_.job, pod.role);
    const PodResize& now = pod.resize;
    ContainerFigures wanted{
        .cpu = FiguresOfLivePod(stated.cpu, spec.cpu.target, now.asked.cpu, now.record.to.cpu.has_value()),
        .memory =
            FiguresOfLivePod(stated.memory, spec.memory.target, now.asked.memory, now.record.to.memory.has_value())};
    const auto report_unstated = [&](const ResourceFigures& asked, std::optional<int64_t> target,
                                     const std::string& text) {
      if (asked.any() || !target) return;
      not_supported_.Add("its container was made without figures of " + text + "; its successor has those of spec." +
                             ToString(pod.role) + "s.resources",
                         pod);
    };
    report_unstated(now.asked.cpu, spec.cpu.target, "cpu and cannot be given any while it runs");
    report_unstated(now.asked.memory, spec.memory.target, "memory and cannot be given any while it runs");
    if (wanted.memory != now.asked.memory && IsBelowUse(pod, wanted.memory)) {
      refused_.Add("memory " + MemoryText(*wanted.memory.limit) +
                       " is less than what its process uses now and a tenth, or than what is known of it; it keeps " +
                       "memory " + MemoryText(*now.asked.memory.limit),
                   pod);
      wanted.memory = now.asked.memory;
    }
    return wanted;
  }

  // A limit that is lowered ends the process if it needs more. What it uses must be known.
  bool IsBelowUse(const ObservedPod& pod, const ResourceFigures& wanted) const {
    constexpr double kMargin = 1.1;
    const ResourceFigures& asked = pod.resize.asked.memory;
    if (!wanted.limit || !asked.limit) return false;
    const std::optional<int64_t> actual = pod.resize.actual ? pod.resize.actual->memory.limit : std::nullopt;
    if (*wanted.limit >= actual.value_or(*asked.limit)) return false;
    const telemetry::PodSample* sample = SampleOf(observed_, pod);
    const bool known = sample != nullptr && sample->usage.memory_bytes() > 0 &&
                       now_.monotonic - sample->reported_at < options_.metrics_stale_after;
    return !known || static_cast<double>(*wanted.limit) < kMargin * static_cast<double>(sample->usage.memory_bytes());
  }

  // What is asked for is on the pod first.
  void Ask(const ObservedPod& pod, const ContainerFigures& wanted) {
    const PodResize& now = pod.resize;
    const Amounts changed = Changed(wanted, now.asked);
    const Amounts to = Combined(now.record.to, changed);
    const BlockedAct* blocked = BlockedResizeOf(pod);
    if (blocked_for_all_ != nullptr) {
      if (blocked != blocked_for_all_) return;
    } else if (blocked != nullptr && blocked->reason != kReasonApiAway) {
      refused_.Add(blocked->message, pod);
    } else {
      in_progress_.Add("to be resized to " + Describe(changed), pod);
    }
    Draft::Needs marked;
    if (now.record.to != to || now.record.done) {
      const Amounts had = ShownOf(now.actual.value_or(now.asked));
      const bool continues = now.record.any() && !now.record.done;  // from where the one before began
      marked.push_back(
          Mark(pod, {.from = continues ? Combined(had, now.record.from) : had, .to = to}, "it is resized"));
    }
    draft_.Resize(pod, ResourcesPatch(wanted, now.asked), Describe(changed) + " is wanted", std::move(marked));
  }

  // It is asked for; what the kubelet makes of it.
  void Follow(const ObservedPod& pod) {
    const PodResize& now = pod.resize;
    if (!now.record.any() || now.record.done) return;
    const std::string size = Describe(now.record.to);
    ResizeRecord record = now.record;
    switch (now.state) {
      case ResizeState::kDeferred: {
        const std::string text = "the machine has no room for " + size + " now: " + now.message;
        deferred_.Add(text, pod);
        if (std::exchange(record.reported_deferred, true)) return;
        return newly_deferred_.Add(text, pod, {Mark(pod, record, "its resize waits for room")});
      }
      case ResizeState::kInfeasible: {
        const std::string text = size + " does not fit on its machine: " + now.message;
        infeasible_.Add(text, pod);
        if (std::exchange(record.reported_infeasible, true)) return;
        return newly_infeasible_.Add(text, pod, {Mark(pod, record, "its resize does not fit")});
      }
      case ResizeState::kError:
        return in_progress_.Add("the resize to " + size + " has not succeeded so far: " + now.message, pod);
      case ResizeState::kNone:
      case ResizeState::kInProgress:
        break;
    }
    if (!IsSettled(now)) return in_progress_.Add("being resized to " + size, pod);
    record.done = true;
    done_.Add(DescribeChange(record.from, record.to), pod, {Mark(pod, record, "it was resized")});
  }

  void SendEvents() {
    done_.ForEach([&](const std::string& text, const Draft::Needs& needs) {
      draft_.Normal(kEventPodResized, "ResizePod", text, needs);
    });
    newly_deferred_.ForEach([&](const std::string& text, const Draft::Needs& needs) {
      draft_.Warn(kEventResizeDeferred, "ResizePod", text, needs);
    });
    newly_infeasible_.ForEach([&](const std::string& text, const Draft::Needs& needs) {
      draft_.Warn(kEventResizeInfeasible, "ResizePod", text, needs);
    });
  }

  Draft::Ref Mark(const ObservedPod& pod, const ResizeRecord& record, const char* reason) {
    return draft_.Mark(pod, {{kAnnotationResize, ToText(record)}}, reason);
  }

  const BlockedAct* BlockedResizeOf(const ObservedPod& pod) const {
    const auto found = std::ranges::find(observed_.blocked, kIdentityPrefix + pod.name, &BlockedAct::identity);
    return found == observed_.blocked.end() ? nullptr : &*found;
  }

  const Observed& observed_;
  const PlanOptions& options_;
  const Now now_;
  Draft& draft_;
  const BlockedAct* const blocked_for_all_;                                 // null: nothing is
  Findings in_progress_, infeasible_, deferred_, refused_, not_supported_;  // the state of things
  Findings done_, newly_deferred_, newly_infeasible_;                       // news
};

bool RanOutOfMemory(const Observed& observed, const ObservedPod& pod) {
  const bool ours = IsServerOf(observed, pod) || IsWorkerOf(observed, pod);
  return ours && HasFailed(pod) && pod.container.reason == "OOMKilled" && !WasDisrupted(pod) && !IsBeingDeleted(pod) &&
         !pod.drain_deadline && !pod.draining_since;
}

// What a role is to be raised to, and what is said of it.
struct Raise {
  int64_t to = 0;
  std::string why;     // of the act
  std::string report;  // of the Event, up to the new limit
};

// The dead pod whose successor needs most.
Raise RaiseAfterKills(const Observed& observed, RoleName role) {
  Raise raise;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.role != role || !RanOutOfMemory(observed, pod)) continue;
    const std::optional<int64_t> raised = RaisedMemory(observed.job, pod);
    if (!raised || *raised <= raise.to) continue;
    raise = {*raised, pod.name + " ran out of memory",
             pod.name + " ran out of memory with a limit of " + MemoryText(*MemoryLimitOf(pod))};
  }
  return raise;
}

// A dead pod is gone, and the spec does not have yet what its role needs.
Raise RaiseOfNeed(const Observed& observed, RoleName role) {
  const auto need = observed.memory_needs.find(role);
  if (need == observed.memory_needs.end()) return {};
  return {need->second, "a pod of its role ran out of memory",
          std::string("a ") + ToString(role) + " ran out of memory"};
}

std::string AlarmText(const MemoryAlarm& alarm) {
  const PodMemory& memory = alarm.memory;
  std::string text = memory.pod + " uses " + UseText(static_cast<double>(memory.used)) + " of " +
                     MemoryText(memory.limit) + " of memory";
  if (alarm.by_jumps) {
    text += " and grows in jumps, the next of which";
  } else if (alarm.bytes_per_second > 0) {
    text += ", " + UseText(alarm.bytes_per_second) + " more each second, and";
  }
  if (alarm.seconds <= 0) return text + (alarm.by_jumps ? " may come any time and reaches the limit" : "");
  return text + " reaches the limit in about " + std::to_string(std::llround(alarm.seconds)) + " s";
}

// The pod that runs and grows towards its limit.
Raise RaiseOfAlarms(const Observed& observed, RoleName role) {
  Raise raise;
  if (!observed.tuning) return raise;
  for (const MemoryAlarm& alarm : observed.tuning->raise_memory) {
    for (const ObservedPod& pod : observed.pods) {
      const bool is_it = pod.role == role && pod.name == alarm.memory.pod && pod.uid == alarm.memory.uid;
      if (!is_it || !IsAlive(pod) || pod.drain_deadline || pod.draining_since) continue;
      // Of a limit that the pod does not have any more.
      if (MemoryLimitOf(pod).value_or(0) > alarm.memory.limit + alarm.memory.limit / 100) continue;
      const std::optional<int64_t> raised = RaisedMemory(observed.job, pod);
      if (!raised || *raised <= raise.to) continue;
      raise = {*raised, pod.name + " reaches its limit of memory", AlarmText(alarm)};
    }
  }
  return raise;
}

bool IsHeldForRaise(const ObservedPod& pod, Now now) {
  if (!pod.container.finished_at) return false;
  const Duration since = now.wall - *pod.container.finished_at;  // of another machine's clock
  return since > -kHoldMax && since < kHoldMax;
}

kube::Json MemoryPatch(RoleName role, const std::string& size) {
  kube::Json spec;
  spec[std::string(ToString(role)) + "s"]["resources"]["memory"]["target"] = size;
  return spec;
}

// As the tuner wants it, within the bounds of now. A user who has chosen another since is left alone.
void PlanMemoryTarget(const Observed& observed, RoleName role, Draft& draft) {
  if (!observed.tuning) return;
  const api::ResourceTarget& memory = RoleOf(observed.job, role).resources.memory;
  for (const MemoryTarget& wanted : observed.tuning->memory_targets) {
    if (wanted.role != role || !memory.min || !memory.max || memory.target == wanted.bytes) continue;
    if (wanted.bytes < *memory.min || wanted.bytes > *memory.max) continue;
    const std::string roles = std::string(ToString(role)) + "s", size = MemoryText(wanted.bytes);
    ChangeSetting(observed, MemoryPatch(role, size), roles + " are to have " + size + " of memory",
                  /*if_unchanged=*/true, draft);
  }
}

}  // namespace

const BlockedAct* BlockedForAllPods(const Observed& observed) {
  const auto found = std::ranges::find_if(observed.blocked, [&](const BlockedAct& act) {
    return (act.reason == kReasonResizeNotSupported || act.reason == kReasonForbidden) &&
           std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
             return IsAlive(pod) && act.identity == kIdentityPrefix + pod.name;
           });
  });
  return found == observed.blocked.end() ? nullptr : &*found;
}

ResizesView PlanResizes(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                        const PlanOptions& options, Now now, Draft& draft) {
  if (servers.goal_reached || servers.closed || servers.finished > 0) return {};
  ResizePlanner planner(observed, options, now, draft);
  for (const auto* pods : {&servers.by_index, &workers.by_index}) {
    for (const ObservedPod* pod : *pods) {
      const bool stays = pod != nullptr && IsAlive(*pod) && !pod->drain_deadline && !pod->draining_since;
      if (stays) planner.Plan(*pod);
    }
  }
  return planner.Report();
}

std::map<RoleName, int64_t> MemoryNeeds(const Observed& observed, const std::map<RoleName, int64_t>& before) {
  std::map<RoleName, int64_t> needs;
  for (const RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    const auto known = before.find(role);
    const int64_t need = std::max(known == before.end() ? 0 : known->second, RaiseAfterKills(observed, role).to);
    const api::ResourceTarget& memory = RoleOf(observed.job, role).resources.memory;
    const std::optional<int64_t> given = memory.target ? memory.target : StatedFigures(observed.job, role).memory.limit;
    const bool is_given = given && *given >= std::min(need, memory.max.value_or(0));
    if (need > 0 && memory.max && !is_given) needs[role] = std::min(need, *memory.max);
  }
  return needs;
}

void PlanMemoryRaise(const Observed& observed, Now now, Draft& draft) {
  for (const RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    Raise raise = RaiseAfterKills(observed, role);
    for (Raise& other : std::array{RaiseOfNeed(observed, role), RaiseOfAlarms(observed, role)}) {
      if (other.to > raise.to) raise = std::move(other);
    }
    if (raise.to == 0) {
      PlanMemoryTarget(observed, role, draft);
      continue;
    }
    const std::string roles = std::string(ToString(role)) + "s", size = MemoryText(raise.to);
    const Draft::Ref changed =
        ChangeSetting(observed, MemoryPatch(role, size), std::move(raise.why), /*if_unchanged=*/false, draft);
    draft.Normal(kEventMemoryRaised, "RaiseMemory",
                 raise.report + "; " + roles + " have " + size + " from now on (spec." + roles +
                     ".resources.memory.target, at most " +
                     MemoryText(*RoleOf(observed.job, role).resources.memory.max) + ")",
                 {changed});
    for (const ObservedPod& pod : observed.pods) {
      if (pod.role != role || !RanOutOfMemory(observed, pod) || !IsHeldForRaise(pod, now)) continue;
      draft.HoldRemoval(pod, changed);
      draft.Requeue(std::chrono::seconds(1), "the raise of memory");
    }
  }
}

}  // namespace attune::controller
