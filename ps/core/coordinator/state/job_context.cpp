#include "ps/core/coordinator/state/job_context.h"

#include <algorithm>
#include <string>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr size_t kLostPodsNamed = 64;  // what is older has been replaced long ago

// From here on no node has the number, whatever the coordinators did whose copies are lost: each had as many to give
// before its first copy arrived, and two that begin from the same copy must not give the same ones.
NodeId NumbersNotGiven(const CoordinatorRecord& record, uint32_t term) {
  const auto recorded_in = static_cast<uint32_t>(record.number >> 32);
  const uint32_t terms_between = term > recorded_in ? term - recorded_in - 1 : 0;
  const uint64_t number = record.next_node.value() + uint64_t{terms_between} * kMembersMax;
  return NodeId(static_cast<uint32_t>(std::min<uint64_t>(number, kNodeIdMax)));
}

}  // namespace

JobContext::JobContext(CoordinatorOptions options)
    : options_(std::move(options)),
      phase_(options_.takeover),
      members_(options_.liveness_lease),
      silence_(members_, {.liveness_lease = options_.liveness_lease,
                          .uncovered_timeout = options_.uncovered_timeout,
                          .pause_tolerance = options_.pause_tolerance}),
      leadership_({.term = options_.term,
                   .may_be_followed = options_.may_be_followed,
                   .host_index = options_.host_index,
                   .leader_lease = options_.leader_lease,
                   .liveness_lease = options_.liveness_lease,
                   .uncovered_timeout = options_.uncovered_timeout,
                   .mutations = options_.mutations}) {
  options_.servers = std::max(1U, options_.servers);
  options_.shards = std::clamp(options_.shards, options_.servers, kShardsMax);
  if (options_.resume) members_.SetStepsOfGone(options_.resume->steps);
}

Status JobContext::CheckJob(const Join& join) const {
  if (join.job_uid == options_.job_uid) return OkStatus();
  return Error(StatusCode::kFailedPrecondition, "this coordinator serves job id \"" + options_.job_uid + "\", not \"" +
                                                    join.job_uid +
                                                    "\"; check the coordinator's address of this process");
}

void JobContext::Restore(const CoordinatorRecord& record) {
  options_.goal = record.goal;
  options_.items = record.items;
  options_.lease_items = record.lease_items;
  options_.servers = record.servers;
  options_.backups = record.backups;
  options_.load = record.load;
  options_.resume = record.resume;
  members_.ReserveBelow(NumbersNotGiven(record, options_.term));
  members_.SetStepsOfGone(record.steps_of_gone);
}

void JobContext::Fill(CoordinatorRecord& record) const {
  record.goal = options_.goal;
  record.items = options_.items;
  record.lease_items = options_.lease_items;
  record.servers = options_.servers;
  record.load = options_.load;
  record.resume = options_.resume;
  record.backups = options_.backups;
  // Those who join before the next copy arrives are not in this one.
  record.next_node = NodeId(members_.next().value() + static_cast<uint32_t>(kMembersMax));
  record.steps_of_gone = members_.steps_of_gone();
  for (const auto& [id, node] : members_) {
    record.nodes.push_back({.node = id, .uses_leases = node.uses_leases});
    if (leadership_.IsHost(node.member)) record.host = id;
  }
}

void JobContext::Fill(JobProgress& progress) const {
  progress.servers_expected = options_.servers;
  progress.backups = options_.backups;
  progress.serving = map_.formed() && !phase_.failed();
  progress.taking_over = phase_.taking_over();
  progress.closing.done = phase_.finished();
  progress.lease.held = Leads();
  progress.lease.map_version = leadership_.wanted().empty() ? map_.version : leadership_.wanted_map();
  for (const NodeId node : leadership_.wanted()) progress.lease.wanted.push_back(node.value());
  for (const auto& [id, node] : members_) ++(node.member.role == Role::kServer ? progress.servers : progress.workers);
  progress.steps = members_.TotalSteps();
  progress.lost_pods = members_.gone().LostPods(kLostPodsNamed);
}

}  // namespace attune::ps
