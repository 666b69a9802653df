#include "operator/controller/observe/act_failures.h"

#include <algorithm>
#include <utility>

#include "operator/controller/observe/names.h"
#include "operator/controller/observe/text.h"
#include "operator/kube/client/api_error.h"
#include "operator/kube/watch/work_queue.h"

namespace attune::controller {
namespace {

constexpr char kNameTakenUrl[] = "attune.dev/name-taken";
constexpr size_t kFailureWhyBytesMax = 600;
constexpr kube::BackoffOptions kBackoff{.first = ActFailures::kFirstDelay, .max = ActFailures::kDelayMax};

bool OftenPassesByItself(const Status& status) {
  switch (status.code()) {
    case StatusCode::kAborted:
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

struct Advice {
  const char* reason;
  const char* what_to_do;
  bool of_kind = false;  // the same for all acts of this kind, whatever they are about
};

Advice AdviceFor(const Status& status) {
  const std::string_view text = Message(status);
  if (status.GetPayload(kNameTakenUrl)) return {kReasonNameTaken, "delete it, or give the job another name"};
  if (text.find("exceeded quota") != std::string_view::npos) {
    return {kReasonQuota, "raise the namespace's ResourceQuota, or lower the job's replicas or requests"};
  }
  if (status.code() == StatusCode::kUnimplemented) {
    return {kReasonResizeNotSupported, "update the cluster", true};
  }
  if (OftenPassesByItself(status)) return {kReasonApiAway, "check that the API server is well"};
  if (status.code() == StatusCode::kUnauthenticated) {
    return {kReasonForbidden, "check the token of the operator's service account"};
  }
  // Kubernetes' authorizer names the user; admission does not.
  if (status.code() == StatusCode::kPermissionDenied && text.find("cannot ") != std::string_view::npos) {
    return {kReasonForbidden, "give the operator's service account this right (chart value rbac.create)", true};
  }
  return {kReasonRefused, "change the job's template, or the policy that refuses it"};
}

}  // namespace

bool IsAboutTuningRecord(const BlockedAct& act) {
  return act.identity.starts_with(kActOpenTuningRecord) || act.identity.starts_with(kActWriteTuningRecord);
}

bool IsAboutTuner(const BlockedAct& act) {
  return IsAboutTuningRecord(act) || act.identity.starts_with(kActKeepTuningHistory);
}

bool ActFailures::MayTry(const std::string& kind, const std::string& identity, MonotonicTime now) const {
  const auto paused = kinds_.find(kind);
  if (paused != kinds_.end() && now < paused->second.paused_until) return false;
  const auto failed = failed_.find(identity);
  return failed == failed_.end() || now >= failed->second.next_try;
}

Duration ActFailures::OnFailure(const std::string& kind, const std::string& identity, const Status& status,
                                MonotonicTime now) {
  Entry& entry = failed_[identity];
  entry.kind = kind;
  ++entry.failures;
  const Duration delay = std::max(kube::BackoffDelay(kBackoff, entry.failures, random_.Uniform()),
                                  kube::RetryAfter(status).value_or(Duration::zero()));
  entry.next_try = now + delay;
  const Advice advice = AdviceFor(status);
  const bool known = entry.blocked && entry.blocked->reason == advice.reason;
  if (!known && (!OftenPassesByItself(status) || entry.failures >= kLasting)) {
    entry.blocked =
        BlockedAct{identity, advice.reason, FitText(Message(status), kFailureWhyBytesMax) + ": " + advice.what_to_do};
    entry.reported = advice.of_kind && std::ranges::any_of(failed_, [&](const auto& other) {
                       const Entry& known_one = other.second;
                       return &known_one != &entry && known_one.kind == kind && known_one.blocked &&
                              known_one.blocked->reason == advice.reason;
                     });
  }
  Kind& together = kinds_[kind];
  if (now - together.since >= kPause) together = {.failures = 0, .since = now, .paused_until = {}};
  if (++together.failures >= kFailuresUntilPause) together.paused_until = now + kPause;
  return delay;
}

void ActFailures::Keep(const std::set<std::string>& identities) {
  std::erase_if(failed_, [&](const auto& entry) { return !identities.contains(entry.first); });
  std::erase_if(kinds_, [&](const auto& kind) {
    return std::ranges::none_of(failed_, [&](const auto& entry) { return entry.second.kind == kind.first; });
  });
}

std::vector<BlockedAct> ActFailures::Blocked() const {
  std::vector<BlockedAct> blocked;
  for (const auto& [identity, entry] : failed_) {
    if (entry.blocked) blocked.push_back(*entry.blocked);
  }
  return blocked;
}

std::vector<BlockedAct> ActFailures::TakeNews() {
  std::vector<BlockedAct> news;
  for (auto& [identity, entry] : failed_) {
    if (!entry.blocked || std::exchange(entry.reported, true)) continue;
    news.push_back(*entry.blocked);
  }
  return news;
}

MonotonicTime ActFailures::NextTry() const {
  MonotonicTime next = kNever;
  for (const auto& [identity, entry] : failed_) {
    const auto kind = kinds_.find(entry.kind);
    const MonotonicTime paused = kind == kinds_.end() ? MonotonicTime{} : kind->second.paused_until;
    next = std::min(next, std::max(entry.next_try, paused));
  }
  return next;
}

Status NameTaken(const std::string& text) {
  Status status = Error(StatusCode::kAlreadyExists, text);
  status.SetPayload(kNameTakenUrl, absl::Cord("1"));
  return status;
}

}  // namespace attune::controller
