#include <algorithm>

#include "proto/contract.h"
#include "proto/metric_name.h"
#include "ps/core/check/message_check.h"
#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "ps/runtime/control/coordinator_codec_parts.h"

namespace attune::ps {
namespace {

using codec::CheckText;
using codec::Get;
using codec::TooMany;

StatusOr<Message> ReadJoin(const v1::Join& from) {
  if (from.protocol_version() != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "protocol version " + std::to_string(from.protocol_version()) + " joins a coordinator of version " +
                     std::to_string(contract::kProtocolVersion) + "; use the same release for all pods of a job");
  }
  RETURN_IF_ERROR(CheckText(from.job_uid(), kNameBytesMax, "bytes of job id"));
  RETURN_IF_ERROR(CheckText(from.address(), kNameBytesMax, "bytes of address"));
  RETURN_IF_ERROR(CheckText(from.machine(), kNameBytesMax, "bytes of machine name"));
  ASSIGN_OR_RETURN(const Role role, Get(from.role()));
  return Join{.incarnation = from.incarnation(),
              .job_uid = from.job_uid(),
              .role = role,
              .index = from.index(),
              .address = from.address(),
              .machine = from.machine(),
              .takes_rows = from.takes_rows(),
              .node = NodeId(from.node()),
              .term = from.term()};
}

StatusOr<Message> ReadRowsReport(const v1::RowsReport& from) {
  const auto joins = static_cast<size_t>(from.joins_done_size());
  if (joins > kShardsMax) return TooMany("joins", joins, kShardsMax);
  RowsReport report{.number = from.number(),
                    .map_version = MapVersion(from.map_version()),
                    .shards_not_ready = from.shards_not_ready(),
                    .joins_done = {},
                    .rows_held = from.rows_held(),
                    .rows_foreign = from.rows_foreign(),
                    .handovers_open = from.handovers_open(),
                    .operations_waiting = from.operations_waiting(),
                    .rows_to_come = from.rows_to_come(),
                    .rows_received = from.rows_received(),
                    .rows_sent = from.rows_sent(),
                    .copies = from.copies(),
                    .copies_to_send = from.copies_to_send(),
                    .shards_restored = from.shards_restored(),
                    .rows_restored = from.rows_restored(),
                    .rows_begun_anew = from.rows_begun_anew()};
  for (const uint64_t join : from.joins_done()) report.joins_done.push_back(MapVersion(join));
  return report;
}

StatusOr<Message> ReadHeartbeat(const v1::Heartbeat& from) {
  ASSIGN_OR_RETURN(Heartbeat heartbeat, Get(from));
  return heartbeat;
}

StatusOr<Message> ReadMark(const v1::Mark& from) {
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return Mark{CutId(from.cut()), from.checkpoint(), from.base(), from.directory(), from.clock()};
}

StatusOr<Message> ReadSnapshotDone(const v1::SnapshotDone& from) {
  const auto files = static_cast<size_t>(from.files_size());
  if (files > kFilesPerSnapshotMax) return TooMany("files", files, kFilesPerSnapshotMax);
  SnapshotDone done{CutId(from.cut()), Get(from.status()), {}};
  for (const v1::CutFile& file : from.files()) {
    RETURN_IF_ERROR(CheckText(file.name(), kPathBytesMax, "bytes of path"));
    done.files.push_back({TableId(file.table()), file.name(), file.checkpoint(), file.rows(), file.erased(),
                          file.bytes(), file.digest(), file.table_rows()});
  }
  return done;
}

StatusOr<Message> ReadOpenDataSet(const v1::OpenDataSet& from) {
  RETURN_IF_ERROR(CheckText(from.name(), kNameBytesMax, "bytes of data-set name"));
  return OpenDataSet{Get(from.header()), from.name(), Get(from.options())};
}

StatusOr<Message> ReadOpenTable(const v1::OpenTable& from) {
  ASSIGN_OR_RETURN(TableSpec spec, Get(from.spec()));
  return OpenTable{Get(from.header()), std::move(spec)};
}

StatusOr<Message> ReadPromised(const v1::Promised& from) {
  Promised promised;
  ASSIGN_OR_RETURN(promised.map, Get(from.map()));
  ASSIGN_OR_RETURN(promised.standing, Get(from.standing()));
  promised.sync = Get(from.sync());
  const auto tables = static_cast<size_t>(from.tables_size());
  if (tables > kTablesMax) return TooMany("tables", tables, kTablesMax);
  for (const v1::InstallTable& table : from.tables()) {
    ASSIGN_OR_RETURN(TableSpec spec, Get(table.spec()));
    promised.tables.push_back({TableId(table.table()), std::move(spec)});
  }
  if (from.has_mirror()) {
    ASSIGN_OR_RETURN(promised.mirror, Get(from.mirror()));
  }
  promised.supported_term = from.supported_term();
  promised.support_left = Duration(std::max<int64_t>(from.support_left_nanoseconds(), 0));
  return promised;
}

StatusOr<Message> ReadMirrorUpdate(const v1::CoordinatorRecord& from) {
  ASSIGN_OR_RETURN(CoordinatorRecord record, Get(from));
  return MirrorUpdate{std::move(record)};
}

StatusOr<Message> ReadWelcome(const v1::Welcome& from) {
  ASSIGN_OR_RETURN(ShardMap map, Get(from.map()));
  return Welcome{NodeId(from.node()),   std::move(map),   from.servers_expected(),
                 from.servers_joined(), Get(from.sync()), Get(from.support())};
}

StatusOr<Message> ReadMapUpdate(const v1::ShardMap& from) {
  ASSIGN_OR_RETURN(ShardMap map, Get(from));
  return MapUpdate{std::move(map)};
}

StatusOr<Message> ReadNewestCheckpoint(const v1::RestorePoint& from) {
  ASSIGN_OR_RETURN(RestorePoint point, Get(from));
  return NewestCheckpoint{std::move(point)};
}

StatusOr<Message> ReadInstallTable(const v1::InstallTable& from) {
  ASSIGN_OR_RETURN(TableSpec spec, Get(from.spec()));
  ASSIGN_OR_RETURN(RestorePoint load, Get(from.load()));
  return InstallTable{TableId(from.table()), std::move(spec), std::move(load), MapVersion(from.map_version())};
}

StatusOr<Message> ReadSaveTables(const v1::SaveTables& from) {
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return SaveTables{Get(from.header()), from.directory()};
}

StatusOr<Message> ReadReportMetric(const v1::ReportMetric& from) {
  RETURN_IF_ERROR(CheckText(from.name(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
  return ReportMetric{Get(from.header()), from.name(), from.has_value() ? std::optional(from.value()) : std::nullopt};
}

StatusOr<Message> ReadNodeMessage(const v1::NodeMessage& message) {
  using Kind = v1::NodeMessage;
  switch (message.kind_case()) {
    case Kind::kJoin:
      return ReadJoin(message.join());
    case Kind::kMapRequest:
      return MapRequest{MapVersion(message.map_request().have())};
    case Kind::kMarkDone:
      return MarkDone{CutId(message.mark_done().cut())};
    case Kind::kSnapshotDone:
      return ReadSnapshotDone(message.snapshot_done());
    case Kind::kRowsReport:
      return ReadRowsReport(message.rows_report());
    case Kind::kHeartbeat:
      return ReadHeartbeat(message.heartbeat());
    case Kind::kOpenTable:
      return ReadOpenTable(message.open_table());
    case Kind::kTableInstalled:
      return TableInstalled{TableId(message.table_installed().table()), Get(message.table_installed().status())};
    case Kind::kOpenDataSet:
      return ReadOpenDataSet(message.open_data_set());
    case Kind::kLeaseRequest:
      return LeaseRequest{Get(message.lease_request().header()), DataSetId(message.lease_request().data_set())};
    case Kind::kLeaseDone:
      return LeaseDone{Get(message.lease_done().header()), LeaseId(message.lease_done().lease())};
    case Kind::kLeaseReturn:
      return LeaseReturn{Get(message.lease_return().header()), LeaseId(message.lease_return().lease()),
                         message.lease_return().position()};
    case Kind::kReportMetric:
      return ReadReportMetric(message.report_metric());
    case Kind::kSaveTables:
      return ReadSaveTables(message.save_tables());
    case Kind::kMirrorAck:
      return MirrorAck{message.mirror_ack()};
    case Kind::kPromised:
      return ReadPromised(message.promised());
    case Kind::kLeave:
      return Leave{Get(message.leave().header()), message.leave().steps(), message.leave().drained()};
    case Kind::KIND_NOT_SET:
      break;
  }
  return Error(StatusCode::kInvalidArgument, "control message of a kind this coordinator does not know");
}

StatusOr<Message> ReadCoordinatorMessage(const v1::CoordinatorMessage& message) {
  using Kind = v1::CoordinatorMessage;
  switch (message.kind_case()) {
    case Kind::kWelcome:
      return ReadWelcome(message.welcome());
    case Kind::kJoinRefused:
      return JoinRefused{Get(message.join_refused())};
    case Kind::kMapUpdate:
      return ReadMapUpdate(message.map_update());
    case Kind::kHeartbeatAck:
      return HeartbeatAck{message.heartbeat_ack().number(), Get(message.heartbeat_ack().sync()),
                          Duration(std::max<int64_t>(message.heartbeat_ack().liveness_nanoseconds(), 0)),
                          Get(message.heartbeat_ack().support())};
    case Kind::kMark:
      return ReadMark(message.mark());
    case Kind::kWriteSnapshot:
      return WriteSnapshot{CutId(message.write_snapshot().cut())};
    case Kind::kCutEnded:
      return CutEnded{CutId(message.cut_ended().cut())};
    case Kind::kMirrorUpdate:
      return ReadMirrorUpdate(message.mirror_update());
    case Kind::kPromise:
      return Promise{Get(message.promise().support())};
    case Kind::kSyncUpdate:
      return SyncUpdate{Get(message.sync_update())};
    case Kind::kTableOpened:
      return TableOpened{RequestId(message.table_opened().request()), TableId(message.table_opened().table())};
    case Kind::kNewestCheckpoint:
      return ReadNewestCheckpoint(message.newest_checkpoint());
    case Kind::kStillWorking:
      return StillWorking{RequestId(message.still_working())};
    case Kind::kInstallTable:
      return ReadInstallTable(message.install_table());
    case Kind::kDataSetOpened:
      return DataSetOpened{RequestId(message.data_set_opened().request()),
                           DataSetId(message.data_set_opened().data_set()), Get(message.data_set_opened().options())};
    case Kind::kLeaseGrant: {
      const v1::LeaseGrant& from = message.lease_grant();
      return LeaseGrant{RequestId(from.request()),
                        LeaseId(from.lease()),
                        DataSetId(from.data_set()),
                        from.epoch(),
                        from.begin(),
                        from.end(),
                        from.floor()};
    }
    case Kind::kLeasesEnded:
      return LeasesEnded{RequestId(message.leases_ended().request()), message.leases_ended().goal_reached()
                                                                          ? LeasesEndReason::kGoalReached
                                                                          : LeasesEndReason::kAllDone};
    case Kind::kDone:
      return Done{RequestId(message.done().request())};
    case Kind::kRefused:
      return Refused{RequestId(message.refused().request()), Get(message.refused().status())};
    case Kind::kGoalReached:
      return GoalReached{message.goal_reached().reason()};
    case Kind::kFinished:
      return Finished{};
    case Kind::kSessionLost:
      return SessionLost{Get(message.session_lost())};
    case Kind::KIND_NOT_SET:
      break;
  }
  return Error(StatusCode::kInvalidArgument, "control message of a kind this node does not know");
}

StatusOr<Message> Checked(StatusOr<Message> message) {
  if (message.ok()) RETURN_IF_ERROR(CheckMessage(*message));
  return message;
}

}  // namespace

StatusOr<Message> FromNodeMessage(const v1::NodeMessage& message) { return Checked(ReadNodeMessage(message)); }

StatusOr<Message> FromCoordinatorMessage(const v1::CoordinatorMessage& message) {
  return Checked(ReadCoordinatorMessage(message));
}

}  // namespace attune::ps
