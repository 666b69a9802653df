#include "operator/controller/plan/directives.h"

#include <algorithm>

namespace attune::controller {

namespace {

// The job stands until it is carried out, and that takes no time.
bool IsUrgent(const v1::Directive& directive) {
  return directive.has_host_coordinator() || directive.has_confirm_leader();
}

}  // namespace

bool IsConnected(const Observed& observed, const ObservedPod& pod) {
  const auto& samples = observed.sample.pods;
  return std::ranges::any_of(samples, [&](const auto& sample) { return sample.pod == pod.name && sample.connected; });
}

const ObservedPod* CoordinatorPod(const Observed& observed) {
  const auto found = std::ranges::find_if(observed.pods, [&](const ObservedPod& pod) {
    return pod.role == RoleName::kServer && pod.job_uid == observed.job.uid &&
           pod.name == observed.job.status.coordinator;
  });
  return found == observed.pods.end() ? nullptr : &*found;
}

Duration Directives::RetryDelay(const v1::Directive& directive, uint32_t refusals) const {
  if (!IsUrgent(directive)) return options_.refused_retry;
  Duration delay = options_.appointment_retry;
  for (uint32_t i = 1; i < refusals && delay < options_.refused_retry; ++i) delay *= 2;
  return std::min(delay, options_.refused_retry);
}

Reply Directives::Ask(const ObservedPod& pod, const std::string& key, const v1::Directive& directive,
                      const std::string& reason) {
  using Outcome = telemetry::DirectiveAnswer::Outcome;
  const auto answer = observed_.sample.answers.find(key);
  const auto sent = observed_.sent.find(key);
  const bool any_answer = answer != observed_.sample.answers.end();
  const bool answered = any_answer && (sent == observed_.sent.end() || answer->second.at > sent->second);
  const Duration timeout = IsUrgent(directive) ? options_.prompt_timeout : options_.answer_timeout;
  Reply reply{Reply::State::kWaiting, ""};
  if (any_answer && answer->second.outcome == Outcome::kRefused) {
    reply = {Reply::State::kRefused, answer->second.message};  // stands until there is a newer one
  }
  if (answered && answer->second.outcome == Outcome::kDone) return {Reply::State::kDone, answer->second.message};
  if (answered && answer->second.outcome == Outcome::kRefused) {
    const Duration waited = now_.monotonic - answer->second.at;
    const Duration delay = RetryDelay(directive, answer->second.refusals);
    if (waited < delay) {
      draft_.Requeue(delay - waited, "asking again for " + key);
      return reply;
    }
  } else if (!answered && sent != observed_.sent.end()) {
    const Duration waited = now_.monotonic - sent->second;
    if (waited < timeout) {
      draft_.Requeue(timeout - waited, "answer to " + key);
      return reply;
    }
  }
  if (!IsAlive(pod) || !IsConnected(observed_, pod)) return {Reply::State::kUnreachable, ""};
  draft_.Direct(pod, key, directive, reason);
  draft_.Requeue(timeout, "answer to " + key);
  return reply;
}

Reply Directives::AskCoordinator(const std::string& key, const v1::Directive& directive, const std::string& reason) {
  const ObservedPod* coordinator = CoordinatorPod(observed_);
  if (coordinator == nullptr || window() == nullptr) return {};
  return Ask(*coordinator, KeyInTerm(key), directive, reason);
}

std::string Directives::KeyInTerm(const std::string& key) const {
  const int64_t term = observed_.job.status.coordinator_term;
  return term == 0 ? key : key + " in term " + std::to_string(term);
}

const v1::JobWindow* CurrentWindow(const Observed& observed) {
  const auto& window = observed.sample.job;
  const auto term = static_cast<uint64_t>(observed.job.status.coordinator_term);
  return window && window->term() >= term ? &*window : nullptr;
}

std::optional<v1::ServerState::State> StateOf(const v1::JobWindow& window, int32_t index) {
  for (const v1::ServerState& state : window.server_states()) {
    if (static_cast<int32_t>(state.index()) == index) return state.state();
  }
  if (window.server_states().empty() && index < static_cast<int32_t>(window.servers())) return v1::ServerState::SERVING;
  return std::nullopt;
}

uint32_t MemberCount(const v1::JobWindow& window) {
  if (window.server_states().empty()) return window.servers();
  return static_cast<uint32_t>(std::ranges::count_if(
      window.server_states(), [](const auto& state) { return state.state() != v1::ServerState::DRAINED; }));
}

bool IsMember(const v1::JobWindow& window, int32_t index) {
  const auto state = StateOf(window, index);
  return state && *state != v1::ServerState::DRAINED;
}

}  // namespace attune::controller
