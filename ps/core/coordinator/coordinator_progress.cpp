// What telemetry is given of the coordinator (JobProgress).
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {
namespace {

constexpr size_t kLostPodsNamed = 64;  // what is older has been replaced long ago

}  // namespace

JobProgress CoordinatorCore::progress() const {
  JobProgress progress{.servers_expected = options_.servers,
                       .floor_clock = clocks_.floor(),
                       .steps = members_.TotalSteps(),
                       .synchronization = ToString(clocks_.mode()),
                       .smoothed_loss = training_.smoothed_loss(),
                       .serving = map_.formed() && failed_.ok(),
                       .trained_seconds = training_.TrainedSeconds(times_.now()),
                       .taking_over = TakingOver(),
                       .goal_reached = end_.goal()};
  progress.lease.held = TakingOver() ? takeover_.leads() : leadership_.Held(times_.now());
  progress.lease.map_version = !leadership_.wanted().empty() ? leadership_.wanted_map()
                               : TakingOver()                ? takeover_.map_version()
                                                             : map_.version;
  for (const NodeId node : leadership_.wanted()) progress.lease.wanted.push_back(node.value());
  for (const auto& [id, node] : members_) ++(node.member.role == Role::kServer ? progress.servers : progress.workers);
  progress.shards_to_change = placement_.shards_to_change();
  recoveries_.Fill(progress, map_.recoveries);
  progress.lost_pods = members_.gone().LostPods(kLostPodsNamed);
  progress.checkpoints = cuts_.completed();
  progress.checkpoint_clock = cuts_.last_clock();
  progress.servers_wanted = placement_.servers_wanted();
  progress.backups = options_.backups;
  const MemberTable::Rows rows = members_.RowsOfAll();
  progress.rows_to_come = rows.to_come;
  progress.copies_to_send = rows.copies_to_send;
  progress.rows_moved = members_.rows_moved();
  if (clocks_.AnyoneWaits()) {
    progress.floor_holder = members_.Name(straggler_.slowest());
    if (const Node* slowest = members_.Find(straggler_.slowest())) progress.floor_worker = slowest->member.index;
    progress.floor_held_for = times_.now() - straggler_.since();
  }
  progress.metrics = training_.metrics();
  progress.best_checkpoint = training_.best();
  progress.closing.done = IsFinished();
  progress.closing.declared = data_sets_.HasClosingWork();
  if (const DataSet* open = data_sets_.OpenClosingWork()) {
    progress.closing.data_set = open->name;
    progress.closing.items_left = open->ledger.items() * open->ledger.epochs() - open->ledger.items_done();
  }
  if (const DataSet* data_set = data_sets_.current()) {
    const LeaseLedger& ledger = data_set->ledger;
    progress.data_set = data_set->name;
    progress.epochs = ledger.epochs();
    progress.epoch = ledger.AllDone() ? ledger.epochs() - 1 : ledger.epoch();
    progress.items = ledger.items();
    progress.items_done = ledger.items_done();
    progress.items_total = ledger.items() * ledger.epochs();
    progress.reprocessed_items = ledger.reprocessed_items();
  }
  return progress;
}

}  // namespace attune::ps
