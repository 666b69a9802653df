#include "ps/core/coordinator/member_watch.h"

#include <algorithm>
#include <utility>

#include "ps/core/membership/members/row_reports.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

bool MemberWatch::NoteLinks(const MemberState& node, const Heartbeat& heartbeat) {
  const NodeId id = node.member.node;
  std::vector<NodeId> unreached;
  for (const NodeId other : heartbeat.unreached) {
    if (other != id && job_.members().contains(other)) unreached.push_back(other);
  }
  return links_.Said(id, unreached, job_.now()) || heartbeat.map_version != node.last.map_version;
}

void MemberWatch::Heard(MemberState& node) {
  if (links_.IsGivenUp(node.member.node)) return;
  const bool is_host = job_.leadership().IsHost(node.member);
  const Duration forgiven = job_.silence().NoteHeard(node, is_host, job_.now());
  if (forgiven > Duration::zero()) links_.Forgive(forgiven, job_.now());
}

// --- links

// Rows come before training: no member is given up with rows that have no copy, nor with a vote that is needed, unless
// the operator can take its place: with half of the votes the coordinator continues once that is confirmed. The server
// that it runs in cannot be given up: its end would be the coordinator's. While rows are recovered any server may have
// their only copies.
bool MemberWatch::MayGiveUp(const MemberState& node) const {
  const Leadership& leadership = job_.leadership();
  const MemberTable& members = std::as_const(job_).members();
  if (node.lost || leadership.IsHost(node.member) || recoveries_.in_progress() ||
      job_.silence().WouldCostRows(node, job_.map(), job_.now())) {
    return false;
  }
  if (node.member.role == Role::kWorker) return true;
  const auto servers = std::ranges::count_if(
      members, [](const auto& entry) { return entry.second.member.role == Role::kServer && !entry.second.lost; });
  const NodeId id = node.member.node;
  return servers >= 2 && (leadership.HasHalfOfTheVotes(id) || leadership.MayLose({id}, job_.now()));
}

std::optional<LinkWatch::Candidate> MemberWatch::WhoMayBeGivenUp(NodeId id) const {
  const MemberState* node = job_.members().Find(id);
  if (node == nullptr || !MayGiveUp(*node)) return std::nullopt;
  const Member& member = node->member;
  const bool is_server = node->is_server();
  return LinkWatch::Candidate{.role = member.role,
                              .index = member.index,
                              .vote_is_missed = is_server && !job_.leadership().MayLose({id}, job_.now()),
                              .has_rows = is_server && !HoldsNothing(*node, job_.map())};
}

void MemberWatch::CheckLinks(CoordinatorOutputs& out) {
  if (job_.phase().finished()) return links_.GiveUpNone();
  const bool may_be_chosen = job_.map().formed() && job_.Leads() && !job_.mutations().links_not_watched;
  const auto candidate = [&](NodeId id) { return WhoMayBeGivenUp(id); };
  if (const auto given_up = links_.Check(job_.now(), may_be_chosen, candidate)) {
    out.events.push_back(WhyGivenUp(*given_up) + "; it is given up");
  }
}

std::string MemberWatch::WhyGivenUp(NodeId id) const {
  return links_.Describe(id, job_.now(), [this](NodeId node) { return job_.members().Name(node); });
}

// --- losses

std::set<NodeId> MemberWatch::Lost() const {
  SilenceWatch::Silent silent = job_.silence().FindSilent(job_.map(), job_.now());
  if (!job_.leadership().MayLose(silent.all, job_.now())) return {};
  return std::move(silent.lost);
}

Status MemberWatch::WhyLost(NodeId silent) const {
  const Duration silence = job_.now() - job_.members().at(silent).silent_since;
  const std::string text = links_.IsGivenUp(silent) ? WhyGivenUp(silent)
                                                    : job_.members().Name(silent) + " has not been heard of for " +
                                                          std::to_string(static_cast<int64_t>(Seconds(silence))) + " s";
  return Error(StatusCode::kAborted, text + "; if it still runs, start it again");
}

// --- ended processes

bool MemberWatch::OnGone(CommandId id, const NodeGone& command, MonotonicTime deadline, CoordinatorOutputs& out) {
  if (gone_orders_.IsFull()) {
    const Status full = Error(StatusCode::kResourceExhausted, "too many ended processes are reported; ask again");
    JobContext::Answer(id, full, {}, out);
    return false;
  }
  gone_orders_.Add(id, command, deadline);
  return true;
}

void MemberWatch::AnswerGoneOrders(CoordinatorOutputs& out) {
  const auto has_part = [this](const NodeGone& gone) {
    const auto is_it = [&](const Member& member) {
      return member.role == gone.role && member.index == gone.index && PodOf(member.incarnation) == gone.pod;
    };
    return std::ranges::any_of(job_.leadership().former_voters(), is_it) ||
           std::ranges::any_of(job_.members(),
                               [&](const auto& entry) { return is_it(entry.second.member) && !entry.second.lost; });
  };
  const auto is_known = [this](MapVersion map) {
    return std::ranges::all_of(job_.members(), [&](const auto& entry) {
      const MemberState& node = entry.second;
      return node.member.role != Role::kServer || node.lost || node.known_map() >= map;
    });
  };
  for (CommandResult& result :
       gone_orders_.TakeAnswered(job_.now(), job_.map().version, !job_.phase().taking_over(), has_part, is_known)) {
    out.command_results.push_back(std::move(result));
  }
}

}  // namespace attune::ps
