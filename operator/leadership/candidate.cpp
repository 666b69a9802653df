#include "operator/leadership/candidate.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/log.h"
#include "operator/kube/events.h"

namespace attune::leadership {
namespace {

using kube::Json;

StatusOr<std::optional<LeaseRecord>> ToRecord(const StatusOr<Json>& read) {
  if (read.ok()) return std::optional(ParseLease(*read));
  if (read.status().code() == StatusCode::kNotFound) return std::optional<LeaseRecord>();
  return read.status();
}

// That there is a Lease already, or none any more, is no different from a version that has changed.
StatusOr<LeaseRecord> ToWritten(const StatusOr<Json>& written, bool created) {
  if (written.ok()) return ParseLease(*written);
  const bool race = written.status().code() == (created ? StatusCode::kAlreadyExists : StatusCode::kNotFound);
  return race ? Error(StatusCode::kAborted, Message(written.status())) : written.status();
}

}  // namespace

Candidate::Candidate(const ElectionOptions& options, kube::ObjectKey lease, kube::Api& api, const TimeSource& time,
                     Fence& fence, uint64_t seed)
    : lease_(std::move(lease)), api_(api), time_(time), fence_(fence), election_(options, seed) {}

MonotonicTime Candidate::Act() {
  while (true) {
    ElectionAct act;
    {
      const MutexLock lock(mutex_);
      act = election_.Next(time_.Now());
      Publish();
    }
    if (const auto* wait = std::get_if<WaitUntil>(&act)) return wait->time;
    if (const auto* read = std::get_if<ReadLease>(&act)) Carry(*read);
    if (const auto* write = std::get_if<WriteLease>(&act)) Carry(*write);
  }
}

void Candidate::Carry(const ReadLease& act) {
  const StatusOr<Json> read = api_.Get(kLeases, lease_, {.timeout = act.timeout});
  const StatusOr<std::optional<LeaseRecord>> record = ToRecord(read);
  Note("the Lease of the election cannot be read", record.status());
  if (record.ok() && *record && (*record)->holder != last_holder_) {
    last_holder_ = (*record)->holder;
    if (!last_holder_.empty()) log::Info("a replica leads", {{"lease", lease_.ToString()}, {"holder", last_holder_}});
  }
  const MutexLock lock(mutex_);
  election_.OnRead(record, time_.Now());
  Publish();
}

void Candidate::Carry(const WriteLease& act) {
  const std::string now = kube::MicroTime(time_.WallNow());
  const kube::CallOptions call{.timeout = act.timeout};
  const StatusOr<Json> written =
      act.precondition ? api_.Patch(kLeases, lease_, kube::PatchType::kMerge,
                                    LeasePatch(act.record, *act.precondition, act.begins_term, now), "", call)
                       : api_.Create(kLeases, LeaseToCreate(lease_, act.record, now), call);
  const StatusOr<LeaseRecord> record = ToWritten(written, !act.precondition);
  if (record.status().code() != StatusCode::kAborted)
    Note("the Lease of the election cannot be written", record.status());
  const MutexLock lock(mutex_);
  election_.OnWritten(record, time_.Now());
  Publish();
}

// Once for each reason.
void Candidate::Note(const char* what, const Status& status) {
  if (!status.ok() && status != last_failure_) {
    log::Warn(what, {{"lease", lease_.ToString()}, {"reason", status}});
  }
  last_failure_ = status;
}

void Candidate::Resign() {
  const MutexLock lock(mutex_);
  election_.Resign(time_.Now());
  Publish();
}

void Candidate::Publish() {
  fence_.OpenUntil(election_.state() == Election::State::kLeading ? election_.may_act_until() : MonotonicTime{});
}

CandidateView Candidate::View() const {
  const MutexLock lock(mutex_);
  CandidateView view;
  view.state = election_.state();
  view.leads = election_.MayAct(time_.Now());
  if (election_.seen()) view.holder = election_.seen()->holder;
  if (election_.seen()) view.transitions = election_.seen()->transitions;
  if (election_.renewed_at() != MonotonicTime{}) view.since_renewal = time_.Now() - election_.renewed_at();
  return view;
}

}  // namespace attune::leadership
