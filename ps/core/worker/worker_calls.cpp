#include "ps/core/worker/worker_calls.h"

#include "base/pause_watch.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

Status TooLong(const char* what, size_t bytes, size_t bytes_max) {
  return Error(StatusCode::kInvalidArgument, std::string(what) + " of " + std::to_string(bytes) + " bytes; at most " +
                                                 std::to_string(bytes_max) + " are allowed");
}

}  // namespace

void WorkerCalls::Ask(CallId call, MonotonicTime deadline, std::string what, Message message, MonotonicTime now,
                      WorkerOutputs& out) {
  if (requests_.open().size() >= kRequestsInFlightMax) {
    out.completions.push_back(
        {.call = call,
         .status = Error(StatusCode::kResourceExhausted, what + ": " + std::to_string(kRequestsInFlightMax) +
                                                             " requests to the coordinator are open; wait for some"),
         .result = {}});
    return;
  }
  calls_[call] = {.deadline = deadline, .time = deadline - now, .what = std::move(what)};
  wake_.By(deadline);
  Request(call.value(), deadline, std::move(message), now, out);
}

void WorkerCalls::Request(uint64_t call, MonotonicTime deadline, Message message, MonotonicTime now,
                          WorkerOutputs& out) {
  const RequestId request = requests_.Enter(call, deadline, std::move(message), now, options_.reissue_after);
  wake_.By(now + options_.reissue_after);
  if (cluster_.admitted()) Send(request, now, out);
}

void WorkerCalls::End(CallId call, Status status, CallResult result, WorkerOutputs& out) {
  if (calls_.erase(call) == 0) return;
  out.completions.push_back({.call = call, .status = std::move(status), .result = result});
}

void WorkerCalls::Send(RequestId request, MonotonicTime now, WorkerOutputs& out) const {
  if (!cluster_.IsConnected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
}

void WorkerCalls::OpenStep(CallId call, MonotonicTime deadline, std::string what) {
  Open(call, deadline, std::move(what));
  step_calls_.push_back(call);
}

void WorkerCalls::EndSteps(WorkerOutputs& out) {
  for (const CallId call : std::exchange(step_calls_, {})) End(call, OkStatus(), {}, out);
}

void WorkerCalls::GiveUp(CallId call, const std::string& why, WorkerOutputs& out) {
  requests_.Abandon(call.value());
  std::erase_if(flushes_, [&](const Flush& flush) { return flush.call == call; });
  End(call, Error(StatusCode::kDeadlineExceeded, calls_.at(call).what + ": " + why), {}, out);
}

void WorkerCalls::Postpone(Duration pause) {
  for (auto& [call, open] : calls_) open.deadline = MovedBy(pause, open.deadline);
  for (auto& [request, open] : requests_.open()) open.deadline = MovedBy(pause, open.deadline);
}

void WorkerCalls::EndAll(const Status& status, WorkerOutputs& out) {
  for (const auto& [call, open] : calls_) out.completions.push_back({.call = call, .status = status, .result = {}});
  calls_.clear();
  metrics_.Clear();
  leases_.Clear();
  flushes_.clear();
  step_calls_.clear();
}

void WorkerCalls::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  for (auto& [request, open] : requests_.open()) {
    if (now >= open.send_again) {
      Send(request, now, out);
      open.backoff = std::min(open.backoff * 2, options_.reissue_after_max);
      open.send_again = now + open.backoff;
    }
    wake_.By(open.send_again);
  }
}

void WorkerCalls::SendAll(MonotonicTime now, WorkerOutputs& out) const {
  for (const auto& [request, open] : requests_.open()) {
    out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
  }
}

void WorkerCalls::On(OpenTableCall call, MonotonicTime now, WorkerOutputs& out) {
  Status status;
  if (call.spec.name.empty() || call.spec.name.size() > kNameBytesMax) {
    status = TooLong("opening table: a name", call.spec.name.size(), kNameBytesMax);
  } else if (call.spec.options.dim == 0 || call.spec.options.dim > kDimMax) {
    status = Error(StatusCode::kInvalidArgument, "opening table \"" + call.spec.name + "\": dim is " +
                                                     std::to_string(call.spec.options.dim) + ", allowed are 1 to " +
                                                     std::to_string(kDimMax));
  }
  if (!status.ok()) {
    out.completions.push_back({.call = call.call, .status = std::move(status), .result = {}});
    return;
  }
  std::string what = "opening table \"" + call.spec.name + "\"";
  Ask(call.call, call.deadline, std::move(what), OpenTable{.header = {}, .spec = std::move(call.spec)}, now, out);
}

