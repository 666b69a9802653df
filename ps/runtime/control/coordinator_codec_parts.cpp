#include "ps/runtime/control/coordinator_codec_parts.h"

#include <algorithm>

#include "ps/core/protocol/limits.h"

namespace attune::ps::codec {

void Put(const Status& from, v1::JobStatus* to) {
  to->set_code(static_cast<uint32_t>(from.code()));
  to->set_message(std::string(attune::Message(from).substr(0, kStatusBytesMax)));
}

void Put(const Member& from, v1::JobMember* to) {
  to->set_node(from.node.value());
  to->set_role(from.role == Role::kServer ? v1::NODE_ROLE_SERVER : v1::NODE_ROLE_WORKER);
  to->set_index(from.index);
  to->set_address(from.address);
  to->set_machine(from.machine);
  to->set_leaving(from.leaving);
  to->set_takes_rows(from.takes_rows);
  to->set_incarnation(from.incarnation);
}

void Put(const ShardMap& from, v1::ShardMap* to) {
  to->set_version(from.version.value());
  to->set_recovered_at(from.recovered_at.value());
  to->set_recoveries(from.recoveries);
  to->set_records_from(from.records_from);
  to->set_marked(from.marked.value());
  for (const Shard& shard : from.shards) {
    to->add_homes(shard.home.value());
    to->add_backups(shard.backup.value());
    to->add_next_backups(shard.next_backup.value());
    to->add_join_ids(shard.join_id.value());
    to->add_routing_since(shard.routing_since.value());
  }
  for (const Member& member : from.members) Put(member, to->add_members());
  for (const Member& member : from.former_voters) Put(member, to->add_former_voters());
  for (const Voters& voters : from.voters) {
    v1::Voters* out = to->add_voters();
    out->set_map_version(voters.map_version.value());
    for (const NodeId node : voters.nodes) out->add_nodes(node.value());
    for (const uint32_t votes : voters.votes) out->add_votes(votes);
  }
}

void Put(const SupportQuestion& from, v1::SupportQuestion* to) {
  to->set_number(from.number);
  to->set_lasts_nanoseconds(from.lasts.count());
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
  to->set_when_due(from.when_due);
}

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

StatusOr<Member> Get(const v1::JobMember& from) {
  RETURN_IF_ERROR(CheckText(from.address(), kNameBytesMax, "bytes of address"));
  RETURN_IF_ERROR(CheckText(from.machine(), kNameBytesMax, "bytes of machine name"));
  ASSIGN_OR_RETURN(const Role role, Get(from.role()));
  return Member{.node = NodeId(from.node()),
                .role = role,
                .index = from.index(),
                .address = from.address(),
                .leaving = from.leaving(),
                .takes_rows = from.takes_rows(),
                .incarnation = from.incarnation(),
                .machine = from.machine()};
}

StatusOr<ShardMap> Get(const v1::ShardMap& from) {
  ShardMap map;
  map.version = MapVersion(from.version());
  map.recovered_at = MapVersion(from.recovered_at());
  map.recoveries = static_cast<uint16_t>(from.recoveries());
  map.records_from = from.records_from();
  map.marked = CutId(from.marked());
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
  const auto former = static_cast<size_t>(from.former_voters_size());
  if (former > kMembersMax) return TooMany("former voters", former, kMembersMax);
  map.members.reserve(members);
  for (const v1::JobMember& member : from.members()) {
    ASSIGN_OR_RETURN(map.members.emplace_back(), Get(member));
  }
  for (const v1::JobMember& member : from.former_voters()) {
    ASSIGN_OR_RETURN(map.former_voters.emplace_back(), Get(member));
  }
  if (static_cast<size_t>(from.voters_size()) > kVoterSetsMax) {
    return TooMany("sets of voters", static_cast<size_t>(from.voters_size()), kVoterSetsMax);
  }
  for (const v1::Voters& voters : from.voters()) {
    const auto nodes = static_cast<size_t>(voters.nodes_size());
    if (nodes > kServersMax) return TooMany("voters", nodes, kServersMax);
    const auto votes = static_cast<size_t>(voters.votes_size());
    if (votes > kServersMax) return TooMany("numbers of votes", votes, kServersMax);
    map.voters.push_back({.map_version = MapVersion(voters.map_version()),
                          .nodes = {voters.nodes().begin(), voters.nodes().end()},
                          .votes = {voters.votes().begin(), voters.votes().end()}});
  }
  return map;
}

SupportQuestion Get(const v1::SupportQuestion& from) {
  return {from.number(), Duration(std::max<int64_t>(from.lasts_nanoseconds(), 0))};
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
  return {
      .items = from.items(), .epochs = from.epochs(), .lease_items = from.lease_items(), .when_due = from.when_due()};
}

void Put(const RestorePoint& from, v1::RestorePoint* to) {
  to->set_directory(from.directory);
  to->set_checkpoint(from.checkpoint);
  to->set_clock(from.clock);
}

StatusOr<RestorePoint> Get(const v1::RestorePoint& from) {
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return RestorePoint{from.directory(), from.checkpoint(), from.clock()};
}

}  // namespace attune::ps::codec
