// One replica's part in an election: carries out what Election decides, by calls to the API server, and sets the fence.
// No thread of its own (elector.h is one). Not thread-safe, except for Resign and what is const.
#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/leadership/election/election.h"
#include "operator/leadership/fence.h"

namespace attune::leadership {

// For metrics and pages.
struct CandidateView {
  Election::State state = Election::State::kStandby;
  bool leads = false;       // may act in this moment
  std::string holder;       // as the Lease says; "": none, or not known
  int64_t transitions = 0;  // likewise
  // Since the last renewal of its own; negative: none yet.
  Duration since_renewal{-1};
};

class Candidate {
 public:
  // `api` should have connections of its own: calls that hang must not hold up a renewal. All must outlive it.
  Candidate(const ElectionOptions& options, kube::ObjectKey lease, kube::Api& api, const TimeSource& time, Fence& fence,
            uint64_t seed);

  // Makes what calls are due and returns when to come back: kNever when its part is over, or it was asked to resign
  // while it waited.
  MonotonicTime Act();
  // The fence is shut when this returns; calls of Act give the Lease back.
  void Resign();

  CandidateView View() const;

 private:
  void Carry(const ReadLease& act);
  void Carry(const WriteLease& act);
  void Note(const char* what, const Status& status);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const kube::ObjectKey lease_;
  kube::Api& api_;
  const TimeSource& time_;
  Fence& fence_;
  mutable Mutex mutex_;
  Election election_ ABSL_GUARDED_BY(mutex_);
  // By Act only: what was logged.
  Status last_failure_;
  std::string last_holder_;
};

}  // namespace attune::leadership