void WorkerCalls::OnMessage(TableOpened&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<OpenTable>(message.request);
  if (!request) return;
  const TableSpec& spec = std::get<OpenTable>(request->message).spec;
  rows_.routes().OpenTable(message.table, spec);
  End(CallId(request->call), OkStatus(), TableResult{.table = message.table}, out);
}

// A table that is being loaded takes as long as it takes, while its servers are alive.
void WorkerCalls::OnMessage(StillWorking&& message, MonotonicTime now, WorkerOutputs&) {
  const auto open = requests_.open().find(message.request);
  if (open == requests_.open().end()) return;
  const auto call = calls_.find(CallId(open->second.call));
  if (call == calls_.end() || call->second.deadline == kNever) return;
  call->second.deadline = open->second.deadline = now + call->second.time;
  wake_.By(call->second.deadline);
}

void WorkerCalls::On(OpenDataSetCall call, MonotonicTime now, WorkerOutputs& out) {
  if (call.name.size() > kNameBytesMax) {
    out.completions.push_back({.call = call.call,
                               .status = TooLong("opening data set: a name", call.name.size(), kNameBytesMax),
                               .result = {}});
    return;
  }
  std::string what = "opening data set \"" + call.name + "\"";
  Ask(call.call, call.deadline, std::move(what),
      OpenDataSet{.header = {}, .name = std::move(call.name), .options = call.options}, now, out);
}

void WorkerCalls::OnMessage(DataSetOpened&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<OpenDataSet>(message.request);
  if (!request) return;
  if (message.options.when_due) leases_.MarkWhenDue(message.data_set);
  End(CallId(request->call), OkStatus(), DataSetResult{.data_set = message.data_set, .options = message.options}, out);
}

// --- leases

void WorkerCalls::On(LeaseCall call, MonotonicTime now, WorkerOutputs& out) {
  Ask(call.call, call.deadline, "asking for a data lease", LeaseRequest{.header = {}, .data_set = call.data_set}, now,
      out);
}

void WorkerCalls::OnMessage(LeaseGrant&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseRequest>(message.request);
  if (!request) return;
  if (request->abandoned || !calls_.contains(CallId(request->call))) {
    // No caller waits for it any more.
    return Notify(LeaseReturn{.header = {}, .lease = message.lease, .position = message.begin}, now, out);
  }
  if (leases_.Add(message)) steps_.LiftTo(message.floor);
  End(CallId(request->call), OkStatus(),
      LeaseResult{.lease = message.lease, .epoch = message.epoch, .begin = message.begin, .end = message.end}, out);
}

void WorkerCalls::OnMessage(LeasesEnded&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseRequest>(message.request);
  if (!request) return;
  End(CallId(request->call),
      Error(StatusCode::kOutOfRange, message.reason == LeasesEndReason::kAllDone
                                         ? "all items of the data set are done"
                                         : "the job's goal is reached; there are no more items"),
      {}, out);
}

void WorkerCalls::On(AdvanceLease call, MonotonicTime now, WorkerOutputs& out) {
  auto report = leases_.Advance(call.lease, call.position, false, PushesOfLeases());
  if (report) Notify(*std::move(report), now, out);
}

void WorkerCalls::On(EndLease call, MonotonicTime now, WorkerOutputs& out) {
  auto report = leases_.Advance(call.lease, call.position, true, PushesOfLeases());
  if (report) Notify(*std::move(report), now, out);
}

HeldLeases::Pushes WorkerCalls::PushesOfLeases() const {
  const PushWindow& pushes = rows_.pushes().window();
  return {.issued = pushes.last_issued(),
          .settled = options_.mutations.done_before_acknowledged ? pushes.last_issued() : pushes.SettledBelow()};
}

void WorkerCalls::OnPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  const SequenceNumber settled = rows_.pushes().window().SettledBelow();
  std::erase_if(flushes_, [&](const Flush& flush) {
    if (flush.after > settled) return false;
    End(flush.call, OkStatus(), {}, out);
    return true;
  });
  leases_.Settle(settled, [&](Message report) { Notify(std::move(report), now, out); });
}

