// Takes part in an election with a thread of its own, from construction to destruction or until its part is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/time_source.h"
#include "operator/leadership/candidate.h"

namespace attune::leadership {

// Thread-safe.
class Elector {
 public:
  // Called from the elector's thread with every change of the state that lasted until it looked.
  using OnChange = std::function<void(Election::State)>;

  // As Candidate. `time` counts the time that a machine sleeps (base/os/boot_time.h).
  Elector(const ElectionOptions& options, kube::ObjectKey lease, kube::Api& api, const TimeSource& time, Fence& fence,
          OnChange on_change);
  // Does not give the Lease back, and may wait for a call in progress.
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  // The right to act ends at once; then the Lease is given back, so that another candidate has it with its next look.
  // False when that could not be done within `at_most`: others wait until it has run out.
  bool Resign(Duration at_most);

  CandidateView View() const { return candidate_.View(); }
  // Why a restart would help: the thread has stopped moving. "" otherwise. `now` by the elector's clock.
  std::string Stuck() const;

 private:
  static constexpr Duration kStuckAfter = std::chrono::seconds(60);

  void Run();

  const TimeSource& time_;
  const OnChange on_change_;
  Candidate candidate_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime turned_at_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace attune::leadership
