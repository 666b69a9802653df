// Drives a WorkerCore: the program's threads step it under one mutex and write to the sockets themselves; answers,
// timers and the coordinator's messages are handled on the loop, by its own thread or by a thread of the program that
// waits for a future.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "base/mutex.h"
#include "base/time_source.h"
#include "ps/core/trace/traced_worker.h"
#include "ps/core/worker/worker_core.h"
#include "ps/runtime/control/coordinator_client.h"
#include "ps/runtime/process/rejection_log.h"
#include "ps/runtime/worker/drain_notice.h"
#include "ps/runtime/worker/future_state.h"
#include "ps/runtime/worker/pending_calls.h"
#include "ps/runtime/worker/worker_telemetry.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/tcp/tcp_transport.h"

namespace attune::ps {

class WorkerRuntime {
 public:
  using Pending = std::shared_ptr<Future::State>;

  // Starts the threads; nothing is joined before the first JoinCall. `time` must outlive the runtime.
  static StatusOr<std::shared_ptr<WorkerRuntime>> Start(const SessionOptions& options, const TimeSource& time);
  ~WorkerRuntime();

  // Any thread. Steps the core with a call; its deadline is `timeout` from now, its id is set here.
  template <typename Call>
  Pending Submit(Call call, Duration timeout) {
    return Submit(std::move(call), timeout, std::make_shared<Future::State>());
  }
  template <typename Call>
  Pending Submit(Call call, Duration timeout, Pending state) {
    call.deadline = time_.Now() + timeout;
    Submit(
        std::move(call), [](WorkerInput& input, CallId id) { std::get<Call>(input).call = id; }, state);
    return state;
  }
  // Any thread. WorkerCore::PullHere and PushHere: at once, when all rows are in this process.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows,
                CopyReads copies = CopyReads::kAnnounced);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients);
  // Any thread of the program: nothing is written to the rows of this pull any more. Waits for a reader that is at it.
  void GiveUp(const Pending& pull);
  // Inputs without a completion.
  void Submit(WorkerInput input);

  // Ends the session for good with this error; every open and later call gets it.
  void Fail(const Status& status) { Submit(Received{kCoordinator, SessionLost{status}}); }

  // Any thread. Memory for the gradients of a push that goes to one server as it is, shared with that process where it
  // can be; null: the core copies them, as it deals them out to several.
  std::shared_ptr<void> PushMemory(size_t bytes);

  // Waits until fewer than `pushes_max` pushes are open. DeadlineExceeded after `timeout`; the session's status when
  // lost.
  Status WaitForRoom(size_t pushes_max, Duration timeout);

  // Asks the program to leave: lease ranges end, waits for leases are interrupted. Idempotent.
  void RequestDrain(const std::string& reason);
  // Whether it was, and who waits for it.
  DrainNotice& drain() { return drain_; }

  // After this every call is refused and nothing moves any more. Blocks until the threads have ended.
  void Stop();

  Status status() const;
  uint64_t clock() const;
  uint64_t steps_ahead() const;
  RowCounts TakeCounts();
  // See TracedWorker.
  Status BeginTrace(const std::string& table, Key key);
  std::vector<std::string> EndTrace();
  size_t open_pushes() const;
  Duration CoordinatorSilence(MonotonicTime now) const;  // Heartbeats::Silence
  // Why the coordinator cannot be reached, for messages; OK while it can.
  Status coordinator_error() const { return coordinator_->last_error(); }
  // For futures that may be waited for in a thread of the program; valid until Stop.
  const std::shared_ptr<EventLoop>& loop() const { return loop_; }
  std::vector<LinkCounters> links(size_t links_max) const { return transport_->links(links_max); }
  const std::shared_ptr<WaitMeter>& meter() const { return meter_; }
  const TimeSource& time() const { return time_; }

 private:
  WorkerRuntime(const SessionOptions& options, const TimeSource& time);
  Status Open(const SessionOptions& options);
  void Submit(WorkerInput input, void (*set_id)(WorkerInput&, CallId), const Pending& state);
  // What a step leaves to be done once the mutex is free again: messages to send, calls to complete.
  struct Turn {
    WorkerOutputs out;
    std::vector<Pending> ended;  // by completion; null: no caller waits for it
  };
  void Step(WorkerInput input, Turn& turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Exactly once after each Step.
  void EndTurn(Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void Dispatch(WorkerOutputs& out);
  void Finish(const Pending& state, Completion completion);
  // Ends a call that did not get its rows: nothing is written to them any more.
  bool Complete(const Pending& state, Status status, CallResult result);
  void OnTimer();

  const TimeSource& time_;
  const std::shared_ptr<WaitMeter> meter_;
  DrainNotice drain_;
  std::atomic<int> dispatching_ = 0;  // threads that use the transport or the coordinator's client

  mutable Mutex mutex_;
  TracedWorker core_ ABSL_GUARDED_BY(mutex_);
  PendingCalls calls_ ABSL_GUARDED_BY(mutex_);
  CondVar room_;  // fewer pushes may be open than before
  MonotonicTime armed_ ABSL_GUARDED_BY(mutex_) = kNever;
  RejectionLog rejections_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  // Set once in Open; destroyed in the order of Stop.
  std::shared_ptr<EventLoop> loop_;
  std::unique_ptr<EventLoop::Timer> timer_;
  std::unique_ptr<TcpTransport> transport_;
  std::unique_ptr<CoordinatorClient> coordinator_;
};

}  // namespace attune::ps
