#include "proto/contract.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "ps/runtime/control/coordinator_codec_parts.h"

namespace attune::ps {
namespace {

using codec::Put;

// The template catches what does not travel in this direction.

struct NodeWriter {
  v1::NodeMessage& out;

  bool operator()(const Join& from) {
    v1::Join* to = out.mutable_join();
    to->set_protocol_version(contract::kProtocolVersion);
    to->set_job_uid(from.job_uid);
    to->set_incarnation(from.incarnation);
    to->set_role(from.role == Role::kServer ? v1::NODE_ROLE_SERVER : v1::NODE_ROLE_WORKER);
    to->set_index(from.index);
    to->set_address(from.address);
    to->set_machine(from.machine);
    to->set_takes_rows(from.takes_rows);
    to->set_node(from.node.value());
    to->set_term(from.term);
    return true;
  }
  bool operator()(const MapRequest& from) {
    out.mutable_map_request()->set_have(from.have.value());
    return true;
  }
  bool operator()(const RowsReport& from) {
    v1::RowsReport* to = out.mutable_rows_report();
    to->set_number(from.number);
    to->set_map_version(from.map_version.value());
    to->set_shards_not_ready(from.shards_not_ready);
    for (const MapVersion join : from.joins_done) to->add_joins_done(join.value());
    to->set_rows_held(from.rows_held);
    to->set_rows_foreign(from.rows_foreign);
    to->set_handovers_open(from.handovers_open);
    to->set_operations_waiting(from.operations_waiting);
    to->set_rows_to_come(from.rows_to_come);
    to->set_rows_received(from.rows_received);
    to->set_rows_sent(from.rows_sent);
    to->set_copies(from.copies);
    to->set_copies_to_send(from.copies_to_send);
    to->set_shards_restored(from.shards_restored);
    to->set_rows_restored(from.rows_restored);
    to->set_rows_begun_anew(from.rows_begun_anew);
    return true;
  }
  bool operator()(const Heartbeat& from) {
    Put(from, out.mutable_heartbeat());
    return true;
  }
  bool operator()(const OpenTable& from) {
    Put(from.header, out.mutable_open_table()->mutable_header());
    Put(from.spec, out.mutable_open_table()->mutable_spec());
    return true;
  }
  bool operator()(const TableInstalled& from) {
    out.mutable_table_installed()->set_table(from.table.value());
    Put(from.status, out.mutable_table_installed()->mutable_status());
    return true;
  }
  bool operator()(const OpenDataSet& from) {
    Put(from.header, out.mutable_open_data_set()->mutable_header());
    out.mutable_open_data_set()->set_name(from.name);
    Put(from.options, out.mutable_open_data_set()->mutable_options());
    return true;
  }
  bool operator()(const LeaseRequest& from) {
    Put(from.header, out.mutable_lease_request()->mutable_header());
    out.mutable_lease_request()->set_data_set(from.data_set.value());
    return true;
  }
  bool operator()(const LeaseDone& from) {
    Put(from.header, out.mutable_lease_done()->mutable_header());
    out.mutable_lease_done()->set_lease(from.lease.value());
    return true;
  }
  bool operator()(const LeaseReturn& from) {
    Put(from.header, out.mutable_lease_return()->mutable_header());
    out.mutable_lease_return()->set_lease(from.lease.value());
    out.mutable_lease_return()->set_position(from.position);
    return true;
  }
  bool operator()(const ReportMetric& from) {
    Put(from.header, out.mutable_report_metric()->mutable_header());
    out.mutable_report_metric()->set_name(from.name);
    if (from.value) out.mutable_report_metric()->set_value(*from.value);
    return true;
  }
  bool operator()(const SaveTables& from) {
    Put(from.header, out.mutable_save_tables()->mutable_header());
    out.mutable_save_tables()->set_directory(from.directory);
    return true;
  }
  bool operator()(const MarkDone& from) {
    out.mutable_mark_done()->set_cut(from.cut.value());
    return true;
  }
  bool operator()(const SnapshotDone& from) {
    v1::SnapshotDone* to = out.mutable_snapshot_done();
    to->set_cut(from.cut.value());
    Put(from.status, to->mutable_status());
    for (const CutFile& file : from.files) {
      v1::CutFile* written = to->add_files();
      written->set_table(file.table.value());
      written->set_name(file.name);
      written->set_checkpoint(file.checkpoint);
      written->set_rows(file.rows);
      written->set_erased(file.erased);
      written->set_bytes(file.bytes);
      written->set_digest(file.digest);
      written->set_table_rows(file.table_rows);
    }
    return true;
  }
  bool operator()(const Leave& from) {
    Put(from.header, out.mutable_leave()->mutable_header());
    out.mutable_leave()->set_steps(from.steps);
    out.mutable_leave()->set_drained(from.drained);
    return true;
  }
  bool operator()(const MirrorAck& from) {
    out.set_mirror_ack(from.number);
    return true;
  }
  bool operator()(const Promised& from) {
    v1::Promised* to = out.mutable_promised();
    Put(from.map, to->mutable_map());
    Put(from.standing, to->mutable_standing());
    Put(from.sync, to->mutable_sync());
    for (const InstallTable& table : from.tables) {
      v1::InstallTable* installed = to->add_tables();
      installed->set_table(table.table.value());
      Put(table.spec, installed->mutable_spec());
    }
    if (from.mirror) Put(*from.mirror, to->mutable_mirror());
    to->set_supported_term(from.supported_term);
    to->set_support_left_nanoseconds(from.support_left.count());
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) {
    return false;
  }
};

struct CoordinatorWriter {
  v1::CoordinatorMessage& out;

