#include "ps/core/coordinator/inquiry.h"

#include <string>
#include <utility>

namespace attune::ps {
namespace {

std::string HowToContinue(const RestorePoint& newest) {
  if (newest.checkpoint == 0) return "there is no checkpoint: start the job again";
  return "`attune run --resume " + newest.directory + "` continues from checkpoint " +
         std::to_string(newest.checkpoint) + " at step " + std::to_string(newest.clock);
}

}  // namespace

Inquiry::Inquiry(JobContext& job)
    : job_(job),
      takeover_({.host_index = job.options().host_index,
                 .leader_lease = job.options().leader_lease,
                 .liveness_lease = job.options().liveness_lease,
                 .uncovered_timeout = job.options().uncovered_timeout,
                 .report_after = job.options().straggler_after,
                 .confirmed = job.options().voters,
                 .mutations = job.mutations()}) {}

void Inquiry::Ask(const Takeover::Question& question, CoordinatorOutputs& out) {
  const SupportQuestion support = job_.leadership().Ask(question.node, question.role, job_.now());
  out.send.push_back({.to = question.to, .message = Promise{support}});
}

void Inquiry::OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  if (Status status = job_.CheckJob(join); !status.ok()) {
    out.send.push_back({.to = from, .message = JoinRefused{.status = std::move(status)}});
    return;
  }
  if (const auto question = takeover_.OnJoin(from, join)) Ask(*question, out);
}

void Inquiry::OnPromised(ConnectionId from, const Promised& message) {
  for (const NodeId node : takeover_.OnPromised(from, message, job_.now())) {
    job_.leadership().OnSupport(node, message.standing.supports, message.map.version, job_.now());
  }
}

void Inquiry::AskAgain(CoordinatorOutputs& out) {
  if (!job_.times().TakeAgain(job_.options().leader_lease / 4)) return;
  for (const Takeover::Question& question : takeover_.ToAskAgain()) Ask(question, out);
}

// The process ends, and another server is appointed.
void Inquiry::EndWithItsServer(ConnectionId server, CoordinatorOutputs& out) {
  const Status why = Error(StatusCode::kAborted, "this server was declared lost before its coordinator of term " +
                                                     std::to_string(job_.options().term) +
                                                     " had begun; start it again, another server takes over");
  out.events.push_back(std::string(attune::Message(why)));
  out.send.push_back({.to = server, .message = SessionLost{.status = why}});
  out.superseded = true;
  job_.phase().Supersede();
}

std::optional<Inquiry::Found> Inquiry::Continue(CoordinatorOutputs& out) {
  const std::optional<Takeover::Newest> newest = takeover_.FindNewest();
  if (!newest) return std::nullopt;
  const ShardMap& map = newest->map;
  const MonotonicTime now = job_.now();
  Leadership& leadership = job_.leadership();
  for (const Takeover::Question& question : takeover_.Recognize(map)) Ask(question, out);
  for (const ConnectionId to : takeover_.PassOn(map)) out.send.push_back({.to = to, .message = MapUpdate{.map = map}});
  if (const auto server = takeover_.LostHost(map)) {
    EndWithItsServer(*server, out);
    return std::nullopt;
  }
  takeover_.Configure(map, leadership.lease());
  const bool ended = takeover_.OldLeaseEnded(*newest, leadership.configurations(), now);
  leadership.WantConfirmationOfTakeover(
      map, ended, [this](NodeId node) { return takeover_.AnswerOf(node) != nullptr; }, now);
  takeover_.NoteLeads(ended && job_.Leads(), now);
  if (const std::string missing = takeover_.Missing(*newest, now); !missing.empty()) {
    if (takeover_.MayReport(now)) out.events.push_back("taking over; not heard of yet: " + missing);
    return std::nullopt;
  }
  if (newest->record == nullptr) return Found{.map = map, .record = std::nullopt};
  if (!takeover_.AnyServerAnswered(map)) return std::nullopt;  // the server it runs in will answer
  return Found{.map = map, .record = *newest->record};
}

Status Inquiry::EndWithoutRecord(CoordinatorOutputs& out) const {
  Status why = Error(StatusCode::kDataLoss,
                     "the coordinator and the server with the copy of its state are both lost, so no process knows "
                     "which data is done; " +
                         HowToContinue(job_.options().newest_checkpoint));
  for (const auto& [id, member] : takeover_.members()) {
    if (member.connection) out.send.push_back({.to = *member.connection, .message = SessionLost{.status = why}});
  }
  return why;
}

void Inquiry::Fill(JobProgress& progress) const {
  if (!job_.phase().taking_over()) return;
  progress.lease.held = takeover_.leads();
  if (job_.leadership().wanted().empty()) progress.lease.map_version = takeover_.map_version();
}

}  // namespace attune::ps
