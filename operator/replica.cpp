#include "operator/replica.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/log.h"
#include "base/os/random_seed.h"
#include "operator/leadership/leader_label.h"
#include "operator/leadership/metrics.h"

namespace attune {
namespace {

using leadership::Election;

constexpr Duration kLook = std::chrono::hours(1);

// What a wait may cure: the API server is away, the kind is not installed yet, rights are granted a moment later.
bool IsWorthWaiting(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

HttpPage PageOf(const std::string& problem) {
  return {.code = problem.empty() ? 200 : 503, .body = problem.empty() ? "ok\n" : problem + "\n"};
}

// Another one for each process: the one before in the same pod may have sent what arrives later.
std::string DrawIdentity(const std::string& pod) {
  return (pod.empty() ? "attune-operator" : pod) + absl::StrFormat("_%016x", RandomSeed());
}

}  // namespace

Replica::Replica(const controller::OperatorOptions& options, const LeaderElection& election, StopRequest& stop)
    : options_(options), election_(election), stop_(stop) {
  if (election_.enabled) options_.may_direct = [this] { return fence_.IsOpen(); };
}

Status Replica::Run(kube::Api& api, kube::Api& api_of_lease) {
  Status ended = election_.enabled ? RunElected(api, api_of_lease) : RunAlone(api);
  End();
  return ended;
}

// Null when it was asked to stop before.
StatusOr<std::unique_ptr<controller::Operator>> Replica::Start(kube::Api& api) {
  constexpr Duration kTryAgain = std::chrono::seconds(3);
  while (true) {
    auto started = controller::Operator::Start(options_, api, time_);
    if (started.ok() || !IsWorthWaiting(started.status())) return started;
    log::Warn("waiting to start", {{"reason", started.status()}, {"retry_seconds", Seconds(kTryAgain)}});
    if (stop_.Wait(kTryAgain)) return nullptr;
  }
}

Status Replica::RunAlone(kube::Api& api) {
  ASSIGN_OR_RETURN(std::unique_ptr<controller::Operator> started, Start(api));
  if (started == nullptr) return OkStatus();
  controller::Operator& only = *started;
  Set(std::move(started));
  RETURN_IF_ERROR(only.Lead());
  leads_ = true;
  log::Info("operator runs", {{"telemetry", only.telemetry_address()}});
  while (!stop_.Wait(kLook)) {
  }
  return OkStatus();
}

Status Replica::RunElected(kube::Api& api, kube::Api& api_of_lease) {
  constexpr Duration kResignAtMost = std::chrono::seconds(3), kLookAtCaches = std::chrono::milliseconds(100);
  {
    const MutexLock lock(mutex_);
    fenced_.emplace(api, fence_, election_.lease.ToString());
  }
  ASSIGN_OR_RETURN(std::unique_ptr<controller::Operator> started, Start(*fenced_));
  if (started == nullptr) return OkStatus();
  Set(std::move(started));
  // A replica that knows nothing yet leaves the Lease to one that does.
  while (!NotReady().empty()) {
    if (stop_.Wait(kLookAtCaches)) return OkStatus();
  }
  const leadership::ElectionOptions options{.identity = DrawIdentity(election_.pod),
                                            .lease = std::chrono::seconds(election_.lease_seconds)};
  log::Info("stands by", {{"lease", election_.lease.ToString()}, {"identity", options.identity}});
  {
    const MutexLock lock(mutex_);
    elector_.emplace(options, election_.lease, api_of_lease, lease_time_, fence_,
                     [this](Election::State state) { OnElection(state); });
  }
  Status led = Lead();
  End();  // what is in progress is finished while the Lease is still renewed
  leadership::Elector* elector = nullptr;
  {
    const MutexLock lock(mutex_);
    elector = &*elector_;  // only this thread makes and ends it
  }
  if (!elector->Resign(kResignAtMost) && leads_) {
    log::Warn("the Lease was not given back; another replica waits until it has run out",
              {{"lease", election_.lease.ToString()}});
  }
  const MutexLock lock(mutex_);
  elector_.reset();
  return led;
}

// Until it is asked to stop, from before it leads on.
Status Replica::Lead() {
  constexpr Duration kLookAtLabel = std::chrono::seconds(30), kClaimAgain = std::chrono::seconds(2);
  while (!leads_) {
    if (stop_.Wait(kLook)) return OkStatus();
  }
  controller::Operator* leader = nullptr;
  {
    const MutexLock lock(mutex_);
    leader = operator_.get();  // only this thread makes and ends it
  }
  RETURN_IF_ERROR(leader->Lead());
  log::Info("operator leads", {{"lease", election_.lease.ToString()}, {"telemetry", leader->telemetry_address()}});
  leadership::LeaderLabel label(*fenced_, {election_.lease.name_space, election_.pod}, election_.lease.name);
  bool reported = false;
  while (true) {
    const Status claimed = election_.pod.empty() ? OkStatus() : label.Claim();
    if (!claimed.ok() && !std::exchange(reported, true)) {
      log::Warn("sidecars may not find this leader: its pod is not labelled yet", {{"reason", claimed}});
    }
    if (claimed.ok()) reported = false;
    if (stop_.Wait(claimed.ok() ? kLookAtLabel : kClaimAgain)) return OkStatus();
  }
}

// In the elector's thread.
void Replica::OnElection(Election::State state) {
  if (state == Election::State::kHolding) {
    log::Info("there was no Lease: this replica holds it for its time before it acts",
              {{"lease", election_.lease.ToString()}});
  }
  if (state == Election::State::kLeading) {
    leads_ = true;
    stop_.Wake();
  }
  if (state != Election::State::kLost) return;
  // At once, and without ending anything in order: every write is refused already, and a thread that hangs must not
  // keep a process alive that takes no part any more.
  log::Error("the Lease is lost: this process ends, to begin again as a standby",
             {{"lease", election_.lease.ToString()}});
  std::_Exit(EXIT_FAILURE);
}

void Replica::Set(std::unique_ptr<controller::Operator> started) {
  const MutexLock lock(mutex_);
  operator_ = std::move(started);
}

void Replica::End() {
  std::unique_ptr<controller::Operator> ended;
  {
    const MutexLock lock(mutex_);
    ended = std::move(operator_);
  }
  if (ended != nullptr) log::Info("stopping");
}

std::string Replica::NotReady() const {
  const MutexLock lock(mutex_);
  return operator_ == nullptr ? "starting: the API server has not answered yet" : operator_->NotReady();
}

HttpPage Replica::Healthy() const {
  const MutexLock lock(mutex_);
  std::string stuck = operator_ == nullptr ? "" : operator_->Stuck();
  if (stuck.empty() && elector_) stuck = elector_->Stuck();
  return PageOf(stuck);
}

HttpPage Replica::Ready() const { return PageOf(NotReady()); }

HttpPage Replica::Metrics() const {
  const MutexLock lock(mutex_);
  leadership::CandidateView view;
  view.leads = !election_.enabled && leads_;
  if (elector_) view = elector_->View();
  const uint64_t refused = fenced_ ? fenced_->refused() : 0;
  return {.code = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = operator_ ? operator_->MetricsText() + leadership::MetricsText(view, refused) : ""};
}

}  // namespace attune
