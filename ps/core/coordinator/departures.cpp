#include "ps/core/coordinator/departures.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace attune::ps {

// --- losses

void Departures::Lose(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  if (job_.members().at(id).member.role == Role::kWorker) return LoseWorker(id, reason, out);
  LoseServer(id, reason, out);
}

void Departures::LoseWorker(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  const MemberState& node = job_.members().at(id);
  const uint64_t again = leases_.ReleaseAll(id);
  out.events.push_back(job_.members().Name(id) + " is lost, " + std::to_string(again) +
                       " items go to others: " + std::string(reason.message()));
  job_.members().AddStepsOfGone(node.last.steps);
  JobContext::Send(node, SessionLost{.status = reason}, out);
  const bool held_rows = node.member.may_own_rows();
  goals_.NoteLost();
  Remove(id, reason);
  if (held_rows && job_.map().formed()) {
    recoveries_.Begin(job_.map().recoveries);
    placement_.Publish(WithoutFailed(job_.map(), std::array{id}), out);
  } else {
    placement_.PublishMembers(out);
  }
  leases_.Serve(out);
}

void Departures::LoseServer(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  if (job_.phase().finished()) return Remove(id, reason);
  if (!job_.map().formed()) {
    out.events.push_back(std::string(attune::Message(reason)) + "; it may join again");
    return Remove(id, reason);
  }
  MemberTable& members = job_.members();
  const bool others = std::ranges::any_of(members, [&](const auto& entry) {
    return entry.second.member.role == Role::kServer && entry.first != id && !entry.second.lost;
  });
  MemberState& node = members.at(id);
  if (node.lost) return;
  if (others) JobContext::Send(node, SessionLost{.status = reason}, out);  // else it may still come back
  const size_t uncovered = CountUncovered(job_.map(), std::array{id});
  out.events.push_back(members.Name(id) + " is lost: " + std::string(attune::Message(reason)) +
                       (uncovered == 0 ? "; every shard it was home of has a copy"
                                       : recoveries_.DescribeLoss(uncovered, members.TotalSteps())));
  if (!others) {
    job_.last_server().NoteLost(node, job_.now());
    out.events.push_back("no server is left; waiting for another one");
    return;
  }
  if (uncovered > 0) TakeFromNewest();
  Remove(id, reason);
  recoveries_.Begin(job_.map().recoveries);
  placement_.Publish(WithoutFailed(job_.map(), std::array{id}, tables_.ServersWithout()), out);
}

void Departures::ReplaceLastServers(CoordinatorOutputs& out) {
  MemberTable& members = job_.members();
  const std::vector<NodeId> lost = job_.last_server().TakeLost(members);
  TakeFromNewest();
  recoveries_.Begin(job_.map().recoveries);
  ShardMap map = job_.map();
  map.members = members.Members();
  job_.SetMap(std::move(map));
  for (const NodeId id : lost) Remove(id, Error(StatusCode::kAborted, members.Name(id) + " was lost"));
  placement_.Publish(WithoutFailed(job_.map(), lost), out);
}

void Departures::TakeFromNewest() {
  const bool items_since = leases_.TrainedSinceNewest(recoveries_.newest().checkpoint == 0);
  recoveries_.TakeFromNewest(job_.members().TotalSteps(), items_since, goals_.reached());
  replies_.NoteChange();
}

void Departures::LoseTheGone(CoordinatorOutputs& out) {
  Leadership& leadership = job_.leadership();
  const std::vector<NodeId> gone = job_.silence().SaidGone(job_.now());
  bool excluded = false;
  for (const NodeId id : gone) {
    const MemberState& node = job_.members().at(id);
    excluded = (node.proven_gone && node.member.role == Role::kServer && leadership.Exclude(id)) || excluded;
  }
  if (!leadership.MayLose({gone.begin(), gone.end()}, job_.now())) {
    if (excluded) placement_.PublishMembers(out);
    return;
  }
  for (const NodeId id : gone) {
    if (!job_.members().contains(id)) continue;
    Lose(id, Error(StatusCode::kAborted, job_.members().Name(id) + "'s process is gone"), out);
  }
}

void Departures::LoseTheSilent(CoordinatorOutputs& out) {
  for (const NodeId id : watch_.Lost()) {
    const MemberState* node = job_.members().Find(id);
    if (node == nullptr) continue;
    if (job_.phase().finished() && node->member.role == Role::kServer) continue;  // has ended as it should
    Lose(id, watch_.WhyLost(id), out);
  }
}

// --- those that go in order

bool Departures::OnLeave(MemberState& node, const Leave& message, CoordinatorOutputs& out) {
  leases_.ReturnAll(node, out);  // it has ended all others before
  node.leave = message;
  if (!node.reports() || !job_.map().formed()) return true;
  node.member.leaving = true;
  placement_.PublishMembers(out);
  return false;
}

Leave Departures::EndLeave(NodeId id, CoordinatorOutputs& out) {
  const Leave leave = *job_.members().at(id).leave;
  replies_.Reply(id, leave.header.request, Done{.request = leave.header.request}, out);
  out.events.push_back(job_.members().Name(id) + " left after " + std::to_string(leave.steps) + " steps");
  job_.members().AddStepsOfGone(leave.steps);
  Remove(id, OkStatus());
  placement_.PublishMembers(out);
  return leave;
}

void Departures::Release(NodeId id, CoordinatorOutputs& out) {
  out.events.push_back(job_.members().Name(id) + " is drained and released");
  JobContext::Send(job_.members().at(id), Finished{}, out);
  Remove(id, OkStatus());
}

void Departures::Remove(NodeId id, const Status& why) {
  checkpoints_.NoteGone(id, why);
  job_.leadership().NoteGone(job_.members().at(id).member, job_.map());
  job_.members().Remove(id, why, job_.now());
  watch_.Forget(id);
  pace_.Remove(id);
  leases_.NoteGone(id);
  tables_.NoteGone();
  replies_.NoteChange();
}

}  // namespace attune::ps
