// Keeps the status of policies: from time to time, by a thread of its own, what has changed is written. A report that
// cannot be written is tried again at the next time; nothing depends on it.
#pragma once

#include <thread>

#include "base/mutex.h"
#include "base/time_source.h"
#include "operator/controller/policies/policy_book.h"
#include "operator/kube/api.h"

namespace attune::controller {

class PolicyReporter {
 public:
  // All outlive it. `jobs`: all that are watched.
  PolicyReporter(kube::Api& api, const TimeSource& time, const PolicyBook& book, const kube::WatchCache& jobs);
  ~PolicyReporter();  // returns when no call is in progress any more

  static constexpr Duration kEvery = std::chrono::seconds(5);

 private:
  void Run();
  void Write(const PolicyBook::Report& report);

  kube::Api& api_;
  const TimeSource& time_;
  const PolicyBook& book_;
  const kube::WatchCache& jobs_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Status failure_;  // the last one, of the thread
  std::thread thread_;
};

}  // namespace attune::controller
