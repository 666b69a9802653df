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

std::string KeyBegin(const std::string& request) { return "row trace of " + request + " for "; }

// What is left of the time for the request, since the first process was asked: one that has come since gets no more.
// nullopt: none has been asked.
std::optional<Duration> TimeLeft(const Observed& observed, const std::string& request, double seconds, Now now) {
  std::optional<MonotonicTime> first;
  const std::string begin = KeyBegin(request);
  for (auto sent = observed.sent.lower_bound(begin); sent != observed.sent.end(); ++sent) {
    if (!sent->first.starts_with(begin)) break;
    first = std::min(first.value_or(sent->second), sent->second);
  }
  if (!first) return std::nullopt;
  return *first + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)) + kAnswerTakes -
         now.monotonic;
}

// Asks one process, once. nullopt: its answer is still to come.
std::optional<api::PodRowTrace> Ask(const Observed& observed, const ObservedPod& pod, const std::string& request,
                                    const v1::Directive& directive, Directives& directives) {
  using Outcome = telemetry::DirectiveAnswer::Outcome;
  const std::string key = KeyBegin(request) + pod.uid;
  api::PodRowTrace trace{.pod = pod.name, .message = {}, .events = {}};
  const auto answer = observed.sample.answers.find(key);
  if (answer == observed.sample.answers.end()) {
    const Reply reply = directives.Ask(pod, key, directive, "a row of the job is looked at");
    if (reply.state != Reply::State::kUnreachable) return std::nullopt;
    trace.message = "its sidecar is away, so it cannot be asked";
  } else if (answer->second.outcome == Outcome::kDone) {
    trace.events = answer->second.lines;
  } else if (answer->second.outcome == Outcome::kRefused) {
    trace.message = FitText(answer->second.message, 1024);
  } else {
    trace.message = "its connection ended before it had answered";
  }
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
  const std::optional<Duration> left = TimeLeft(observed, request, asked->seconds, now);
  const bool is_over = left && *left <= Duration::zero();
  bool waits = false;
  size_t bytes = 0;
  for (const ObservedPod* pod : pods) {
    auto trace = Ask(observed, *pod, request, directive, directives);
    if (!trace && is_over) trace = api::PodRowTrace{.pod = pod->name, .message = "it has not answered in time"};
    waits = waits || !trace;
    if (trace) Add(*std::move(trace), bytes, status.pods);
  }
  if (!waits) return status;
  if (left) draft.Requeue(*left, "what happens to a row");
  return std::nullopt;
}

}  // namespace attune::controller
