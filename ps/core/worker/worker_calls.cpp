// Calls that the coordinator answers, and data leases.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {
namespace {

Status TooLong(const char* what, size_t bytes, size_t bytes_max) {
  return Error(StatusCode::kInvalidArgument, std::string(what) + " of " + std::to_string(bytes) + " bytes; at most " +
                                                 std::to_string(bytes_max) + " are allowed");
}

}  // namespace

bool WorkerCore::Refuse(CallId call, WorkerOutputs& out) {
  Status status = lost_;
  if (status.ok() && leaving_) {
    status = Error(StatusCode::kFailedPrecondition, "this worker is leaving the job; no further calls are taken");
  }
  if (status.ok()) return false;
  out.completions.push_back({.call = call, .status = std::move(status), .result = {}});
  return true;
}

void WorkerCore::Ask(CallId call, MonotonicTime deadline, std::string what, Message message, MonotonicTime now,
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
  WakeBy(deadline);
  Request(call.value(), deadline, std::move(message), now, out);
}

void WorkerCore::Request(uint64_t call, MonotonicTime deadline, Message message, MonotonicTime now,
                         WorkerOutputs& out) {
  const RequestId request = requests_.Enter(call, deadline, std::move(message), now, options_.reissue_after);
  WakeBy(now + options_.reissue_after);
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) {
    out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
  }
}

void WorkerCore::EndCall(CallId call, Status status, CallResult result, WorkerOutputs& out) {
  if (calls_.erase(call) == 0) return;
  out.completions.push_back({.call = call, .status = std::move(status), .result = std::move(result)});
}

void WorkerCore::On(JoinCall call, MonotonicTime, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  calls_[call.call] = {.deadline = call.deadline, .what = "joining the job"};
  WakeBy(call.deadline);
  join_call_ = call.call;
  CompleteJoin(out);
}

void WorkerCore::CompleteJoin(WorkerOutputs& out) {
  if (!join_call_ || !cluster_.admitted() || !cluster_.formed()) return;
  if (cluster_.ServerNotConnected() != NodeId()) return;
  if (!gate_.in_step()) return;  // rows are being copied before this step: pushes of the program would be in them
  EndCall(*std::exchange(join_call_, std::nullopt), OkStatus(), {}, out);
}

