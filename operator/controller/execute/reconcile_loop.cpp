#include "operator/controller/execute/reconcile_loop.h"

#include <chrono>
#include <utility>

#include "base/log.h"

namespace attune::controller {

void ReconcileLoop::Start(int threads, Work work) {
  work_ = std::move(work);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Reconcile(); });
  threads_.emplace_back([this] { Tick(); });
}

void ReconcileLoop::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.NotifyAll();
  queue_.ShutDown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ReconcileLoop::Reconcile() {
  if (!work_.wait_until_ready([this] { return stopping_.load(); })) return;
  while (const auto job = queue_.Get()) {
    const MonotonicTime begin = time_.Now();
    const StatusOr<std::optional<Duration>> again = work_.reconcile(*job);
    work_.on_reconciled(time_.Now() - begin);
    if (again.ok()) {
      queue_.Forget(*job);
      if (again->has_value()) queue_.AddAfter(*job, **again);
    } else {
      const Duration delay = queue_.AddRateLimited(*job);
      errors_.fetch_add(1, std::memory_order_relaxed);
      // A lost race is ordinary: the next look decides again.
      const auto level = again.status().code() == StatusCode::kAborted ? log::Level::kDebug : log::Level::kWarn;
      log::Write(level, "reconcile failed",
                 {{"job", job->ToString()}, {"error", again.status()}, {"retry_seconds", Seconds(delay)}});
    }
    queue_.Done(*job);
  }
}

void ReconcileLoop::Tick() {
  constexpr Duration kEvery = std::chrono::milliseconds(500);
  const MutexLock lock(mutex_);
  while (!stopped_.WaitFor(mutex_, kEvery, [this] { return stopping_.load(); })) work_.tick();
}

}  // namespace attune::controller
