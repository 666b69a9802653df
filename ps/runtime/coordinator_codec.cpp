#include "ps/runtime/coordinator_codec.h"

#include <algorithm>

#include "proto/contract.h"
#include "ps/core/limits.h"

namespace attune::ps {
namespace {

// --- parts, to protobuf

void Put(const Status& from, v1::JobStatus* to) {
  to->set_code(static_cast<uint32_t>(from.code()));
  to->set_message(std::string(attune::Message(from).substr(0, kStatusBytesMax)));
}

void Put(const ShardMap& from, v1::ShardMap* to) {
  to->set_version(from.version.value());
  to->set_recovered_at(from.recovered_at.value());
  to->set_recoveries(from.recoveries);
  for (const Shard& shard : from.shards) {
    to->add_homes(shard.home.value());
    to->add_backups(shard.backup.value());
    to->add_next_backups(shard.next_backup.value());
    to->add_join_ids(shard.join_id.value());
    to->add_routing_since(shard.routing_since.value());
  }
  for (const Member& member : from.members) {
    v1::JobMember* out = to->add_members();
    out->set_node(member.node.value());
    out->set_role(member.role == Role::kServer ? v1::NODE_ROLE_SERVER : v1::NODE_ROLE_WORKER);
    out->set_index(member.index);
    out->set_address(member.address);
    out->set_leaving(member.leaving);
    out->set_takes_rows(member.takes_rows);
  }
}

void Put(const SyncState& from, v1::SyncState* to) {
  to->set_revision(from.revision);
  to->set_floor(from.floor);
  to->set_slowest(from.slowest.value());
  if (from.mode.slack) to->set_slack(*from.mode.slack);
  if (from.mode_before.slack) to->set_slack_before(*from.mode_before.slack);
  to->set_mode_from(from.mode_from);
  to->set_hold(from.hold);
  to->set_hold_at(from.hold_at);
}

void Put(const RequestHeader& from, v1::RequestHeader* to) {
  to->set_request(from.request.value());
  to->set_answered_below(from.answered_below.value());
  to->set_remaining_nanoseconds(from.remaining.count());
}

void Put(const DataSetOptions& from, v1::DataSetOptions* to) {
  to->set_items(from.items);
  to->set_epochs(from.epochs);
  to->set_lease_items(from.lease_items);
}

struct OptimizerWriter {
  v1::TableSpec* to;
  void operator()(const Sgd& sgd) { to->mutable_sgd()->set_rate(sgd.rate); }
  void operator()(const Adagrad& adagrad) {
    to->mutable_adagrad()->set_rate(adagrad.rate);
    to->mutable_adagrad()->set_initial_accumulator(adagrad.initial_accumulator);
    to->mutable_adagrad()->set_epsilon(adagrad.epsilon);
  }
  void operator()(const Momentum& momentum) {
    to->mutable_momentum()->set_rate(momentum.rate);
    to->mutable_momentum()->set_momentum(momentum.momentum);
    to->mutable_momentum()->set_nesterov(momentum.nesterov);
  }
  void operator()(const RmsProp& rms_prop) {
    to->mutable_rms_prop()->set_rate(rms_prop.rate);
    to->mutable_rms_prop()->set_decay(rms_prop.decay);
    to->mutable_rms_prop()->set_epsilon(rms_prop.epsilon);
  }
  void operator()(const RowAdam& adam) {
    to->mutable_row_adam()->set_rate(adam.rate);
    to->mutable_row_adam()->set_beta1(adam.beta1);
    to->mutable_row_adam()->set_beta2(adam.beta2);
    to->mutable_row_adam()->set_epsilon(adam.epsilon);
  }
  void operator()(const Ftrl& ftrl) {
    to->mutable_ftrl()->set_alpha(ftrl.alpha);
    to->mutable_ftrl()->set_beta(ftrl.beta);
    to->mutable_ftrl()->set_l1(ftrl.l1);
    to->mutable_ftrl()->set_l2(ftrl.l2);
  }
};

struct InitializerWriter {
  v1::TableSpec* to;
  void operator()(const ConstantInitializer& constant) { to->mutable_constant()->set_value(constant.value); }
  void operator()(const UniformInitializer& uniform) {
    to->mutable_uniform()->set_low(uniform.low);
    to->mutable_uniform()->set_high(uniform.high);
  }
  void operator()(const NormalInitializer& normal) {
    to->mutable_normal()->set_mean(normal.mean);
    to->mutable_normal()->set_standard_deviation(normal.standard_deviation);
  }
  void operator()(const XavierInitializer& xavier) {
    to->mutable_xavier()->set_fan_in(xavier.fan_in);
    to->mutable_xavier()->set_fan_out(xavier.fan_out);
  }
};

void Put(const LearningRateSchedule& from, v1::TableSpec::Schedule* to) {
  to->set_decay(static_cast<uint32_t>(from.decay));
  to->set_warmup_steps(from.warmup_steps);
  to->set_decay_steps(from.decay_steps);
  to->set_final_factor(from.final_factor);
}

void Put(const TableSpec& from, v1::TableSpec* to) {
  to->set_name(from.name);
  to->set_dim(from.options.dim);
  to->set_seed(from.options.seed);
  to->set_rows_max(from.options.rows_max);
  std::visit(OptimizerWriter{to}, from.options.optimizer);
  std::visit(InitializerWriter{to}, from.options.initializer);
  if (from.options.schedule != LearningRateSchedule()) Put(from.options.schedule, to->mutable_schedule());
  to->set_value_type(static_cast<uint32_t>(from.options.value_type));
  to->set_non_finite_gradients(static_cast<uint32_t>(from.options.non_finite_gradients));
}

// --- whole messages, to protobuf; the template catches what does not travel in this direction

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
    to->set_rows_restored(from.rows_restored);
    return true;
  }
  bool operator()(const Heartbeat& from) {
    v1::Heartbeat* to = out.mutable_heartbeat();
    to->set_number(from.number);
    to->set_map_version(from.map_version.value());
    to->set_steps(from.steps);
    to->set_clock(from.clock);
    to->set_begun(from.begun);
    to->set_promised(from.promised);
    to->set_loss_sum(from.loss_sum);
    to->set_loss_samples(from.loss_samples);
    to->set_samples(from.samples);
    to->set_acked_below(from.acked_below.value());
    for (const LeasePosition& lease : from.leases) {
      v1::LeasePosition* position = to->add_leases();
      position->set_lease(lease.lease.value());
      position->set_position(lease.position);
    }
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
  bool operator()(const SaveTables& from) {
    Put(from.header, out.mutable_save_tables()->mutable_header());
    out.mutable_save_tables()->set_directory(from.directory);
    return true;
  }
  bool operator()(const TablesWritten& from) {
    v1::TablesWritten* to = out.mutable_tables_written();
    to->set_save(from.save.value());
    Put(from.status, to->mutable_status());
    for (const WrittenFile& file : from.files) {
      v1::WrittenFile* written = to->add_files();
      written->set_table(file.table.value());
      written->set_name(file.name);
      written->set_rows(file.rows);
      written->set_bytes(file.bytes);
      written->set_checksum(file.checksum);
      written->set_erased(file.erased);
      written->set_held(file.held);
    }
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
  bool operator()(const CutEnded& from) {
    out.mutable_cut_ended()->set_cut(from.cut.value());
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
  bool operator()(const WriteTables& from) {
    out.mutable_write_tables()->set_save(from.save.value());
    out.mutable_write_tables()->set_directory(from.directory);
    out.mutable_write_tables()->set_part(from.part);
    out.mutable_write_tables()->set_parts(from.parts);
    out.mutable_write_tables()->set_checkpoint(from.checkpoint);
    out.mutable_write_tables()->set_base(from.base);
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

// --- parts, from protobuf

Status TooMany(const char* what, uint64_t found, uint64_t limit) {
  return Error(StatusCode::kInvalidArgument, "control message with " + std::to_string(found) + " " + what +
                                                 "; at most " + std::to_string(limit) + " are allowed");
}

Status CheckText(const std::string& text, size_t limit, const char* what) {
  return text.size() <= limit ? OkStatus() : TooMany(what, text.size(), limit);
}

Status Get(const v1::JobStatus& from) {
  if (from.code() == 0) return OkStatus();
  const bool known = from.code() <= static_cast<uint32_t>(StatusCode::kUnauthenticated);
  return Error(known ? static_cast<StatusCode>(from.code()) : StatusCode::kUnknown,
               std::string_view(from.message()).substr(0, kStatusBytesMax));
}

StatusOr<Role> Get(v1::NodeRole from) {
  if (from == v1::NODE_ROLE_SERVER) return Role::kServer;
  if (from == v1::NODE_ROLE_WORKER) return Role::kWorker;
  return Error(StatusCode::kInvalidArgument, "control message with unknown role " + std::to_string(from));
}

StatusOr<ShardMap> Get(const v1::ShardMap& from) {
  ShardMap map;
  map.version = MapVersion(from.version());
  map.recovered_at = MapVersion(from.recovered_at());
  map.recoveries = static_cast<uint16_t>(from.recoveries());
  const auto shards = static_cast<size_t>(from.homes_size()), members = static_cast<size_t>(from.members_size());
  if (shards > kShardsMax) return TooMany("shards", shards, kShardsMax);
  if (from.backups_size() != from.homes_size() || from.next_backups_size() != from.homes_size() ||
      from.join_ids_size() != from.homes_size() || from.routing_since_size() != from.homes_size()) {
    return Error(StatusCode::kInvalidArgument, "shard map whose lists differ in length");
  }
  if (members > kMembersMax) return TooMany("members", members, kMembersMax);
  map.shards.reserve(shards);
  for (int i = 0; i < from.homes_size(); ++i) {
    map.shards.push_back({.home = NodeId(from.homes(i)),
                          .backup = NodeId(from.backups(i)),
                          .next_backup = NodeId(from.next_backups(i)),
                          .join_id = MapVersion(from.join_ids(i)),
                          .routing_since = MapVersion(from.routing_since(i))});
  }
  map.members.reserve(members);
  for (const v1::JobMember& member : from.members()) {
    RETURN_IF_ERROR(CheckText(member.address(), kNameBytesMax, "bytes of address"));
    ASSIGN_OR_RETURN(const Role role, Get(member.role()));
    map.members.push_back(
        {NodeId(member.node()), role, member.index(), member.address(), member.leaving(), member.takes_rows()});
  }
  if (map.formed()) RETURN_IF_ERROR(Validate(map));
  return map;
}

SyncState Get(const v1::SyncState& from) {
  SyncState state{.revision = from.revision(),
                  .floor = from.floor(),
                  .slowest = NodeId(from.slowest()),
                  .mode = {},
                  .mode_before = {},
                  .mode_from = from.mode_from(),
                  .hold = from.hold(),
                  .hold_at = from.hold_at()};
  if (from.has_slack()) state.mode.slack = from.slack();
  if (from.has_slack_before()) state.mode_before.slack = from.slack_before();
  return state;
}

RequestHeader Get(const v1::RequestHeader& from) {
  return {RequestId(from.request()), RequestId(from.answered_below()),
          Duration(std::max<int64_t>(from.remaining_nanoseconds(), 0))};
}

DataSetOptions Get(const v1::DataSetOptions& from) {
  return {.items = from.items(), .epochs = from.epochs(), .lease_items = from.lease_items()};
}

// An enumeration that travels as its number.
template <typename Enum>
Status GetEnum(const char* what, uint32_t number, Enum last, Enum* to) {
  if (number > static_cast<uint32_t>(last)) {
    return Error(StatusCode::kInvalidArgument, std::string(what) + ' ' + std::to_string(number) +
                                                   " is not known to this release; use the same release for all pods");
  }
  *to = static_cast<Enum>(number);
  return OkStatus();
}

StatusOr<Optimizer> GetOptimizer(const v1::TableSpec& from) {
  switch (from.optimizer_case()) {
    case v1::TableSpec::kSgd:
      return Sgd{.rate = from.sgd().rate()};
    case v1::TableSpec::kMomentum:
      return Momentum{.rate = from.momentum().rate(),
                      .momentum = from.momentum().momentum(),
                      .nesterov = from.momentum().nesterov()};
    case v1::TableSpec::kAdagrad:
      return Adagrad{.rate = from.adagrad().rate(),
                     .initial_accumulator = from.adagrad().initial_accumulator(),
                     .epsilon = from.adagrad().epsilon()};
    case v1::TableSpec::kRmsProp:
      return RmsProp{
          .rate = from.rms_prop().rate(), .decay = from.rms_prop().decay(), .epsilon = from.rms_prop().epsilon()};
    case v1::TableSpec::kRowAdam:
      return RowAdam{.rate = from.row_adam().rate(),
                     .beta1 = from.row_adam().beta1(),
                     .beta2 = from.row_adam().beta2(),
                     .epsilon = from.row_adam().epsilon()};
    case v1::TableSpec::kFtrl:
      return Ftrl{
          .alpha = from.ftrl().alpha(), .beta = from.ftrl().beta(), .l1 = from.ftrl().l1(), .l2 = from.ftrl().l2()};
    default:
      return Error(StatusCode::kInvalidArgument, "table '" + from.name() + "' has no optimizer this release knows");
  }
}

StatusOr<Initializer> GetInitializer(const v1::TableSpec& from) {
  switch (from.initializer_case()) {
    case v1::TableSpec::kConstant:
      return ConstantInitializer{.value = from.constant().value()};
    case v1::TableSpec::kUniform:
      return UniformInitializer{.low = from.uniform().low(), .high = from.uniform().high()};
    case v1::TableSpec::kNormal:
      return NormalInitializer{.mean = from.normal().mean(), .standard_deviation = from.normal().standard_deviation()};
    case v1::TableSpec::kXavier:
      return XavierInitializer{.fan_in = from.xavier().fan_in(), .fan_out = from.xavier().fan_out()};
    default:
      return Error(StatusCode::kInvalidArgument, "table '" + from.name() + "' has no initializer this release knows");
  }
}

StatusOr<TableSpec> Get(const v1::TableSpec& from) {
  RETURN_IF_ERROR(CheckText(from.name(), kNameBytesMax, "bytes of table name"));
  TableSpec spec{.name = from.name(), .options = {.dim = from.dim(), .seed = from.seed(), .rows_max = from.rows_max()}};
  TableOptions& options = spec.options;
  ASSIGN_OR_RETURN(options.optimizer, GetOptimizer(from));
  ASSIGN_OR_RETURN(options.initializer, GetInitializer(from));
  RETURN_IF_ERROR(GetEnum("learning-rate decay", from.schedule().decay(), LearningRateDecay::kInverseSquareRoot,
                          &options.schedule.decay));
  options.schedule.warmup_steps = from.schedule().warmup_steps();
  options.schedule.decay_steps = from.schedule().decay_steps();
  options.schedule.final_factor = from.schedule().final_factor();
  RETURN_IF_ERROR(GetEnum("value type", from.value_type(), ValueType::kBfloat16, &options.value_type));
  RETURN_IF_ERROR(GetEnum("policy for gradients", from.non_finite_gradients(), NonFiniteGradients::kSkipRow,
                          &options.non_finite_gradients));
  return spec;
}

// --- whole messages, from protobuf

StatusOr<Message> ReadJoin(const v1::Join& from) {
  if (from.protocol_version() != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "protocol version " + std::to_string(from.protocol_version()) + " joins a coordinator of version " +
                     std::to_string(contract::kProtocolVersion) + "; use the same release for all pods of a job");
  }
  RETURN_IF_ERROR(CheckText(from.job_uid(), kNameBytesMax, "bytes of job id"));
  RETURN_IF_ERROR(CheckText(from.address(), kNameBytesMax, "bytes of address"));
  ASSIGN_OR_RETURN(const Role role, Get(from.role()));
  return Join{from.incarnation(), from.job_uid(), role, from.index(), from.address()};
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
                    .rows_restored = from.rows_restored()};
  for (const uint64_t join : from.joins_done()) report.joins_done.push_back(MapVersion(join));
  return report;
}

StatusOr<Message> ReadHeartbeat(const v1::Heartbeat& from) {
  const auto leases = static_cast<size_t>(from.leases_size());
  if (leases > kLeasesPerWorkerMax) return TooMany("leases", leases, kLeasesPerWorkerMax);
  Heartbeat heartbeat{.number = from.number(),
                      .map_version = MapVersion(from.map_version()),
                      .steps = from.steps(),
                      .clock = from.clock(),
                      .begun = from.begun(),
                      .promised = from.promised(),
                      .loss_sum = from.loss_sum(),
                      .loss_samples = from.loss_samples(),
                      .samples = from.samples(),
                      .acked_below = SequenceNumber(from.acked_below()),
                      .leases = {}};
  for (const v1::LeasePosition& lease : from.leases()) {
    heartbeat.leases.push_back({LeaseId(lease.lease()), lease.position()});
  }
  return heartbeat;
}

StatusOr<Message> ReadTablesWritten(const v1::TablesWritten& from) {
  const auto files = static_cast<size_t>(from.files_size());
  if (files > kTablesMax) return TooMany("files", files, kTablesMax);
  TablesWritten written{SaveId(from.save()), Get(from.status()), {}};
  for (const v1::WrittenFile& file : from.files()) {
    RETURN_IF_ERROR(CheckText(file.name(), kPathBytesMax, "bytes of path"));
    written.files.push_back(
        {TableId(file.table()), file.name(), file.rows(), file.bytes(), file.checksum(), file.erased(), file.held()});
  }
  return written;
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

StatusOr<Message> ReadWelcome(const v1::Welcome& from) {
  ASSIGN_OR_RETURN(ShardMap map, Get(from.map()));
  return Welcome{NodeId(from.node()), std::move(map), from.servers_expected(), from.servers_joined(), Get(from.sync())};
}

StatusOr<Message> ReadMapUpdate(const v1::ShardMap& from) {
  ASSIGN_OR_RETURN(ShardMap map, Get(from));
  return MapUpdate{std::move(map)};
}

StatusOr<Message> ReadInstallTable(const v1::InstallTable& from) {
  ASSIGN_OR_RETURN(TableSpec spec, Get(from.spec()));
  return InstallTable{TableId(from.table()), std::move(spec)};
}

StatusOr<Message> ReadWriteTables(const v1::WriteTables& from) {
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return WriteTables{SaveId(from.save()), from.directory(), from.part(), from.parts(), from.checkpoint(), from.base()};
}

StatusOr<Message> ReadSaveTables(const v1::SaveTables& from) {
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return SaveTables{Get(from.header()), from.directory()};
}

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

StatusOr<Message> FromNodeMessage(const v1::NodeMessage& message) {
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
    case Kind::kSaveTables:
      return ReadSaveTables(message.save_tables());
    case Kind::kTablesWritten:
      return ReadTablesWritten(message.tables_written());
    case Kind::kLeave:
      return Leave{Get(message.leave().header()), message.leave().steps()};
    case Kind::KIND_NOT_SET:
      break;
  }
  return Error(StatusCode::kInvalidArgument, "control message of a kind this coordinator does not know");
}

StatusOr<Message> FromCoordinatorMessage(const v1::CoordinatorMessage& message) {
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
                          Duration(std::max<int64_t>(message.heartbeat_ack().liveness_nanoseconds(), 0))};
    case Kind::kMark:
      return ReadMark(message.mark());
    case Kind::kCutEnded:
      return CutEnded{CutId(message.cut_ended().cut())};
    case Kind::kSyncUpdate:
      return SyncUpdate{Get(message.sync_update())};
    case Kind::kTableOpened:
      return TableOpened{RequestId(message.table_opened().request()), TableId(message.table_opened().table())};
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
    case Kind::kWriteTables:
      return ReadWriteTables(message.write_tables());
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

}  // namespace attune::ps
