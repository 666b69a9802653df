#include "operator/controller/plan/requests/row_trace.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

constexpr Duration kKept = std::chrono::minutes(5);          // in the status
constexpr Duration kAnswerTakes = std::chrono::seconds(10);  // at most, once the time is over
constexpr size_t kBytesMax = 256 << 10;                      // of all lines

std::vector<const ObservedPod*> ProcessesOf(const Observed& observed) {
  std::vector<const ObservedPod*> pods;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.job_uid == observed.job.uid && IsAlive(pod)) pods.push_back(&pod);
  }
  std::ranges::stable_sort(pods, [](const ObservedPod* a, const ObservedPod* b) {
    return a->role == RoleName::kServer && b->role != RoleName::kServer;
  });
  return pods;
}

// Asks one process. nullopt: its answer is still to come, by `draft`'s next look.
std::optional<api::PodRowTrace> Ask(const Observed& observed, const ObservedPod& pod, const std::string& request,
                                    const v1::Directive& directive, Now now, Directives& directives, Draft& draft) {
  const std::string key = "row trace of " + request + " for " + pod.uid;
  const Reply reply = directives.Ask(pod, key, directive, "a row of the job is looked at");
  api::PodRowTrace trace{.pod = pod.name, .message = {}, .events = {}};
  switch (reply.state) {
    case Reply::State::kDone: {
      const auto answer = observed.sample.answers.find(key);
      if (answer != observed.sample.answers.end()) trace.events = answer->second.lines;
      return trace;
    }
    case Reply::State::kRefused:
      trace.message = FitText(reply.message, 1024);
      return trace;
    case Reply::State::kUnreachable:
      trace.message = "its sidecar is away, so it cannot be asked";
      return trace;
    case Reply::State::kWaiting:
      break;
  }
  const auto sent = observed.sent.find(key);
  if (sent == observed.sent.end()) return std::nullopt;  // is sent by this plan
  const std::chrono::duration<double> looked_at(directive.trace_row().seconds());
  const Duration timeout = std::chrono::duration_cast<Duration>(looked_at) + kAnswerTakes;
  const Duration waited = now.monotonic - sent->second;
  if (waited < timeout) {
    draft.Requeue(timeout - waited, "what happens to a row");
    return std::nullopt;
  }
  trace.message = "it has not answered in time";
  return trace;
}

// As much as the status has room for.
void Add(api::PodRowTrace trace, size_t& bytes, std::vector<api::PodRowTrace>& pods) {
  size_t more = 0;
  for (const std::string& event : trace.events) more += event.size();
  if (bytes + more > kBytesMax) {
    trace.events.clear();
    trace.message = "left out: the status has no room for more";
  } else {
    bytes += more;
  }
  pods.push_back(std::move(trace));
}

// Nothing is left of an old answer but that the request has been answered.
std::optional<api::RowTraceStatus> Forget(const api::RowTraceStatus& answered, Now now, Draft& draft) {
  if (answered.pods.empty()) return std::nullopt;
  const auto at = ParseRfc3339(answered.time);
  const Duration age = at ? std::max<Duration>(now.wall - *at, Duration::zero()) : kKept;
  if (age < kKept) {
    draft.Requeue(kKept - age, "an old row trace");
    return std::nullopt;
  }
  api::RowTraceStatus rest = answered;
  rest.pods.clear();
  rest.message = "what was seen is not kept";
  return rest;
}

}  // namespace

std::optional<api::RowTraceStatus> PlanRowTrace(const Observed& observed, Now now, Directives& directives,
                                                Draft& draft) {
  const std::string& request = observed.job.row_trace_request;
  const auto& known = observed.job.status.row_trace;
  if (known && (request.empty() || known->request == request)) return Forget(*known, now, draft);
  if (request.empty()) return std::nullopt;
  api::RowTraceStatus status{.request = request, .time = ToRfc3339(now.wall), .message = {}, .pods = {}};
  const StatusOr<api::RowTraceRequest> asked = api::ParseRowTraceRequest(request);
  if (!asked.ok()) {
    status.message = Message(asked.status());
    return status;
  }
  v1::Directive directive;
  directive.mutable_trace_row()->set_table(asked->table);
  directive.mutable_trace_row()->set_key(asked->key);
  directive.mutable_trace_row()->set_seconds(asked->seconds);
  std::vector<const ObservedPod*> pods = ProcessesOf(observed);
  if (pods.size() > api::RowTraceStatus::kPodsMax) {
    status.message = Counted(static_cast<int64_t>(pods.size() - api::RowTraceStatus::kPodsMax), "process") +
                     " more of the job were not asked";
    pods.resize(api::RowTraceStatus::kPodsMax);
  }
  bool waits = false;
  size_t bytes = 0;
  for (const ObservedPod* pod : pods) {
    auto trace = Ask(observed, *pod, request, directive, now, directives, draft);
    waits = waits || !trace;
    if (trace) Add(*std::move(trace), bytes, status.pods);
  }
  if (waits) return std::nullopt;
  return status;
}

}  // namespace attune::controller
