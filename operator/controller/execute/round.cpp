#include "operator/controller/execute/round.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/plan.h"
#include "operator/controller/policies/namespace_ledger.h"
#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

// After this time a round makes no new calls: one that hangs delays the urgent acts of the next round no longer.
constexpr Duration kRoundMax = std::chrono::seconds(5);
constexpr Duration kReadAgainAfter = std::chrono::seconds(1);
constexpr Duration kMoreToDo = std::chrono::milliseconds(10);
constexpr size_t kFailureNoteBytesMax = 1000;  // the API's limit of an Event's note is 1 KiB

// No call to the API server.
bool IsImmediate(const Action& action) {
  return std::holds_alternative<EmitEvent>(action) || std::holds_alternative<SendDirective>(action) ||
         std::holds_alternative<SendDrain>(action);
}

// An Event about several acts says how many were done.
bool IsReady(Step& step, const std::vector<bool>& succeeded) {
  const auto done = std::ranges::count_if(step.needs, [&](size_t need) { return succeeded[need]; });
  const auto all = static_cast<std::ptrdiff_t>(step.needs.size());
  auto* event = std::get_if<EmitEvent>(&step.action);
  if (event == nullptr || done == all) return done == all;
  event->note += " (" + std::to_string(done) + " of " + std::to_string(all) + " steps done so far)";
  return done > 0;
}

}  // namespace

std::optional<Duration> Round::Run(MonotonicTime listening_since) {
  observation_.Gather(listening_since);
  Observed& observed = observation_.observed();
  const Now now{time_.Now(), time_.WallNow()};
  observed.checkpoint_since = memory_.checkpoints.Since(observed.job, now);
  tools_.tuners.Step(observed, memory_, tools_.options, now);
  std::vector<Step> plan = Plan(observed, tools_.options, now);
  if (EndsJob(plan)) {
    const Status read = observation_.ReadAgain();
    if (!read.ok())
      log::Warn("the end of a job waits for the API server", {{"job", key_.ToString()}, {"reason", read}});
    if (!read.ok()) return kReadAgainAfter;
    HoldMemory(observed.room, observed.job);
    plan = Plan(observed, tools_.options, now);
  }
  CarryOut(std::move(plan));
  ReportFailures();
  return requeue_;
}

// What fails, or has to wait, stops only what needs it.
void Round::CarryOut(std::vector<Step> plan) {
  const MonotonicTime end = time_.Now() + kRoundMax;
  Carrier carrier(tools_.sources.api, time_, tools_.service, tools_.events, observation_.observed().job, job_object_,
                  tools_.process, memory_.done);
  std::set<std::string> wanted;
  std::vector<bool> succeeded(plan.size(), false);
  for (size_t i = 0; i < plan.size(); ++i) {
    wanted.insert(Identity(plan[i].action));
    if (const auto* requeue = std::get_if<RequeueAfter>(&plan[i].action)) {
      LookAgainIn(requeue->delay);
    } else if (time_.Now() >= end && !IsImmediate(plan[i].action)) {
      LookAgainIn(kMoreToDo);  // the urgent ones of the next round come first again
    } else if (IsReady(plan[i], succeeded)) {
      succeeded[i] = Try(carrier, plan[i].action);
    } else {
      // It waits for another act, which has a time of its own, and no longer for its own next try.
      memory_.failures.OnSuccess(Identity(plan[i].action));
    }
  }
  memory_.failures.Keep(wanted);
  memory_.events.clear();
  if (const MonotonicTime next = memory_.failures.NextTry(); next != kNever) {
    LookAgainIn(next - time_.Now());
  }
  ++tools_.counts.plans;
}

bool Round::Try(Carrier& carrier, const Action& action) {
  const std::string identity = Identity(action), kind = KindOf(action);
  if (!memory_.failures.MayTry(kind, identity, time_.Now())) return false;
  log::Debug("action", {{"job", key_.ToString()}, {"action", Describe(action)}});
  const Status status = carrier.Carry(action);
  ++tools_.counts.actions;
  if (status.ok()) {
    memory_.failures.OnSuccess(identity);
    return true;
  }
  ++tools_.counts.failed_actions;
  const Duration delay = memory_.failures.OnFailure(kind, identity, status, time_.Now());
  // A lost race is ordinary: the next look decides again.
  const auto level = status.code() == StatusCode::kAborted ? log::Level::kDebug : log::Level::kWarn;
  log::Write(level, "action failed",
             {{"job", key_.ToString()}, {"action", identity}, {"error", status}, {"retry_seconds", Seconds(delay)}});
  return false;
}

// The condition follows with the next plan; the Event needs no status that can be written.
void Round::ReportFailures() {
  for (const BlockedAct& act : memory_.failures.TakeNews()) {
    tools_.events.Record(job_object_, {.type = kube::EventType::kWarning,
                                       .reason = act.reason,
                                       .action = "Reconcile",
                                       .note = FitText(act.message, kFailureNoteBytesMax)});
    LookAgainIn(kMoreToDo);
  }
}

void Round::LookAgainIn(Duration delay) {
  delay = std::max(delay, kMoreToDo);
  if (!requeue_ || delay < *requeue_) requeue_ = delay;
}

// An end is final.
bool Round::EndsJob(const std::vector<Step>& plan) const {
  return !HasEnded(observation_.observed().job.status) && std::ranges::any_of(plan, [](const Step& step) {
    const auto* write = std::get_if<WriteStatus>(&step.action);
    return write != nullptr && HasEnded(write->status);
  });
}

}  // namespace attune::controller