void WorkerCore::On(OpenTableCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
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

void WorkerCore::OnMessage(NodeId, TableOpened&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<OpenTable>(message.request);
  if (!request) return;
  const TableSpec& spec = std::get<OpenTable>(request->message).spec;
  rows_.OpenTable(message.table, spec);
  EndCall(CallId(request->call), OkStatus(), TableResult{.table = message.table}, out);
}

// A table that is being loaded takes as long as it takes, while its servers are alive.
void WorkerCore::OnMessage(NodeId, StillWorking&& message, MonotonicTime now, WorkerOutputs&) {
  const auto open = requests_.open().find(message.request);
  if (open == requests_.open().end()) return;
  const auto call = calls_.find(CallId(open->second.call));
  if (call == calls_.end() || call->second.deadline == kNever) return;
  call->second.deadline = open->second.deadline = now + call->second.time;
  WakeBy(call->second.deadline);
}

void WorkerCore::On(OpenDataSetCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
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

void WorkerCore::OnMessage(NodeId, DataSetOpened&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<OpenDataSet>(message.request);
  if (!request) return;
  if (message.options.when_due) when_due_.insert(message.data_set);
  EndCall(CallId(request->call), OkStatus(), DataSetResult{.data_set = message.data_set, .options = message.options},
          out);
}

// --- leases

void WorkerCore::On(LeaseCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  Ask(call.call, call.deadline, "asking for a data lease", LeaseRequest{.header = {}, .data_set = call.data_set}, now,
      out);
}

void WorkerCore::OnMessage(NodeId, LeaseGrant&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseRequest>(message.request);
  if (!request) return;
  if (request->abandoned || !calls_.contains(CallId(request->call))) {
    // No caller waits for it any more.
    Request(0, kNever, LeaseReturn{.header = {}, .lease = message.lease, .position = message.begin}, now, out);
    return;
  }
  // The coordinator did not count it in the floor until now.
  if (std::ranges::all_of(leases_, [](const auto& held) { return held.second.when_due; })) gate_.LiftTo(message.floor);
  leases_.insert_or_assign(message.lease, OpenLease{.progress = LeaseProgress(message.begin, message.end),
                                                    .when_due = when_due_.contains(message.data_set)});
  EndCall(CallId(request->call), OkStatus(),
          LeaseResult{.lease = message.lease, .epoch = message.epoch, .begin = message.begin, .end = message.end}, out);
}

void WorkerCore::OnMessage(NodeId, LeasesEnded&& message, MonotonicTime, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseRequest>(message.request);
  if (!request) return;
  EndCall(CallId(request->call),
          Error(StatusCode::kOutOfRange, message.reason == LeasesEndReason::kAllDone
                                             ? "all items of the data set are done"
                                             : "the job's goal is reached; there are no more items"),
          {}, out);
}

void WorkerCore::On(AdvanceLease call, MonotonicTime now, WorkerOutputs& out) {
  const auto it = leases_.find(call.lease);
  if (it == leases_.end() || it->second.ended) return;
  it->second.progress.Advance(call.position, rows_.pushes().last_issued());
  ReportLease(call.lease, it->second, now, out);
}

void WorkerCore::On(EndLease call, MonotonicTime now, WorkerOutputs& out) {
  const auto it = leases_.find(call.lease);
  if (it == leases_.end() || it->second.ended) return;
  it->second.progress.Advance(call.position, rows_.pushes().last_issued());
  it->second.ended = true;
  ReportLease(call.lease, it->second, now, out);
}

// Takes over positions whose pushes are settled; ends the lease when that was the last of it.
void WorkerCore::ReportLease(LeaseId id, OpenLease& lease, MonotonicTime now, WorkerOutputs& out) {
  const SequenceNumber settled =
      options_.mutations.done_before_acknowledged ? rows_.pushes().last_issued() : rows_.pushes().SettledBelow();
  lease.progress.Settle(settled);
  if (!lease.ended || !lease.progress.settled()) return;
  Message report = LeaseDone{.header = {}, .lease = id};
  if (!lease.progress.complete()) {
    report = LeaseReturn{.header = {}, .lease = id, .position = lease.progress.done()};
  }
  leases_.erase(id);
  Request(0, kNever, std::move(report), now, out);
}

// --- metrics

void WorkerCore::On(ReportMetricCall call, MonotonicTime now, WorkerOutputs& out) {
  if (!lost_.ok() || leaving_) return;
  const std::string name = call.name;
  if (auto report = metrics_.Add(name, std::move(call))) SendMetric(*report, now, out);
}

void WorkerCore::OnMetricAnswered(const std::string& name, MonotonicTime now, WorkerOutputs& out) {
  if (auto report = metrics_.Answered(name)) SendMetric(*report, now, out);
}

void WorkerCore::SendMetric(const ReportMetricCall& report, MonotonicTime now, WorkerOutputs& out) {
  Request(0, kNever, ReportMetric{.header = {}, .name = report.name, .value = report.value}, now, out);
}

// --- flush, save, leave

void WorkerCore::On(FlushCall call, MonotonicTime, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  const SequenceNumber issued = rows_.pushes().last_issued();
  if (rows_.pushes().empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }
  calls_[call.call] = {.deadline = call.deadline, .what = "flush"};
  WakeBy(call.deadline);
  flushes_.push_back({.call = call.call, .after = issued});
}

void WorkerCore::On(SaveCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
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

void WorkerCore::On(LeaveCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  leaving_ = true;
  leave_call_ = call.call;
  drained_ = call.drained;
  calls_[call.call] = {.deadline = call.deadline, .what = "leaving the job"};
  WakeBy(call.deadline);
  if (!cluster_.admitted()) {  // never was a member
    EndCall(call.call, OkStatus(), {}, out);
    return;
  }
  // What still comes goes back.
  rows_.own().EndCalls(Error(StatusCode::kFailedPrecondition, "localize: this worker is leaving the job"), out);
  std::vector<LeaseId> held;
  for (const auto& [id, lease] : leases_) held.push_back(id);
  for (const LeaseId id : held) On(EndLease{.lease = id, .position = leases_.at(id).progress.named()}, now, out);
  LeaveWhenSettled(now, out);
}

void WorkerCore::LeaveWhenSettled(MonotonicTime now, WorkerOutputs& out) {
  if (!leave_call_ || leave_sent_ || !rows_.pushes().empty() || !leases_.empty()) return;
  if (requests_.Has<LeaseDone>() || requests_.Has<LeaseReturn>() || requests_.Has<ReportMetric>()) return;
  const auto call = calls_.find(*leave_call_);
  const MonotonicTime deadline = call == calls_.end() ? kNever : call->second.deadline;
  leave_sent_ = true;
  Request(leave_call_->value(), deadline, Leave{.header = {}, .steps = steps_.steps(), .drained = drained_}, now, out);
}

void WorkerCore::OnMessage(NodeId, Done&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.AnsweredAs<LeaseDone, LeaseReturn, ReportMetric, SaveTables, Leave>(message.request);
  if (!request) return;
  if (const auto* metric = std::get_if<ReportMetric>(&request->message)) OnMetricAnswered(metric->name, now, out);
  if (request->call != 0) EndCall(CallId(request->call), OkStatus(), {}, out);
  if (std::holds_alternative<Leave>(request->message)) {
    left_ = true;
    return;
  }
  LeaveWhenSettled(now, out);
}

void WorkerCore::OnMessage(NodeId, Refused&& message, MonotonicTime now, WorkerOutputs& out) {
  const auto request = requests_.Answered(message.request);
  if (!request) return;
  if (const auto* metric = std::get_if<ReportMetric>(&request->message)) OnMetricAnswered(metric->name, now, out);
  if (request->call != 0) {
    const CallId call(request->call);
    const auto it = calls_.find(call);
    if (it != calls_.end()) EndCall(call, Annotate(message.status, it->second.what), {}, out);
  }
  LeaveWhenSettled(now, out);
}

}  // namespace attune::ps
