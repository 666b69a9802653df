#include "ps/runtime/process/job_window.h"

#include <algorithm>
#include <set>

#include "proto/row_management.h"
#include "proto/sync_mode.h"

namespace attune::ps {
namespace {

void Fill(const MetricPlace& from, v1::JobMetric::Place* to) {
  to->set_step(from.step);
  to->set_epoch(from.epoch);
  to->set_items(from.items);
}

void Fill(const MetricState& from, v1::JobMetric* to) {
  to->set_name(from.name);
  to->set_reports(from.reports);
  if (from.value) to->set_value(*from.value);
  Fill(from.at, to->mutable_at());
  if (from.best) to->set_best(*from.best);
  Fill(from.best_at, to->mutable_best_at());
  to->set_maximize(from.maximize);
  to->set_left_out(from.left_out);
}

// Rows that went back count once, whether to a checkpoint or to their first values.
void FillRecovery(const JobProgress& from, v1::Recovery* to) {
  to->set_count(from.recoveries);
  to->set_restored_rows(from.rows_restored + from.rows_begun_anew);
  to->set_rows_begun_anew(from.rows_begun_anew);
  to->set_restored_shards(from.shards_restored);
  to->set_checkpoint(from.restored_from.checkpoint);
  to->set_step(from.restored_from.clock);
  to->set_steps_lost(from.steps_lost);
  to->set_model_lost(from.model_lost);
}

void Fill(const Relief& from, v1::Relief* to) {
  to->set_number(from.number);
  to->set_server(from.server);
  to->set_times_mean(from.times_mean);
  to->set_shards(from.shards);
  to->mutable_takers()->Assign(from.takers.begin(), from.takers.end());
}

void FillServers(const ShardMap& map, v1::JobWindow* to) {
  std::set<NodeId> homes;
  for (const Shard& shard : map.shards) homes.insert(shard.home);
  for (const Member& member : map.members) {
    if (member.role != Role::kServer) continue;
    v1::ServerState* state = to->add_server_states();
    state->set_index(member.index);
    state->set_state(member.leaving                ? v1::ServerState::DRAINING
                     : homes.contains(member.node) ? v1::ServerState::SERVING
                                                   : v1::ServerState::JOINING);
  }
  std::ranges::sort(*to->mutable_server_states(), {}, &v1::ServerState::index);
}

void FillGoal(const JobProgress& from, v1::JobWindow* to) {
  to->set_goal_reached(!from.goal_reached.empty());
  if (!to->goal_reached()) return;
  to->set_goal_reason(from.goal_reached);
  to->mutable_closing()->set_done(from.closing.done);
  to->mutable_closing()->set_declared(from.closing.declared);
  to->mutable_closing()->set_data_set(from.closing.data_set);
  to->mutable_closing()->set_items_left(from.closing.items_left);
}

}  // namespace

v1::CheckpointState ToProto(const WrittenCheckpoint& checkpoint) {
  v1::CheckpointState to;
  to.set_directory(checkpoint.directory);
  to.set_complete_unix_seconds(Seconds(checkpoint.complete_at.time_since_epoch()));
  to.set_bytes(checkpoint.bytes);
  to.set_rows(checkpoint.rows);
  to.set_number(checkpoint.number);
  to.set_step(checkpoint.step);
  return to;
}

v1::Abilities AbilitiesOfServers() {
  v1::Abilities abilities;
  abilities.set_elastic_servers(true);
  abilities.set_server_recovery(true);
  abilities.set_coordinator_failover(true);
  abilities.set_synchronization_modes(true);
  abilities.set_checkpoints(true);
  abilities.set_row_management(true);
  return abilities;
}

v1::LeaderLease LeaseToProto(const JobProgress& progress, uint32_t term) {
  v1::LeaderLease to;
  to.set_term(term);
  to.set_held(progress.lease.held);
  to.set_map_version(progress.lease.map_version.value());
  to.mutable_wanted_voters()->Assign(progress.lease.wanted.begin(), progress.lease.wanted.end());
  return to;
}

v1::JobWindow ToProto(const JobProgress& progress, const ShardMap& map, uint32_t term) {
  v1::JobWindow to;
  to.set_data_set(progress.data_set);
  to.set_epoch(progress.epoch);
  to.set_epochs(progress.epochs);
  to.set_items(progress.items);
  to.set_items_done(progress.items_done);
  to.set_items_total(progress.items_total);
  to.set_reprocessed_items(progress.reprocessed_items);
  to.set_servers(progress.servers);
  to.set_workers(progress.workers);
  to.set_floor_clock(progress.floor_clock);
  to.set_steps(progress.steps);
  to.set_trained_seconds(progress.trained_seconds);
  FillGoal(progress, &to);
  for (const MetricState& metric : progress.metrics) Fill(metric, to.add_metrics());
  if (const auto& best = progress.best_checkpoint) {
    to.mutable_best_checkpoint()->set_directory(best->directory);
    to.mutable_best_checkpoint()->set_number(best->checkpoint);
    to.mutable_best_checkpoint()->set_metric(best->metric);
    to.mutable_best_checkpoint()->set_value(best->value);
    Fill(best->at, to.mutable_best_checkpoint()->mutable_at());
  }
  *to.mutable_abilities() = AbilitiesOfServers();
  if (const auto mode = ParseSyncMode(progress.synchronization); mode.ok())
    *to.mutable_synchronization() = ToProto(*mode);
  v1::Announcements& announcements = *to.mutable_announcements();
  announcements.set_management(ToProto(progress.announcements.management));
  announcements.set_ignored(progress.announcements.ignored);
  announcements.set_on_trial(progress.announcements.on_trial);
  if (progress.announcements.speedup) announcements.set_speedup(*progress.announcements.speedup);
  if (progress.floor_worker) to.set_slowest_worker(*progress.floor_worker);
  FillServers(map, &to);
  to.mutable_lost_pods()->Add(progress.lost_pods.begin(), progress.lost_pods.end());
  if (progress.recoveries > 0) FillRecovery(progress, to.mutable_recovery());
  if (progress.relief.number > 0) Fill(progress.relief, to.mutable_relief());
  to.set_term(term);
  return to;
}

}  // namespace attune::ps