void WorkerCalls::DescribeIn(Heartbeat& heartbeat) const {
  leases_.ForEach(
      [&](LeaseId id, uint64_t position) { heartbeat.leases.push_back({.lease = id, .position = position}); });
  // Leases whose end no coordinator has confirmed: a new one may not know of it, and after a broken connection this may
  // arrive before that, with a clock which says that their steps are over.
  for (const auto& [request, open] : requests_.open()) {
    if (options_.mutations.ends_forgotten || heartbeat.leases.size() >= kLeasesPerWorkerMax) break;
    if (const auto* done = std::get_if<LeaseDone>(&open.message)) {
      heartbeat.leases.push_back({.lease = done->lease, .position = UINT64_MAX});
    } else if (const auto* returned = std::get_if<LeaseReturn>(&open.message)) {
      heartbeat.leases.push_back({.lease = returned->lease, .position = returned->position});
    }
  }
}

// --- metrics

void WorkerCalls::On(ReportMetricCall call, MonotonicTime now, WorkerOutputs& out) {
  const std::string name = call.name;
  SendMetric(metrics_.Add(name, std::move(call)), now, out);
}

void WorkerCalls::SendMetric(const std::optional<ReportMetricCall>& report, MonotonicTime now, WorkerOutputs& out) {
  if (report) Notify(ReportMetric{.header = {}, .name = report->name, .value = report->value}, now, out);
}

// --- flush, save, leave

void WorkerCalls::On(FlushCall call, MonotonicTime, WorkerOutputs& out) {
  const SequenceNumber issued = rows_.pushes().window().last_issued();
  if (rows_.pushes().window().empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }
  Open(call.call, call.deadline, "flush");
  wake_.By(call.deadline);
  flushes_.push_back({.call = call.call, .after = issued});
}

void WorkerCalls::On(SaveCall call, MonotonicTime now, WorkerOutputs& out) {
  if (call.directory.empty() || call.directory.size() > kPathBytesMax) {
    out.completions.push_back(
        {.call = call.call,
         .status = TooLong("saving tables: a directory name", call.directory.size(), kPathBytesMax),
         .result = {}});
    return;
  }
  std::string what = "saving tables to " + call.directory;
  Ask(call.call, call.deadline, std::move(what), SaveTables{.header = {}, .directory = std::move(call.directory)}, now,
      out);
}

void WorkerCalls::On(LeaveCall call, MonotonicTime now, WorkerOutputs& out) {
  ending_.Leave();
  leave_ = Leaving{.call = call.call, .drained = call.drained};
  Open(call.call, call.deadline, "leaving the job");
  wake_.By(call.deadline);
  if (!cluster_.admitted()) {  // never was a member
    End(call.call, OkStatus(), {}, out);
    return;
  }
  // What still comes goes back.
  rows_.own().EndCalls(Error(StatusCode::kFailedPrecondition, "localize: this worker is leaving the job"), out);
  leases_.EndAll(PushesOfLeases(), [&](Message report) { Notify(std::move(report), now, out); });
  LeaveWhenSettled(now, out);
}

void WorkerCalls::LeaveWhenSettled(MonotonicTime now, WorkerOutputs& out) {
  if (!leave_ || leave_->sent || !rows_.pushes().window().empty() || !leases_.empty()) return;
  if (requests_.Has<LeaseDone>() || requests_.Has<LeaseReturn>() || requests_.Has<ReportMetric>()) return;
  const auto call = calls_.find(leave_->call);
  const MonotonicTime deadline = call == calls_.end() ? kNever : call->second.deadline;
  leave_->sent = true;
  Request(leave_->call.value(), deadline, Leave{.header = {}, .steps = steps_.ended(), .drained = leave_->drained}, now,
          out);
}

void WorkerCalls::OnMessage(Done&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseDone, LeaseReturn, ReportMetric, SaveTables, Leave>(message.request);
  if (!request) return;
  if (const auto* metric = std::get_if<ReportMetric>(&request->message)) {
    SendMetric(metrics_.Answered(metric->name), now, out);
  }
  if (request->call != 0) End(CallId(request->call), OkStatus(), {}, out);
  if (std::holds_alternative<Leave>(request->message)) {
    ending_.Left();
    return;
  }
  LeaveWhenSettled(now, out);
}

void WorkerCalls::OnMessage(Refused&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.Answered(message.request);
  if (!request) return;
  if (const auto* metric = std::get_if<ReportMetric>(&request->message)) {
    SendMetric(metrics_.Answered(metric->name), now, out);
  }
  if (request->call != 0) {
    const CallId call(request->call);
    const auto it = calls_.find(call);
    if (it != calls_.end()) End(call, Annotate(message.status, it->second.what), {}, out);
  }
  LeaveWhenSettled(now, out);
}

}  // namespace attune::ps
