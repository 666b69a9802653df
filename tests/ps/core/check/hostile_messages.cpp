#include "tests/ps/core/check/hostile_messages.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "ps/core/check/message_check.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "ps/transport/frame.h"

namespace attune::ps {

uint64_t HostileMessages::Number(uint64_t below) {
  if (!random_.Chance(0.01)) return below == 0 ? 0 : random_.Below(below);
  constexpr uint64_t kNotable[] = {0,           1,           63,         64,         511,        65535,      1U << 22,
                                   0x7FFFFFFFU, 0xFFFFFFFFU, 1ULL << 32, 1ULL << 48, 1ULL << 62, 1ULL << 63, ~0ULL};
  return kNotable[random_.Below(std::size(kNotable))] + random_.Below(3) - 1;
}

MapVersion HostileMessages::Version() {
  if (random_.Chance(0.02)) return MapVersion(Number(1U << 20));
  const uint64_t now = map_.version.value();
  return random_.Chance(0.1) && now > 0 ? MapVersion(now + random_.Below(3) - 1) : map_.version;
}

RowVersion HostileMessages::OfRow() {
  if (random_.Chance(0.02)) return RowVersion(Number(1000));
  const auto era = static_cast<uint16_t>(random_.Below(map_.recoveries + uint64_t{1}));
  return RowVersion(era, random_.Below(6));
}

double HostileMessages::Fraction() {
  if (!random_.Chance(0.03)) return random_.Uniform();
  constexpr double kNotable[] = {
      std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308, -1e308, 0, -1};
  return kNotable[random_.Below(std::size(kNotable))];
}

size_t HostileMessages::WidthOf(TableId table, bool with_state) {
  if (random_.Chance(0.02)) return random_.Below(9);
  if (table.value() == 2) return with_state ? 6 : 3;
  return 2;
}

std::vector<Key> HostileMessages::Keys(size_t count) {
  std::vector<Key> keys;
  Key next = random_.Below(kKeys);
  for (size_t i = 0; i < count; ++i) {
    keys.push_back(next % kKeys);
    next += random_.Chance(0.02) ? 0 : 1 + random_.Below(kKeys / 8);
  }
  return keys;
}

Positions HostileMessages::PositionsOf(size_t count) {
  if (random_.Chance(0.02)) count = Number(8);
  if (random_.Chance(0.5)) {
    return {.first = static_cast<uint32_t>(Number(30)), .count = static_cast<uint32_t>(count), .list = {}};
  }
  Positions positions;
  uint64_t next = Number(30);
  for (size_t i = 0; i < std::min<size_t>(count, 64); ++i) {
    positions.list.push_back(static_cast<uint32_t>(next));
    next += random_.Chance(0.01) ? 0 : 1 + Number(200);
  }
  return positions;
}

std::vector<float> HostileMessages::Values(size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(Fraction());
  if (!random_.Chance(0.05)) {
    for (float& value : values) value = value < 1 ? value : 1;
  }
  return values;
}

template <typename T, typename Make>
std::vector<T> HostileMessages::Some(size_t count, Make make) {
  if (random_.Chance(0.01)) count = random_.Below(9);
  std::vector<T> items;
  for (size_t i = 0; i < count; ++i) items.push_back(make());
  return items;
}

RowBatch HostileMessages::Rows() {
  RowBatch rows{.table = Table()};
  const size_t count = random_.Below(5);
  rows.keys = Keys(count);
  rows.versions = Some<RowVersion>(count, [&] { return OfRow(); });
  rows.move_numbers = Some<uint16_t>(count, [&] { return static_cast<uint16_t>(random_.Below(4)); });
  rows.values = Values(count * WidthOf(rows.table, true));
  return rows;
}

Records HostileMessages::RecordsOf(size_t keys) {
  Records records;
  for (size_t i = random_.Below(4); i > 0; --i) {
    records.records.push_back({.sequence = Sequence(),
                               .origin = Node(),
                               .position = static_cast<uint32_t>(Number(40)),
                               .key_index = static_cast<uint32_t>(Number(keys + 1)),
                               .refused = random_.Chance(0.1)});
    if (keys > 0 && !random_.Chance(0.02)) records.records.back().key_index %= keys;
  }
  for (size_t i = random_.Below(3); i > 0; --i) {
    records.settled.push_back({.origin = Node(), .acked_below = SequenceNumber(Number(6))});
  }
  return records;
}

DirectoryBatch HostileMessages::Entries() {
  DirectoryBatch entries{.table = Table()};
  const size_t count = random_.Below(6);
  entries.keys = Keys(count);
  entries.owners = Some<NodeId>(count, [&] { return Node(); });
  entries.move_numbers = Some<uint16_t>(count, [&] { return static_cast<uint16_t>(random_.Below(4)); });
  return entries;
}

template <typename Pushed>
void HostileMessages::Fill(Pushed& pushed) {
  pushed.origin = Node();
  pushed.sequence = Sequence();
  pushed.table = Table();
  pushed.acked_below = SequenceNumber(Number(4));
  const size_t count = 1 + random_.Below(4);
  pushed.positions = PositionsOf(count);
  pushed.keys = Keys(count);
  const bool is_fold = random_.Chance(0.2);
  pushed.gradients = Values(count * WidthOf(pushed.table, is_fold));  // SGD and Adagrad: as wide as a row
  for (size_t i = is_fold ? count : 0; i > 0; --i) {
    const auto pushes = static_cast<uint32_t>(1 + Number(5));
    pushed.folds.push_back({.pushes = pushes, .updates = static_cast<uint32_t>(Number(pushes + 1))});
  }
  pushed.step = Number(100);
}

Message HostileMessages::AnyRow() {
  const auto ids = [&](size_t count) {
    std::vector<ShardId> shards;
    for (uint32_t i = 0; i < count; ++i) shards.push_back(ShardId(static_cast<uint32_t>(2 * i + Number(3))));
    return shards;
  };
  switch (random_.Below(26)) {
    case 0:
    case 1: {
      Push push;
      Fill(push);
      push.by_home = random_.Chance(0.3);
      push.seen = OfRow();
      push.seen_index = static_cast<uint32_t>(Number(push.keys.size()));
      return push;
    }
    case 2:
    case 3: {
      Pull pull{.origin = Node(),
                .request = RequestId(1 + Number(30)),
                .table = Table(),
                .acked_below = SequenceNumber(Number(4)),
                .remaining = Duration(Number(2000000000))};
      const size_t count = 1 + random_.Below(4);
      pull.keys = Keys(count);
      pull.positions = PositionsOf(count);
      pull.by_home = random_.Chance(0.3);
      for (size_t i = random_.Below(3); i > 0; --i) {
        pull.after.push_back({Sequence(), static_cast<uint32_t>(Number(40)), static_cast<uint32_t>(Number(count))});
      }
      return pull;
    }
    case 4: {
      const size_t count = 1 + random_.Below(4);
      return PushAck{.sequence = Sequence(), .positions = PositionsOf(count), .owner = Node(), .staleness = Number(9)};
    }
    case 5:
      return PushRefused{.sequence = Sequence(),
                         .positions = PositionsOf(1 + random_.Below(4)),
                         .status = Error(StatusCode::kResourceExhausted, "full")};
    case 6: {
      const size_t count = 1 + random_.Below(4);
      PullReply reply{.request = RequestId(1 + Number(30)), .positions = PositionsOf(count)};
      reply.rows = Values(count * WidthOf(Table(), false));
      reply.versions = Some<RowVersion>(random_.Below(count + 1), [&] { return OfRow(); });
      return reply;
    }
    case 7:
      return random_.Chance(0.5) ? Message(Moved{.request = RequestId(1 + Number(30))})
                                 : Message(Moved{.sequence = Sequence()});
    case 8:
      return Localize{.table = Table(), .to = Node(), .keys = Keys(random_.Below(4))};
    case 9:
    case 10: {
      const size_t count = 1 + random_.Below(3);
      MoveOrder order{.table = Table(), .to = Node(), .keys = Keys(count)};
      order.move_numbers = Some<uint16_t>(count, [&] { return static_cast<uint16_t>(random_.Below(4)); });
      return order;
    }
    case 11:
    case 12: {
      Handover handover{.handover = Number(20), .mark = CutId(Number(4)), .rows = Rows()};
      handover.records = RecordsOf(handover.rows.keys.size());
      return handover;
    }
    case 13:
      return HandoverAck{.handover = 1 + Number(8), .arrived_at = Version()};
    case 14:
    case 15:
    case 16: {
      Replicate replicate;
      Fill(replicate);
      replicate.versions = Some<RowVersion>(replicate.keys.size(), [&] { return OfRow(); });
      replicate.owner = Node();
      replicate.ack_wanted = random_.Chance(0.8);
      replicate.relayed = random_.Chance(0.3);
      replicate.probe = random_.Chance(0.2);
      replicate.map_version = Version();
      if (random_.Chance(0.2)) return ReplicateRefused{.replicate = std::move(replicate)};
      return replicate;
    }
    case 17:
      return InstallWanted{.table = Table(), .keys = Keys(random_.Below(4)), .by_home = random_.Chance(0.3)};
    case 18: {
      Install install{.install = Number(6), .rows = Rows()};
      install.records = RecordsOf(install.rows.keys.size());
      return install;
    }
    case 19:
      return random_.Chance(0.5) ? Message(InstallAck{.install = 1 + Number(8)})
                                 : Message(JoinMarker{.join_id = Version()});
    case 20:
      return HomeHandoff{.entries = Entries(), .complete = ids(random_.Below(4))};
    case 21:
      if (random_.Chance(0.3)) return CollectOwners{.recovered_at = map_.recovered_at};
      return OwnersReport{.recovered_at = map_.recovered_at, .entries = Entries(), .last = random_.Chance(0.5)};
    case 22: {
      if (random_.Chance(0.4)) {
        return FetchRows{.recovered_at = map_.recovered_at,
                         .table = Table(),
                         .keys = Keys(random_.Below(5)),
                         .all_but = random_.Chance(0.5),
                         .shards = ids(random_.Below(4)),
                         .last = random_.Chance(0.5)};
      }
      FetchedRows fetched{.recovered_at = map_.recovered_at, .rows = Rows()};
      fetched.records = RecordsOf(fetched.rows.keys.size());
      fetched.all_but = random_.Chance(0.5);
      fetched.last = random_.Chance(0.5);
      return fetched;
    }
    case 23: {
      const size_t count = random_.Below(5);
      Round round{.number = 1 + Number(6), .first = random_.Chance(0.2), .last = random_.Chance(0.8), .table = Table()};
      round.rounds_per_second = Number(100);
      round.picoseconds_per_byte = Number(100'000);
      round.keys = Keys(count);
      round.uses = Some<AnnouncedUse>(count, [&] {
        return AnnouncedUse{.reads = static_cast<uint8_t>(random_.Below(4)),
                            .writes = static_cast<uint8_t>(random_.Below(4)),
                            .milliseconds = static_cast<uint16_t>(random_.Below(3) * 20)};
      });
      for (size_t i = count > 0 ? random_.Below(3) : 0; i > 0; --i) {
        round.after.push_back({Sequence(), static_cast<uint32_t>(Number(40)), static_cast<uint32_t>(Number(count))});
      }
      return round;
    }
    case 24: {
      const size_t count = random_.Below(5);
      RoundReply reply{.number = 1 + Number(6), .last = random_.Chance(0.8), .table = Table()};
      reply.keys = Keys(count);
      reply.versions = Some<RowVersion>(count, [&] { return OfRow(); });
      reply.rows = Values(count * WidthOf(reply.table, true));
      for (size_t i = random_.Below(3); i > 0; --i) reply.left.push_back(random_.Below(kKeys));
      return reply;
    }
    default: {
      if (random_.Chance(0.3)) return SnapshotRowsAck{.cut = CutId(Number(4)), .number = 1 + Number(6)};
      SnapshotRows rows{.cut = CutId(Number(4)), .number = Number(6), .rows = Rows()};
      rows.records = RecordsOf(rows.rows.keys.size());
      return rows;
    }
  }
}

// A bit, a byte, or a notable number at any place.
void HostileMessages::Damage(std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  for (uint64_t n = 1 + random_.Below(3); n > 0; --n) {
    const size_t at = random_.Below(bytes.size());
    if (random_.Chance(0.4)) {
      bytes[at] ^= static_cast<std::byte>(1U << random_.Below(8));
    } else if (random_.Chance(0.4)) {
      bytes[at] = static_cast<std::byte>(random_.Next());
    } else {
      const uint64_t number = Number(256);
      std::memcpy(&bytes[at], &number, std::min<size_t>(bytes.size() - at, size_t{1} << random_.Below(4)));
    }
  }
}

std::optional<Message> HostileMessages::Row(const LinkHeader& link) {
  Message message = AnyRow();
  SetMapVersion(message, Version());
  const StatusOr<OutgoingFrame> frame = EncodeFrame(message);
  if (!frame.ok()) return std::nullopt;
  wire::FrameHeader header = frame->header;
  header.core_sequence = link.sequence;
  header.core_delivered = link.delivered;
  iovec parts[OutgoingFrame::kPartsMax];
  std::vector<std::byte> payload;
  const int count = frame->Gather(sizeof header, parts);
  for (int i = 0; i < count; ++i) {
    const auto* from = static_cast<const std::byte*>(parts[i].iov_base);
    payload.insert(payload.end(), from, from + parts[i].iov_len);
  }
  if (random_.Chance(0.1)) Damage(std::as_writable_bytes(std::span(&header, 1)));
  if (random_.Chance(0.1)) Damage(payload);
  constexpr size_t kPayloadMax = 1 << 20;
  if (!CheckHeader(header).ok() || PayloadBytes(header) > kPayloadMax) return std::nullopt;
  payload.resize(PayloadBytes(header));
  const std::shared_ptr<void> block(::operator new(payload.size() + 1, std::align_val_t(8)),
                                    [](void* memory) { ::operator delete(memory, std::align_val_t(8)); });
  if (!payload.empty()) std::memcpy(block.get(), payload.data(), payload.size());
  StatusOr<Message> decoded =
      DecodeFrame(header, {.owner = block, .block = {static_cast<std::byte*>(block.get()), payload.size()}});
  if (!decoded.ok() || !CheckOrder(*decoded, link).ok()) return std::nullopt;
  return *std::move(decoded);
}

// --- the coordinator's stream

SyncState HostileMessages::Sync() {
  SyncState sync{.revision = Number(100),
                 .floor = Number(8),
                 .slowest = NodeId(static_cast<uint32_t>(Number(kNodes + 1))),
                 .mode_from = Number(8),
                 .hold = random_.Chance(0.2) ? Number(4) : 0,
                 .hold_at = Number(8)};
  if (random_.Chance(0.5)) sync.mode = SyncMode::Ssp(static_cast<uint32_t>(Number(4)));
  return sync;
}

Heartbeat HostileMessages::Standing() {
  Heartbeat heartbeat{.number = Number(100),
                      .map_version = Version(),
                      .steps = Number(20),
                      .clock = Number(20),
                      .begun = Number(20),
                      .promised = (uint64_t{1} << 32) + Number(6),
                      .loss_sum = Fraction(),
                      .loss_samples = Number(20),
                      .samples = Number(20),
                      .acked_below = SequenceNumber(Number(6))};
  for (size_t i = random_.Below(3); i > 0; --i) {
    heartbeat.leases.push_back({LeaseId(1 + Number(6)), random_.Chance(0.1) ? UINT64_MAX : Number(40)});
  }
  return heartbeat;
}

ShardMap HostileMessages::NextMap(NodeId self) {
  ShardMap next = map_;
  const bool formed = map_.formed();
  next.version = formed ? map_.version.Next() : MapVersion(1, 0);
  std::vector<NodeId> servers;
  if (!formed || random_.Chance(0.3)) {
    const std::vector<Member> before = std::exchange(next.members, {});
    for (uint32_t i = 1; i <= kNodes; ++i) {
      const bool server = i <= kServers;
      if (NodeId(i) != self && i != 1 && random_.Chance(0.2)) continue;
      if (formed && std::ranges::find(before, NodeId(i), &Member::node) == before.end()) continue;  // never comes back
      next.members.push_back({.node = NodeId(i),
                              .role = server ? Role::kServer : Role::kWorker,
                              .index = server ? i - 1 : i - kServers - 1,
                              .address = "127.0.0.1:" + std::to_string(7000 + i),
                              .leaving = random_.Chance(0.1),
                              .takes_rows = !server && random_.Chance(0.8),
                              .incarnation = i});
    }
  }
  for (const Member& member : next.members) {
    if (member.role == Role::kServer) servers.push_back(member.node);
  }
  const auto any = [&] { return servers[random_.Below(servers.size())]; };
  const auto is_server = [&](NodeId node) { return std::ranges::find(servers, node) != servers.end(); };
  const bool lost = next.members.size() < map_.members.size();
  if (formed && (lost || random_.Chance(0.2))) {
    next.recovered_at = next.version;
    ++next.recoveries;
  }
  next.shards.resize(kShards);
  for (Shard& shard : next.shards) {
    if (!formed || random_.Chance(0.2) || !is_server(shard.home)) shard.home = any();
    if (!is_server(shard.backup) || random_.Chance(0.2)) shard.backup = random_.Chance(0.6) ? any() : NodeId();
    if (shard.backup == shard.home) shard.backup = NodeId();
    shard.next_backup = random_.Chance(0.2) ? any() : NodeId();
    if (shard.next_backup == shard.home || shard.next_backup == shard.backup) shard.next_backup = NodeId();
    shard.join_id = shard.next_backup == NodeId() ? MapVersion() : next.version;
    shard.routing_since = next.version;
  }
  map_ = next;
  return next;
}

TableSpec HostileMessages::Spec(uint32_t table) {
  TableSpec spec{.name = "table-" + std::to_string(table), .options = {.dim = table == 2 ? 3U : 2U}};
  if (table == 2) spec.options.optimizer = Adagrad{};
  return spec;
}

CoordinatorRecord HostileMessages::Record() {
  CoordinatorRecord record{.number = (uint64_t{1} << 32) + Number(9),
                           .host = NodeId(static_cast<uint32_t>(Number(kServers + 1))),
                           .items = Number(100),
                           .lease_items = Number(20),
                           .servers = static_cast<uint32_t>(1 + Number(kServers)),
                           .synchronization = random_.Chance(0.5) ? "ssp:2" : "async",
                           .row_management = static_cast<RowManagement>(random_.Below(3)),
                           .servers_wanted = static_cast<uint32_t>(Number(4)),
                           .backups = static_cast<uint32_t>(Number(2)),
                           .next_node = NodeId(static_cast<uint32_t>(6 + Number(4096))),
                           .newest_steps = Number(50),
                           .steps_of_gone = Number(50),
                           .trained_seconds = Fraction(),
                           .smoothed_loss = Fraction(),
                           .loss_windows = Number(9),
                           .closing_from = NodeId(static_cast<uint32_t>(Number(5)))};
  if (random_.Chance(0.5)) record.goal.epochs = 1 + Number(4);
  for (uint32_t i = 1; i <= kNodes; ++i) record.nodes.push_back({NodeId(i), random_.Chance(0.5)});
  for (uint32_t i = 1; i <= kTables; ++i) record.tables.push_back({Spec(i), false, random_.Chance(0.7)});
  for (size_t sets = random_.Below(3); sets > 0; --sets) {
    CutRecord::DataSet progress{.name = "data-" + std::to_string(sets),
                                .items = 1 + Number(60),
                                .epochs = Number(4),
                                .lease_items = 1 + Number(20),
                                .finished_epochs = Number(3)};
    CoordinatorRecord::DataSet data_set{.follows_goal = random_.Chance(0.7), .closing = random_.Chance(0.2)};
    data_set.items_in_newest = Number(60);
    data_set.lease_size_chosen = random_.Chance(0.3);
    uint64_t epoch = progress.finished_epochs, at = 0;
    for (size_t i = random_.Below(6); i > 0; --i) {
      const uint64_t begin = at + Number(5), end = begin + 1 + Number(9);
      if (random_.Chance(0.5)) {
        progress.done.push_back({epoch, begin, end});
      } else {
        progress.open.push_back({epoch, begin, end, begin + Number(end - begin + 1)});
        data_set.holders.push_back({LeaseId(1 + Number(12)), Node()});
      }
      at = end;
      if (random_.Chance(0.3)) ++epoch, at = 0;
    }
    data_set.progress = std::move(progress);
    record.data_sets.push_back(std::move(data_set));
  }
  return record;
}

Message HostileMessages::AnyOfNode() {
  switch (random_.Below(18)) {
    case 0:
    case 1: {
      const auto place = static_cast<uint32_t>(random_.Below(kNodes));
      const bool server = place < kServers;
      return Join{.incarnation = random_.Chance(0.1) ? Number(100) : place + 1,
                  .job_uid = "job",
                  .role = server ? Role::kServer : Role::kWorker,
                  .index = server ? place : place - kServers,
                  .address = "127.0.0.1:" + std::to_string(7001 + place),
                  .takes_rows = random_.Chance(0.3),
                  .node = random_.Chance(0.2) ? Node() : NodeId(),
                  .term = random_.Chance(0.02) ? 2U : 0U};
    }
    case 2:
      return MapRequest{Version()};
    case 3:
    case 4:
    case 5:
      return Standing();
    case 6:
      if (random_.Chance(0.3)) {
        LoadReport load{.number = Number(100), .map_version = Version()};
        load.lasted = std::chrono::milliseconds(random_.Below(random_.Chance(0.1) ? 1U << 30 : 2000U));
        load.shards = Some<ShardKeys>(random_.Below(4), [&] {
          return ShardKeys{ShardId(static_cast<uint32_t>(Number(9))), Number(100'000)};
        });
        return load;
      }
      [[fallthrough]];
    case 7: {
      RowsReport report{.number = Number(100), .map_version = Version()};
      if (random_.Chance(0.2)) report.shards_not_ready = static_cast<uint32_t>(Number(4));
      report.joins_done = Some<MapVersion>(random_.Below(3), [&] { return Version(); });
      report.rows_held = random_.Chance(0.5) ? Number(50) : 0;
      report.rows_to_come = random_.Chance(0.1) ? Number(9) : 0;
      report.rows_received = Number(50);
      report.shards_restored = Number(3);
      return report;
    }
    case 8:
      return OpenTable{Header(), Spec(static_cast<uint32_t>(1 + random_.Below(kTables)))};
    case 9:
      return TableInstalled{Table(), random_.Chance(0.9) ? OkStatus() : Error(StatusCode::kResourceExhausted, "full")};
    case 10:
      return OpenDataSet{
          Header(),
          "data-" + std::to_string(random_.Below(3)),
          {.items = Number(60), .epochs = Number(3), .lease_items = Number(20), .when_due = random_.Chance(0.2)}};
    case 11:
      return LeaseRequest{Header(), DataSetId(static_cast<uint32_t>(1 + Number(3)))};
    case 12:
      return random_.Chance(0.5) ? Message(LeaseDone{Header(), LeaseId(1 + Number(9))})
                                 : Message(LeaseReturn{Header(), LeaseId(1 + Number(9)), Number(60)});
    case 13:
      if (random_.Chance(0.5)) {
        return ReportMetric{Header(), "metric-" + std::to_string(random_.Below(40)),
                            random_.Chance(0.8) ? std::optional<double>(random_.Below(9)) : std::nullopt};
      }
      return SaveTables{Header(), "/saved"};
    case 14: {
      const CutId cut((uint64_t{1} << 32) + 1 + Number(4));
      if (random_.Chance(0.5)) return MarkDone{cut};
      SnapshotDone done{.cut = cut, .status = {}, .files = {}};
      if (random_.Chance(0.1)) done.status = Error(StatusCode::kResourceExhausted, "disk full");
      done.files.push_back({.table = Table(), .name = random_.Chance(0.05) ? "../x" : "rows.1", .rows = Number(9)});
      return done;
    }
    case 15:
      return MirrorAck{(uint64_t{1} << 32) + Number(30)};
    case 16: {
      Promised promised{.map = map_, .standing = Standing(), .sync = Sync(), .tables = {}, .mirror = {}};
      for (uint32_t i = 1; i <= kTables; ++i) promised.tables.push_back({TableId(i), Spec(i), {}});
      if (random_.Chance(0.7)) promised.mirror = Record();
      return promised;
    }
    default:
      return Leave{Header(), Number(20), Number(2) == 1};
  }
}

Message HostileMessages::AnyOfCoordinator() {
  const auto request = [&] { return RequestId(1 + Number(12)); };
  const auto cut = [&] { return CutId(1 + Number(4)); };
  switch (random_.Below(20)) {
    case 0:
      return Welcome{NodeId(static_cast<uint32_t>(1 + Number(kNodes))), map_, kServers, kServers, Sync()};
    case 1:
    case 2:
      return MapUpdate{map_};
    case 3:
    case 4:
    case 5:
      return HeartbeatAck{Number(30), Sync(), Duration(Number(20000000000))};
    case 6:
      return SyncUpdate{Sync()};
    case 7:
      return TableOpened{request(), Table()};
    case 8:
    case 9: {
      const auto table = static_cast<uint32_t>(1 + random_.Below(kTables));
      InstallTable install{TableId(table), Spec(table), {}, {}};
      if (random_.Chance(0.1)) install.spec.options.dim = static_cast<uint32_t>(Number(70000));
      if (random_.Chance(0.1)) install.table = Table();
      if (random_.Chance(0.2)) install.load = {"/c", 1 + Number(3), Number(20)};
      if (random_.Chance(0.2)) install.map_version = Version();
      return install;
    }
    case 10:
      return NewestCheckpoint{{"/c", Number(4), Number(20)}};
    case 11:
      return StillWorking{request()};
    case 12:
      return DataSetOpened{request(), DataSetId(static_cast<uint32_t>(1 + Number(3))), {.items = Number(60)}};
    case 13:
    case 14: {
      const uint64_t begin = Number(60);
      return LeaseGrant{request(), LeaseId(1 + Number(9)), DataSetId(1), Number(3),
                        begin,     begin + Number(20),     Number(8)};
    }
    case 15:
      return random_.Chance(0.7) ? Message(Done{request()})
                                 : Message(LeasesEnded{request(), LeasesEndReason::kAllDone});
    case 16:
      return Refused{request(), Error(StatusCode::kNotFound, "no")};
    case 17: {
      if (random_.Chance(0.5)) return WriteSnapshot{cut()};
      return random_.Chance(0.6) ? Message(Mark{cut(), Number(4), Number(4), "/c", Number(20)})
                                 : Message(CutEnded{cut()});
    }
    case 18:
      return MirrorUpdate{Record()};
    default:
      return random_.Chance(0.9) ? Message(Promise{}) : Message(GoalReached{"done"});
  }
}

namespace {

template <typename Encoded, typename Decode>
std::optional<Message> Back(std::string bytes, Decode decode) {
  Encoded encoded;
  if (!encoded.ParseFromString(bytes)) return std::nullopt;
  StatusOr<Message> message = decode(encoded);
  if (!message.ok()) return std::nullopt;
  return *std::move(message);
}

}  // namespace

HostileMessages::HostileMessages(uint64_t seed) : random_(seed) {
  [[maybe_unused]] static const auto silent = google::protobuf::SetLogHandler(nullptr);  // of what strings are none
}

std::optional<Message> HostileMessages::OfNode() {
  const auto encoded = ToNodeMessage(AnyOfNode());
  if (!encoded.ok()) return std::nullopt;
  std::string bytes = encoded->SerializeAsString();
  if (random_.Chance(0.1)) Damage(std::as_writable_bytes(std::span(bytes)));
  return Back<v1::NodeMessage>(std::move(bytes), FromNodeMessage);
}

std::optional<Message> HostileMessages::OfCoordinator() {
  const auto encoded = ToCoordinatorMessage(AnyOfCoordinator());
  if (!encoded.ok()) return std::nullopt;
  std::string bytes = encoded->SerializeAsString();
  if (random_.Chance(0.1)) Damage(std::as_writable_bytes(std::span(bytes)));
  return Back<v1::CoordinatorMessage>(std::move(bytes), FromCoordinatorMessage);
}

}  // namespace attune::ps