  bool operator()(const Welcome& from) {
    v1::Welcome* to = out.mutable_welcome();
    to->set_node(from.node.value());
    Put(from.map, to->mutable_map());
    to->set_servers_expected(from.servers_expected);
    to->set_servers_joined(from.servers_joined);
    Put(from.sync, to->mutable_sync());
    Put(from.support, to->mutable_support());
    return true;
  }
  bool operator()(const JoinRefused& from) {
    Put(from.status, out.mutable_join_refused());
    return true;
  }
  bool operator()(const MapUpdate& from) {
    Put(from.map, out.mutable_map_update());
    return true;
  }
  bool operator()(const HeartbeatAck& from) {
    out.mutable_heartbeat_ack()->set_number(from.number);
    Put(from.sync, out.mutable_heartbeat_ack()->mutable_sync());
    out.mutable_heartbeat_ack()->set_liveness_nanoseconds(from.liveness.count());
    Put(from.support, out.mutable_heartbeat_ack()->mutable_support());
    return true;
  }
  bool operator()(const Mark& from) {
    v1::Mark* to = out.mutable_mark();
    to->set_cut(from.cut.value());
    to->set_checkpoint(from.checkpoint);
    to->set_base(from.base);
    to->set_directory(from.directory);
    to->set_clock(from.clock);
    return true;
  }
  bool operator()(const WriteSnapshot& from) {
    out.mutable_write_snapshot()->set_cut(from.cut.value());
    return true;
  }
  bool operator()(const CutEnded& from) {
    out.mutable_cut_ended()->set_cut(from.cut.value());
    return true;
  }
  bool operator()(const MirrorUpdate& from) {
    Put(from.record, out.mutable_mirror_update());
    return true;
  }
  bool operator()(const Promise& from) {
    Put(from.support, out.mutable_promise()->mutable_support());
    return true;
  }
  bool operator()(const SyncUpdate& from) {
    Put(from.sync, out.mutable_sync_update());
    return true;
  }
  bool operator()(const TableOpened& from) {
    out.mutable_table_opened()->set_request(from.request.value());
    out.mutable_table_opened()->set_table(from.table.value());
    return true;
  }
  bool operator()(const InstallTable& from) {
    out.mutable_install_table()->set_table(from.table.value());
    Put(from.spec, out.mutable_install_table()->mutable_spec());
    if (from.load.checkpoint != 0) Put(from.load, out.mutable_install_table()->mutable_load());
    out.mutable_install_table()->set_map_version(from.map_version.value());
    return true;
  }
  bool operator()(const NewestCheckpoint& from) {
    Put(from.point, out.mutable_newest_checkpoint());
    return true;
  }
  bool operator()(const StillWorking& from) {
    out.set_still_working(from.request.value());
    return true;
  }
  bool operator()(const DataSetOpened& from) {
    out.mutable_data_set_opened()->set_request(from.request.value());
    out.mutable_data_set_opened()->set_data_set(from.data_set.value());
    Put(from.options, out.mutable_data_set_opened()->mutable_options());
    return true;
  }
  bool operator()(const LeaseGrant& from) {
    v1::LeaseGrant* to = out.mutable_lease_grant();
    to->set_request(from.request.value());
    to->set_lease(from.lease.value());
    to->set_data_set(from.data_set.value());
    to->set_epoch(from.epoch);
    to->set_begin(from.begin);
    to->set_end(from.end);
    to->set_floor(from.floor);
    return true;
  }
  bool operator()(const LeasesEnded& from) {
    out.mutable_leases_ended()->set_request(from.request.value());
    out.mutable_leases_ended()->set_goal_reached(from.reason == LeasesEndReason::kGoalReached);
    return true;
  }
  bool operator()(const Done& from) {
    out.mutable_done()->set_request(from.request.value());
    return true;
  }
  bool operator()(const Refused& from) {
    out.mutable_refused()->set_request(from.request.value());
    Put(from.status, out.mutable_refused()->mutable_status());
    return true;
  }
  bool operator()(const GoalReached& from) {
    out.mutable_goal_reached()->set_reason(from.reason);
    return true;
  }
  bool operator()(const Finished&) {
    out.mutable_finished();
    return true;
  }
  bool operator()(const SessionLost& from) {
    Put(from.status, out.mutable_session_lost());
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) {
    return false;
  }
};

}  // namespace

StatusOr<v1::NodeMessage> ToNodeMessage(const Message& message) {
  v1::NodeMessage out;
  if (std::visit(NodeWriter{out}, message)) return out;
  return Error(StatusCode::kInvalidArgument, std::string(NameOf(message)) + " is not sent to a coordinator");
}

StatusOr<v1::CoordinatorMessage> ToCoordinatorMessage(const Message& message) {
  v1::CoordinatorMessage out;
  if (std::visit(CoordinatorWriter{out}, message)) return out;
  return Error(StatusCode::kInvalidArgument, std::string(NameOf(message)) + " is not sent by a coordinator");
}

}  // namespace attune::ps
