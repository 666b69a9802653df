// Calls of the program that end when the coordinator has answered, when pushes are settled or when something else has
// happened; data leases and metrics, which the coordinator hears of; and this worker's leaving, which comes after all
// of them. Requests are sent again until they are answered, by whichever coordinator.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "base/wake_time.h"
#include "ps/core/link/request_book.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/held_leases.h"
#include "ps/core/worker/metric_queue.h"
#include "ps/core/worker/rows/worker_rows.h"
#include "ps/core/worker/worker_ending.h"
#include "ps/core/worker/worker_io.h"
#include "ps/core/worker/worker_steps.h"

namespace attune::ps {

class WorkerCalls {
 public:
  WorkerCalls(const WorkerOptions& options, const ClusterView& cluster, WorkerRows& rows, WorkerSteps& steps,
              WorkerEnding& ending)
      : options_(options), cluster_(cluster), rows_(rows), steps_(steps), ending_(ending) {}

  // --- calls, while the session takes any

  void On(OpenTableCall call, MonotonicTime now, WorkerOutputs& out);
  void On(OpenDataSetCall call, MonotonicTime now, WorkerOutputs& out);
  void On(LeaseCall call, MonotonicTime now, WorkerOutputs& out);
  void On(AdvanceLease call, MonotonicTime now, WorkerOutputs& out);
  void On(EndLease call, MonotonicTime now, WorkerOutputs& out);
  void On(ReportMetricCall call, MonotonicTime now, WorkerOutputs& out);
  void On(FlushCall call, MonotonicTime now, WorkerOutputs& out);
  void On(SaveCall call, MonotonicTime now, WorkerOutputs& out);
  // The last call: hands everything back, then says so to the coordinator.
  void On(LeaveCall call, MonotonicTime now, WorkerOutputs& out);
  // A call that its owner ends, by End; `what` it does, for the text of its timeout. The owner steps at the deadline.
  void Open(CallId call, MonotonicTime deadline, std::string what) {
    calls_[call] = {.deadline = deadline, .what = std::move(what)};
  }
  // The same for a call that waits for the next step, and ends when that has begun.
  void OpenStep(CallId call, MonotonicTime deadline, std::string what);
  void EndSteps(WorkerOutputs& out);
  bool waits_for_step() const { return !step_calls_.empty(); }
  // Nothing when it has ended already.
  void End(CallId call, Status status, CallResult result, WorkerOutputs& out);
  // Ends the calls whose time is over. `why(CallId, bool step)`: what it waits for, as text; `step`:
  // for the next step.
  template <typename Why>
  void EndOverdue(MonotonicTime now, Why&& why, WorkerOutputs& out) {
    wake_.Reset();
    std::vector<CallId> late;
    for (const auto& [call, open] : calls_) {
      if (now < open.deadline) {
        wake_.By(open.deadline);
      } else {
        late.push_back(call);
      }
    }
    for (const CallId call : late) {
      const bool step = std::erase(step_calls_, call) > 0;
      GiveUp(call, why(call, step), out);
    }
  }
  void Postpone(Duration pause);
  void EndAll(const Status& status, WorkerOutputs& out);

  // --- answers

  void OnMessage(TableOpened&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(StillWorking&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(DataSetOpened&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(LeaseGrant&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(LeasesEnded&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(Done&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(Refused&& message, MonotonicTime now, WorkerOutputs& out);

  // --- what waits

  // Pushes have been settled: flushes end, and items of leases are done.
  void OnPushesSettled(MonotonicTime now, WorkerOutputs& out);
  // The call to leave is sent to the coordinator once nothing is open before it.
  void LeaveWhenSettled(MonotonicTime now, WorkerOutputs& out);
  // Requests that have not been answered in time; all of them to a coordinator that has admitted this worker.
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  void SendAll(MonotonicTime now, WorkerOutputs& out) const;
  // What a heartbeat says of leases.
  void DescribeIn(Heartbeat& heartbeat) const;

  MonotonicTime WakeAt() const { return wake_.at(); }

 private:
  struct OpenCall {
    MonotonicTime deadline;
    Duration time{};   // it had at first, of an answer of the coordinator
    std::string what;  // "opening table \"embedding\""
  };
  struct Flush {
    CallId call;
    SequenceNumber after;
  };
  struct Leaving {
    CallId call;
    bool drained = false;
    bool sent = false;
  };

  void Ask(CallId call, MonotonicTime deadline, std::string what, Message message, MonotonicTime now,
           WorkerOutputs& out);
  void Request(uint64_t call, MonotonicTime deadline, Message message, MonotonicTime now, WorkerOutputs& out);
  // A request whose answer no call waits for.
  void Notify(Message message, MonotonicTime now, WorkerOutputs& out) {
    Request(0, kNever, std::move(message), now, out);
  }
  void GiveUp(CallId call, const std::string& why, WorkerOutputs& out);
  void Send(RequestId request, MonotonicTime now, WorkerOutputs& out) const;
  void SendMetric(const std::optional<ReportMetricCall>& report, MonotonicTime now, WorkerOutputs& out);
  HeldLeases::Pushes PushesOfLeases() const;

  const WorkerOptions& options_;
  const ClusterView& cluster_;
  WorkerRows& rows_;
  WorkerSteps& steps_;
  WorkerEnding& ending_;
  std::map<CallId, OpenCall> calls_;
  RequestBook requests_;  // to the coordinator
  MetricQueue<ReportMetricCall> metrics_;
  HeldLeases leases_;
  std::vector<Flush> flushes_;
  std::vector<CallId> step_calls_;
  std::optional<Leaving> leave_;
  WakeTime wake_;  // earliest deadline or re-issue
};

}  // namespace attune::ps
