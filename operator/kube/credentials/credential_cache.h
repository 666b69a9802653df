// When a program that gives credentials is run, as a function of what it gave, what the API server said of that, and
// time:
//
//   nothing held, refused by the server, or about to expire   run, at most once per pause
//   held and good                                             use what is held
//   about to expire, and the last run has failed              use what is held while it lasts, run again after a pause
//   otherwise                                                 fail with the reason of the last run
//
// Pauses double from a second to a minute, and begin again once a credential has been good for a minute. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/credentials/exec_protocol.h"

namespace attune::kube {

class CredentialCache {
 public:
  enum class Step {
    kUse,
    kRun,   // held() may be used meanwhile, when IsUsable
    kFail,  // with failure()
  };
  Step Next(WallTime wall, MonotonicTime now) const;
  // Whether the server is likely to take what is held.
  bool IsUsable(WallTime wall) const;

  void OnObtained(ExecCredential credential, WallTime wall, MonotonicTime now);
  void OnFailed(Status status, MonotonicTime now);
  // The server answered 401 to the credential of that number.
  void OnRefused(uint64_t number, MonotonicTime now);

  const ExecCredential& held() const { return *held_; }  // after OnObtained
  uint64_t number() const { return number_; }            // of what is held; 0 = nothing
  const Status& failure() const { return failure_; }

 private:
  void Pause(uint32_t misses, MonotonicTime now);

  std::optional<ExecCredential> held_;
  uint64_t number_ = 0;
  WallTime renew_at_ = WallTime::max();
  MonotonicTime obtained_at_{};
  bool refused_ = false;
  Status failure_;
  uint32_t misses_ = 0;        // runs in a row that failed, or gave what was refused within a minute
  MonotonicTime run_after_{};  // not before
};

}  // namespace attune::kube
