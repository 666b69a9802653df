// The reporter of a process, for threads that have news for it while it is not there yet, or not any more. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "ps/runtime/process/reporter.h"

namespace attune::ps {

class ReporterSlot {
 public:
  void Put(std::unique_ptr<Reporter> reporter) {
    const MutexLock lock(mutex_);
    reporter_ = std::move(reporter);
  }
  void ReportSoon() {
    const MutexLock lock(mutex_);
    if (reporter_ != nullptr) reporter_->ReportSoon();
  }
  // Sends the last window. The reporter's thread may come to ReportSoon meanwhile, so it ends without the mutex.
  void End() {
    std::unique_ptr<Reporter> ended;
    const MutexLock lock(mutex_);
    ended = std::move(reporter_);
  }

 private:
  Mutex mutex_;
  std::unique_ptr<Reporter> reporter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
