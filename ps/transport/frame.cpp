#include "ps/transport/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "ps/core/limits.h"
#include "ps/core/row_memory.h"

namespace attune::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire layout is copied as it is");
static_assert(sizeof(RowVersion) == 8 && std::is_trivially_copyable_v<RowVersion>);
static_assert(sizeof(NodeId) == 4 && std::is_trivially_copyable_v<NodeId>);
static_assert(sizeof(ShardId) == 4 && std::is_trivially_copyable_v<ShardId>);

using wire::FrameHeader;
using wire::FrameKind;

// Strong ids as the words they are.
template <typename Id>
Slice<uint32_t> Words(const Slice<Id>& ids) {
  return Slice<uint32_t>(std::make_shared<Slice<Id>>(ids), {reinterpret_cast<const uint32_t*>(ids.data()), ids.size()});
}
template <typename Id>
Slice<uint32_t> Words(const std::vector<Id>& ids) {
  std::vector<uint32_t> words(ids.size());
  if (!ids.empty()) std::memcpy(words.data(), ids.data(), ids.size() * sizeof(uint32_t));
  return Slice<uint32_t>(std::move(words));
}

// Fills everything but the counts, which follow from the parts.
class Encoder {
 public:
  explicit Encoder(OutgoingFrame& frame) : frame_(frame), header_(frame.header) {}

  void operator()(const Push& push) {
    Begin(FrameKind::kPush, push.map_version);
    Identify(push);
    Set(push.positions);
    SetFlag(wire::kFlagByHome, push.by_home);
    frame_.keys = push.keys;
    frame_.values = push.gradients;
  }
  void operator()(const PushAck& ack) {
    Begin(FrameKind::kPushAck, ack.map_version);
    header_.number = ack.sequence.value();
    header_.node = ack.owner.value();
    Set(ack.positions);
  }
  void operator()(const PushRefused& refused) {
    Begin(FrameKind::kPushRefused, refused.map_version);
    header_.number = refused.sequence.value();
    Set(refused.positions);
    Set(refused.status);
  }
  void operator()(const Pull& pull) {
    Begin(FrameKind::kPull, pull.map_version);
    header_.origin = pull.origin.value();
    header_.number = pull.request.value();
    header_.table = pull.table.value();
    header_.acked_below = pull.acked_below.value();
    header_.detail = static_cast<uint64_t>(std::max<int64_t>(pull.remaining.count(), 0));
    Set(pull.positions);
    SetFlag(wire::kFlagByHome, pull.by_home);
    frame_.keys = pull.keys;
    Append(std::span(pull.after), [&](const After& after) {
      AppendNumber(after.sequence.value());
      AppendNumber(after.position);
      AppendNumber(after.key_index);
    });
  }
  void operator()(const PullReply& reply) {
    Begin(FrameKind::kPullReply, reply.map_version);
    header_.number = reply.request.value();
    Set(reply.positions);
    frame_.values = reply.rows;
    frame_.versions = reply.versions;
  }
  void operator()(const PullRefused& refused) {
    Begin(FrameKind::kPullRefused, refused.map_version);
    header_.number = refused.request.value();
    Set(refused.status);
  }
  void operator()(const Moved& moved) {
    Begin(FrameKind::kMoved, moved.map_version);
    const bool of_pull = moved.request != RequestId();
    SetFlag(wire::kFlagOfPull, of_pull);
    header_.number = of_pull ? moved.request.value() : moved.sequence.value();
  }
  void operator()(const LinkAck&) { Begin(FrameKind::kLinkAck, {}); }
  void operator()(const Localize& localize) {
    Begin(FrameKind::kLocalize, localize.map_version);
    header_.table = localize.table.value();
    header_.node = localize.to.value();
    frame_.keys = localize.keys;
  }
  void operator()(const MoveOrder& order) {
    Begin(FrameKind::kMoveOrder, order.map_version);
    header_.table = order.table.value();
    header_.node = order.to.value();
    frame_.keys = order.keys;
    frame_.halves = order.move_numbers;
  }
  void operator()(const Handover& handover) {
    Begin(FrameKind::kHandover, handover.map_version);
    header_.number = handover.handover;
    Set(handover.rows);
    Set(handover.records);
  }
  void operator()(const HandoverAck& ack) {
    Begin(FrameKind::kHandoverAck, ack.map_version);
    header_.number = ack.handover;
    header_.detail = ack.arrived_at.value();
  }
  void operator()(const Replicate& replicate) {
    Begin(FrameKind::kReplicate, replicate.map_version);
    Set(replicate);
  }
  void operator()(const ReplicateRefused& refused) {
    Begin(FrameKind::kReplicateRefused, refused.map_version);
    header_.inner_version = refused.replicate.map_version.value();
    Set(refused.replicate);
  }
  void operator()(const InstallWanted& wanted) {
    Begin(FrameKind::kInstallWanted, wanted.map_version);
    header_.table = wanted.table.value();
    SetFlag(wire::kFlagByHome, wanted.by_home);
    frame_.keys = wanted.keys;
  }
  void operator()(const Install& install) {
    Begin(FrameKind::kInstall, install.map_version);
    header_.number = install.install;
    Set(install.rows);
    Set(install.records);
  }
  void operator()(const InstallAck& ack) {
    Begin(FrameKind::kInstallAck, ack.map_version);
    header_.number = ack.install;
  }
  void operator()(const JoinMarker& marker) {
    Begin(FrameKind::kJoinMarker, marker.map_version);
    header_.detail = marker.join_id.value();
  }
  void operator()(const HomeHandoff& handoff) {
    Begin(FrameKind::kHomeHandoff, handoff.map_version);
    Set(handoff.entries);
    // Beside the owners, which fill the words.
    Append(std::span(handoff.complete), [&](ShardId shard) { AppendNumber(shard.value()); });
  }
  void operator()(const CollectOwners& collect) {
    Begin(FrameKind::kCollectOwners, collect.map_version);
    header_.detail = collect.recovered_at.value();
  }
  void operator()(const OwnersReport& report) {
    Begin(FrameKind::kOwnersReport, report.map_version);
    header_.detail = report.recovered_at.value();
    SetFlag(wire::kFlagLast, report.last);
    Set(report.entries);
  }
  void operator()(const FetchRows& fetch) {
    Begin(FrameKind::kFetchRows, fetch.map_version);
    header_.detail = fetch.recovered_at.value();
    header_.table = fetch.table.value();
    SetFlag(wire::kFlagAllBut, fetch.all_but);
    SetFlag(wire::kFlagLast, fetch.last);
    frame_.keys = fetch.keys;
    frame_.words = Words(fetch.shards);
  }
  void operator()(const FetchedRows& fetched) {
    Begin(FrameKind::kFetchedRows, fetched.map_version);
    header_.detail = fetched.recovered_at.value();
    SetFlag(wire::kFlagAllBut, fetched.all_but);
    SetFlag(wire::kFlagLast, fetched.last);
    Set(fetched.rows);
    Set(fetched.records);
  }
  template <typename Control>
  void operator()(const Control&) {
    ATTUNE_CHECK(false) << "only row messages come here";
  }

 private:
  void Begin(FrameKind kind, MapVersion map_version) {
    header_ = FrameHeader{};
    header_.magic = wire::kFrameMagic;
    header_.kind = kind;
    header_.map_version = map_version.value();
  }
  void SetFlag(uint8_t flag, bool value) {
    if (value) header_.flags = static_cast<uint8_t>(header_.flags | flag);
  }
  template <typename Pushed>
  void Identify(const Pushed& push) {
    header_.origin = push.origin.value();
    header_.number = push.sequence.value();
    header_.table = push.table.value();
    header_.acked_below = push.acked_below.value();
    header_.step = push.step;
  }
  void Set(const Positions& positions) {
    if (positions.list.empty()) {
      header_.first_position = positions.first;
      header_.position_count = positions.count;
      return;
    }
    SetFlag(wire::kFlagPositionList, true);
    frame_.words = Words(positions.list);
  }
  void Set(const Status& status) {
    header_.status_code = static_cast<uint16_t>(status.code());
    frame_.extra.append(attune::Message(status).substr(0, kStatusBytesMax));
  }
  void Set(const RowBatch& rows) {
    header_.table = rows.table.value();
    frame_.keys = rows.keys;
    frame_.versions = rows.versions;
    frame_.halves = rows.move_numbers;
    frame_.values = rows.values;
  }
  void Set(const Records& records) {
    AppendNumber(static_cast<uint32_t>(records.records.size()));
    for (const FilterRecord& record : records.records) {
      AppendNumber(record.sequence.value());
      AppendNumber(record.origin.value());
      AppendNumber(record.position);
      AppendNumber(record.key_index);
      AppendNumber(static_cast<uint32_t>(record.refused ? 1 : 0));
    }
    for (const Settled& settled : records.settled) {
      AppendNumber(settled.acked_below.value());
      AppendNumber(settled.origin.value());
    }
  }
  void Set(const DirectoryBatch& entries) {
    header_.table = entries.table.value();
    frame_.keys = entries.keys;
    frame_.words = Words(entries.owners);
    frame_.halves = entries.move_numbers;
  }
  void Set(const Replicate& replicate) {
    Identify(replicate);
    Set(replicate.positions);
    header_.node = replicate.owner.value();
    SetFlag(wire::kFlagAckWanted, replicate.ack_wanted);
    SetFlag(wire::kFlagRelayed, replicate.relayed);
    SetFlag(wire::kFlagProbe, replicate.probe);
    frame_.keys = replicate.keys;
    frame_.versions = replicate.versions;
    frame_.values = replicate.gradients;
  }
  template <typename Number>
  void AppendNumber(Number number) {
    frame_.extra.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <typename T, typename Put>
  void Append(std::span<const T> items, Put put) {
    for (const T& item : items) put(item);
  }

  OutgoingFrame& frame_;
  FrameHeader& header_;
};

constexpr size_t kAfterBytes = 16;   // sequence, position, key index
constexpr size_t kRecordBytes = 24;  // sequence, origin, position, key index, refused
constexpr size_t kSettledBytes = 12;

// What each kind may carry.
struct Shape {
  const char* name = nullptr;
  enum Count : uint8_t { kNone, kPerKey, kAny };
  bool keys_needed = false;
  Count keys = kNone, versions = kNone, values = kNone, words = kNone, halves = kNone;
  bool positions = false;  // words, if any, are positions
  enum Extra : uint8_t { kNothing, kAfters, kText, kRecords, kShards } extra = kNothing;
};

constexpr Shape ShapeOf(FrameKind kind) {
  using enum Shape::Count;
  switch (kind) {
    case FrameKind::kDelivered:
      return {.name = "Delivered"};
    case FrameKind::kPush:
      return {.name = "Push", .keys_needed = true, .keys = kAny, .values = kPerKey, .words = kAny, .positions = true};
    case FrameKind::kPushAck:
      return {.name = "PushAck", .words = kAny, .positions = true};
    case FrameKind::kPushRefused:
      return {.name = "PushRefused", .words = kAny, .positions = true, .extra = Shape::kText};
    case FrameKind::kPull:
      return {
          .name = "Pull", .keys_needed = true, .keys = kAny, .words = kAny, .positions = true, .extra = Shape::kAfters};
    case FrameKind::kPullReply:
      return {.name = "PullReply", .versions = kAny, .values = kAny, .words = kAny, .positions = true};
    case FrameKind::kPullRefused:
      return {.name = "PullRefused", .extra = Shape::kText};
    case FrameKind::kMoved:
      return {.name = "Moved"};
    case FrameKind::kLinkAck:
      return {.name = "LinkAck"};
    case FrameKind::kLocalize:
      return {.name = "Localize", .keys = kAny};
    case FrameKind::kMoveOrder:
      return {.name = "MoveOrder", .keys = kAny, .halves = kPerKey};
    case FrameKind::kHandover:
      return {.name = "Handover",
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .halves = kPerKey,
              .extra = Shape::kRecords};
    case FrameKind::kHandoverAck:
      return {.name = "HandoverAck"};
    case FrameKind::kReplicate:
      return {.name = "Replicate",
              .keys_needed = true,
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .words = kAny,
              .positions = true};
    case FrameKind::kReplicateRefused:
      return {.name = "ReplicateRefused",
              .keys_needed = true,
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .words = kAny,
              .positions = true};
    case FrameKind::kInstallWanted:
      return {.name = "InstallWanted", .keys = kAny};
    case FrameKind::kInstall:
      return {.name = "Install",
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .halves = kPerKey,
              .extra = Shape::kRecords};
    case FrameKind::kInstallAck:
      return {.name = "InstallAck"};
    case FrameKind::kJoinMarker:
      return {.name = "JoinMarker"};
    case FrameKind::kHomeHandoff:
      return {.name = "HomeHandoff", .keys = kAny, .words = kPerKey, .halves = kPerKey, .extra = Shape::kShards};
    case FrameKind::kCollectOwners:
      return {.name = "CollectOwners"};
    case FrameKind::kOwnersReport:
      return {.name = "OwnersReport", .keys = kAny, .words = kPerKey, .halves = kPerKey};
    case FrameKind::kFetchRows:
      return {.name = "FetchRows", .keys = kAny, .words = kAny};
    case FrameKind::kFetchedRows:
      return {.name = "FetchedRows",
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .halves = kPerKey,
              .extra = Shape::kRecords};
  }
  return {};
}

Status Malformed(const Shape& shape, const char* what) {
  return Error(StatusCode::kInvalidArgument, std::string("malformed ") + shape.name + " frame: " + what);
}

size_t ExtraBytesMax(Shape::Extra extra) {
  switch (extra) {
    case Shape::kNothing:
      return 0;
    case Shape::kAfters:
      return kAfterPerMessageMax * kAfterBytes;
    case Shape::kText:
      return kStatusBytesMax;
    case Shape::kRecords:
      return kMessageBytesMax / 2;
    case Shape::kShards:
      return kShardsMax * sizeof(uint32_t);
  }
  return 0;
}

Status CheckSizes(const FrameHeader& header, const Shape& shape) {
  const auto refuse = [](const char* what, uint64_t found, uint64_t limit) {
    return Error(StatusCode::kInvalidArgument, "frame with " + std::to_string(found) + " " + what + "; at most " +
                                                   std::to_string(limit) + " are allowed");
  };
  if (header.key_count > kKeysPerMessageMax) return refuse("keys", header.key_count, kKeysPerMessageMax);
  if (header.version_count > kKeysPerMessageMax) return refuse("versions", header.version_count, kKeysPerMessageMax);
  if (header.value_count > kFloatsPerMessageMax) return refuse("floats", header.value_count, kFloatsPerMessageMax);
  if (header.word_count > kKeysPerMessageMax) return refuse("words", header.word_count, kKeysPerMessageMax);
  if (header.half_count > kKeysPerMessageMax) return refuse("move numbers", header.half_count, kKeysPerMessageMax);
  if (header.position_count > kKeysPerMessageMax) return refuse("positions", header.position_count, kKeysPerMessageMax);
  const size_t extra_max = ExtraBytesMax(shape.extra);
  if (header.extra_bytes > extra_max) return refuse("extra bytes", header.extra_bytes, extra_max);
  if (PayloadBytes(header) > kMessageBytesMax) return refuse("bytes", PayloadBytes(header), kMessageBytesMax);
  return OkStatus();
}

Status CheckShape(const FrameHeader& header, const Shape& shape) {
  // `multiple`: any whole number per key will do (row lengths are the store's business).
  const auto fits = [&](Shape::Count rule, uint32_t count, bool multiple) {
    if (rule == Shape::kNone) return count == 0;
    if (rule == Shape::kAny) return true;
    if (header.key_count == 0) return count == 0;
    return multiple ? count % header.key_count == 0 : count == header.key_count;
  };
  if (!fits(shape.keys, header.key_count, false)) return Malformed(shape, "it carries no keys");
  if (shape.keys_needed && header.key_count == 0) return Malformed(shape, "keys are missing");
  if (!fits(shape.versions, header.version_count, false)) return Malformed(shape, "versions do not fit the keys");
  if (!fits(shape.values, header.value_count, true)) return Malformed(shape, "values do not fit the keys");
  if (!fits(shape.words, header.word_count, false)) return Malformed(shape, "words do not fit the keys");
  if (!fits(shape.halves, header.half_count, false)) return Malformed(shape, "move numbers do not fit the keys");
  if (shape.positions) {
    const bool listed = (header.flags & wire::kFlagPositionList) != 0;
    if (listed != (header.word_count > 0)) return Malformed(shape, "positions do not fit");
    const uint32_t positions = listed ? header.word_count : header.position_count;
    const bool of_keys = header.kind == FrameKind::kPush || header.kind == FrameKind::kReplicate ||
                         header.kind == FrameKind::kReplicateRefused;
    if (of_keys && positions != header.key_count) return Malformed(shape, "positions do not fit the keys");
  }
  if (header.kind == FrameKind::kPullReply && header.version_count > 0 &&
      header.value_count % header.version_count != 0) {
    return Malformed(shape, "versions do not fit the rows");
  }
  if (shape.extra == Shape::kAfters && header.extra_bytes % kAfterBytes != 0) return Malformed(shape, "bad list");
  if (shape.extra == Shape::kShards && header.extra_bytes % sizeof(uint32_t) != 0) return Malformed(shape, "bad list");
  return OkStatus();
}

// --- decoding

// Numbers in a row; the length has been checked.
class ExtraReader {
 public:
  explicit ExtraReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename Number>
  Number Take() {
    Number number;
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

class Decoder {
 public:
  Decoder(const FrameHeader& header, const FramePayload& payload) : header_(header), owner_(payload.owner) {
    const std::byte* at = payload.block.data();
    keys_ = Part<Key>(at, header.key_count);
    versions_ = Part<RowVersion>(at, header.version_count);
    if (payload.placed_values != nullptr) {
      values_ = Slice<float>(owner_, {payload.placed_values, header.value_count});
    } else {
      values_ = Part<float>(at, header.value_count);
    }
    words_at_ = at;
    words_ = {reinterpret_cast<const uint32_t*>(at), header.word_count};
    at += words_.size_bytes();
    halves_ = Part<uint16_t>(at, header.half_count);
    extra_ = {reinterpret_cast<const char*>(at), header.extra_bytes};
  }

  StatusOr<ps::Message> Read() {
    const MapVersion map_version(header_.map_version);
    switch (header_.kind) {
      case FrameKind::kDelivered:
        break;
      case FrameKind::kPush:
        return Push{.origin = NodeId(header_.origin),
                    .sequence = SequenceNumber(header_.number),
                    .table = TableId(header_.table),
                    .map_version = map_version,
                    .acked_below = SequenceNumber(header_.acked_below),
                    .positions = ReadPositions(),
                    .keys = keys_,
                    .gradients = values_,
                    .step = header_.step,
                    .by_home = Flag(wire::kFlagByHome)};
      case FrameKind::kPushAck:
        return PushAck{.sequence = SequenceNumber(header_.number),
                       .map_version = map_version,
                       .positions = ReadPositions(),
                       .owner = NodeId(header_.node)};
      case FrameKind::kPushRefused:
        return PushRefused{.sequence = SequenceNumber(header_.number),
                           .map_version = map_version,
                           .positions = ReadPositions(),
                           .status = ReadStatus()};
      case FrameKind::kPull:
        return ReadPull();
      case FrameKind::kPullReply:
        return PullReply{.request = RequestId(header_.number),
                         .map_version = map_version,
                         .rows = values_,
                         .positions = ReadPositions(),
                         .versions = versions_};
      case FrameKind::kPullRefused:
        return PullRefused{.request = RequestId(header_.number), .map_version = map_version, .status = ReadStatus()};
      case FrameKind::kMoved:
        return Moved{.map_version = map_version,
                     .request = RequestId(Flag(wire::kFlagOfPull) ? header_.number : 0),
                     .sequence = SequenceNumber(Flag(wire::kFlagOfPull) ? 0 : header_.number)};
      case FrameKind::kLinkAck:
        return LinkAck{};
      case FrameKind::kLocalize:
        return Localize{
            .map_version = map_version, .table = TableId(header_.table), .to = NodeId(header_.node), .keys = keys_};
      case FrameKind::kMoveOrder:
        return MoveOrder{.map_version = map_version,
                         .table = TableId(header_.table),
                         .to = NodeId(header_.node),
                         .keys = keys_,
                         .move_numbers = halves_};
      case FrameKind::kReplicate:
        return ReadReplicate(map_version);
      case FrameKind::kReplicateRefused:
        return ReplicateRefused{.map_version = map_version,
                                .replicate = ReadReplicate(MapVersion(header_.inner_version))};
      default:
        return ReadRare(map_version);
    }
    return Error(StatusCode::kInvalidArgument, "frame of a kind that is no message");
  }

 private:
  StatusOr<ps::Message> ReadRare(MapVersion map_version) {
    const MapVersion detail(header_.detail);
    switch (header_.kind) {
      case FrameKind::kHandover: {
        ASSIGN_OR_RETURN(Records records, ReadRecords());
        return Handover{
            .map_version = map_version, .handover = header_.number, .rows = ReadRows(), .records = std::move(records)};
      }
      case FrameKind::kHandoverAck:
        return HandoverAck{.map_version = map_version, .handover = header_.number, .arrived_at = detail};
      case FrameKind::kInstallWanted:
        return InstallWanted{.map_version = map_version,
                             .table = TableId(header_.table),
                             .keys = keys_,
                             .by_home = Flag(wire::kFlagByHome)};
      case FrameKind::kInstall: {
        ASSIGN_OR_RETURN(Records records, ReadRecords());
        return Install{
            .map_version = map_version, .install = header_.number, .rows = ReadRows(), .records = std::move(records)};
      }
      case FrameKind::kInstallAck:
        return InstallAck{.map_version = map_version, .install = header_.number};
      case FrameKind::kJoinMarker:
        return JoinMarker{.map_version = map_version, .join_id = detail};
      case FrameKind::kHomeHandoff: {
        HomeHandoff handoff{.map_version = map_version, .entries = ReadDirectory(), .complete = {}};
        for (ExtraReader shards(extra_); shards.left() > 0;) handoff.complete.emplace_back(shards.Take<uint32_t>());
        return handoff;
      }
      case FrameKind::kCollectOwners:
        return CollectOwners{.map_version = map_version, .recovered_at = detail};
      case FrameKind::kOwnersReport:
        return OwnersReport{.map_version = map_version,
                            .recovered_at = detail,
                            .entries = ReadDirectory(),
                            .last = Flag(wire::kFlagLast)};
      case FrameKind::kFetchRows: {
        FetchRows fetch{.map_version = map_version,
                        .recovered_at = detail,
                        .table = TableId(header_.table),
                        .keys = keys_,
                        .all_but = Flag(wire::kFlagAllBut),
                        .shards = {},
                        .last = Flag(wire::kFlagLast)};
        for (const uint32_t shard : words_) fetch.shards.emplace_back(shard);
        return fetch;
      }
      case FrameKind::kFetchedRows: {
        ASSIGN_OR_RETURN(Records records, ReadRecords());
        return FetchedRows{.map_version = map_version,
                           .recovered_at = detail,
                           .rows = ReadRows(),
                           .records = std::move(records),
                           .all_but = Flag(wire::kFlagAllBut),
                           .last = Flag(wire::kFlagLast)};
      }
      default:
        return Error(StatusCode::kInvalidArgument, "frame of unknown kind");
    }
  }

  template <typename T>
  Slice<T> Part(const std::byte*& at, uint32_t count) {
    if (count == 0) return {};
    const Slice<T> part(owner_, {reinterpret_cast<const T*>(at), count});
    at += count * sizeof(T);
    return part;
  }
  bool Flag(uint8_t flag) const { return (header_.flags & flag) != 0; }

  Positions ReadPositions() const {
    Positions positions;
    if (Flag(wire::kFlagPositionList)) {
      positions.list.assign(words_.begin(), words_.end());
    } else {
      positions.first = header_.first_position;
      positions.count = header_.position_count;
    }
    return positions;
  }
  Status ReadStatus() const {
    const bool known =
        header_.status_code > 0 && header_.status_code <= static_cast<uint16_t>(StatusCode::kUnauthenticated);
    return Error(known ? static_cast<StatusCode>(header_.status_code) : StatusCode::kUnknown,
                 extra_.substr(0, kStatusBytesMax));
  }
  Pull ReadPull() const {
    Pull pull{.origin = NodeId(header_.origin),
              .request = RequestId(header_.number),
              .table = TableId(header_.table),
              .map_version = MapVersion(header_.map_version),
              .acked_below = SequenceNumber(header_.acked_below),
              .remaining = Duration(static_cast<int64_t>(std::min<uint64_t>(header_.detail, Duration::max().count()))),
              .keys = keys_,
              .after = {},
              .positions = ReadPositions(),
              .by_home = Flag(wire::kFlagByHome)};
    pull.after.reserve(extra_.size() / kAfterBytes);
    for (ExtraReader entries(extra_); entries.left() > 0;) {
      After& after = pull.after.emplace_back();
      after.sequence = SequenceNumber(entries.Take<uint64_t>());
      after.position = entries.Take<uint32_t>();
      after.key_index = entries.Take<uint32_t>();
    }
    return pull;
  }
  Replicate ReadReplicate(MapVersion map_version) const {
    return Replicate{.origin = NodeId(header_.origin),
                     .sequence = SequenceNumber(header_.number),
                     .table = TableId(header_.table),
                     .map_version = map_version,
                     .acked_below = SequenceNumber(header_.acked_below),
                     .positions = ReadPositions(),
                     .keys = keys_,
                     .gradients = values_,
                     .versions = versions_,
                     .step = header_.step,
                     .owner = NodeId(header_.node),
                     .ack_wanted = Flag(wire::kFlagAckWanted),
                     .relayed = Flag(wire::kFlagRelayed),
                     .probe = Flag(wire::kFlagProbe)};
  }
  RowBatch ReadRows() const {
    return {.table = TableId(header_.table),
            .keys = keys_,
            .versions = versions_,
            .move_numbers = halves_,
            .values = values_};
  }
  DirectoryBatch ReadDirectory() const {
    return {.table = TableId(header_.table),
            .keys = keys_,
            .owners = words_.empty()
                          ? Slice<NodeId>()
                          : Slice<NodeId>(owner_, {reinterpret_cast<const NodeId*>(words_at_), words_.size()}),
            .move_numbers = halves_};
  }
  StatusOr<Records> ReadRecords() const {
    Records records;
    const Status bad = Error(StatusCode::kInvalidArgument, "the records of a frame are cut short");
    if (extra_.size() < sizeof(uint32_t)) return bad;
    ExtraReader entries(extra_);
    const size_t count = entries.Take<uint32_t>();
    if (count > entries.left() / kRecordBytes) return bad;
    const size_t settled = entries.left() - count * kRecordBytes;
    if (settled % kSettledBytes != 0) return bad;
    records.records.resize(count);
    for (FilterRecord& record : records.records) {
      record.sequence = SequenceNumber(entries.Take<uint64_t>());
      record.origin = NodeId(entries.Take<uint32_t>());
      record.position = entries.Take<uint32_t>();
      record.key_index = entries.Take<uint32_t>();
      record.refused = entries.Take<uint32_t>() != 0;
      if (record.key_index >= header_.key_count) {
        return Error(StatusCode::kInvalidArgument, "a record of a frame names a key that is not in it");
      }
    }
    records.settled.resize(settled / kSettledBytes);
    for (Settled& entry : records.settled) {
      entry.acked_below = SequenceNumber(entries.Take<uint64_t>());
      entry.origin = NodeId(entries.Take<uint32_t>());
    }
    return records;
  }

  const FrameHeader& header_;
  const std::shared_ptr<const void>& owner_;
  Slice<Key> keys_;
  Slice<RowVersion> versions_;
  Slice<float> values_;
  const std::byte* words_at_ = nullptr;
  std::span<const uint32_t> words_;
  Slice<uint16_t> halves_;
  std::string_view extra_;
};

}  // namespace

size_t OutgoingFrame::bytes() const {
  return sizeof header + keys.size() * sizeof(Key) + versions.size() * sizeof(RowVersion) +
         values.size() * sizeof(float) + words.size() * sizeof(uint32_t) + halves.size() * sizeof(uint16_t) +
         extra.size();
}

int OutgoingFrame::Gather(size_t sent, std::span<iovec, kPartsMax> parts) const {
  const std::span<const std::byte> all[kPartsMax] = {std::as_bytes(std::span(&header, 1)), std::as_bytes(keys.view()),
                                                     std::as_bytes(versions.view()),       std::as_bytes(values.view()),
                                                     std::as_bytes(words.view()),          std::as_bytes(halves.view()),
                                                     std::as_bytes(std::span(extra))};
  int used = 0;
  for (std::span<const std::byte> part : all) {
    const size_t skip = std::min(sent, part.size());
    sent -= skip;
    part = part.subspan(skip);
    if (part.empty()) continue;
    parts[static_cast<size_t>(used++)] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  return used;
}

StatusOr<OutgoingFrame> EncodeFrame(const ps::Message& message) {
  if (!IsRowMessage(message)) {
    return Error(StatusCode::kInvalidArgument, std::string(NameOf(message)) + " does not travel on the data plane");
  }
  OutgoingFrame frame{};
  std::visit(Encoder(frame), message);
  if (frame.extra.size() > kMessageBytesMax) {
    return Error(StatusCode::kInvalidArgument, "message is too large for a frame");
  }
  const auto count = [](size_t size) { return static_cast<uint32_t>(std::min<size_t>(size, UINT32_MAX)); };
  frame.header.key_count = count(frame.keys.size());
  frame.header.version_count = count(frame.versions.size());
  frame.header.value_count = count(frame.values.size());
  frame.header.word_count = count(frame.words.size());
  frame.header.half_count = count(frame.halves.size());
  frame.header.extra_bytes = count(frame.extra.size());
  RETURN_IF_ERROR(CheckHeader(frame.header));
  return frame;
}

Status CheckHeader(const FrameHeader& header) {
  if (header.magic != wire::kFrameMagic) {
    return Error(StatusCode::kInvalidArgument, "the stream does not hold a frame where one should begin");
  }
  const Shape shape = ShapeOf(header.kind);
  if (shape.name == nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 "frame of unknown kind " + std::to_string(static_cast<int>(header.kind)));
  }
  RETURN_IF_ERROR(CheckSizes(header, shape));
  return CheckShape(header, shape);
}

size_t PayloadBytes(const FrameHeader& header) {
  return header.key_count * sizeof(Key) + header.version_count * sizeof(RowVersion) +
         header.value_count * sizeof(float) + header.word_count * sizeof(uint32_t) +
         header.half_count * sizeof(uint16_t) + header.extra_bytes;
}

StatusOr<ps::Message> DecodeFrame(const FrameHeader& header, const FramePayload& payload) {
  return Decoder(header, payload).Read();
}

// --- FrameReader

FrameReader::FrameReader() : staging_(kStagingBytes) {}

size_t FrameReader::Space(std::span<iovec, kSpacePartsMax> parts) {
  size_t used = 0;
  if (in_payload_) {
    for (const Segment& segment : segments_) {
      if (segment.left > 0) parts[used++] = {segment.at, segment.left};
    }
  }
  parts[used++] = {staging_.data() + staged_, staging_.size() - staged_};
  return used;
}

void FrameReader::Take(size_t bytes) {
  for (Segment& segment : segments_) {
    const size_t here = std::min(segment.left, bytes);
    segment.at += here;
    segment.left -= here;
    bytes -= here;
  }
}

Status FrameReader::Filled(size_t bytes, Sink& sink) {
  if (in_payload_) {
    const size_t direct = std::min(bytes, missing());
    Take(direct);
    bytes -= direct;
    if (missing() > 0) return OkStatus();
    RETURN_IF_ERROR(EndFrame(sink));
  }
  staged_ += bytes;
  size_t used = 0;
  while (staged_ - used >= sizeof(FrameHeader)) {
    FrameHeader header;
    std::memcpy(&header, staging_.data() + used, sizeof header);
    used += sizeof header;
    RETURN_IF_ERROR(BeginFrame(header, sink));
    for (Segment& segment : segments_) {
      const size_t here = std::min(staged_ - used, segment.left);
      if (here == 0) continue;
      std::memcpy(segment.at, staging_.data() + used, here);
      segment.at += here;
      segment.left -= here;
      used += here;
    }
    if (missing() > 0) break;
    RETURN_IF_ERROR(EndFrame(sink));
  }
  std::memmove(staging_.data(), staging_.data() + used, staged_ - used);
  staged_ -= used;
  return OkStatus();
}

Status FrameReader::BeginFrame(const FrameHeader& header, Sink& sink) {
  RETURN_IF_ERROR(CheckHeader(header));
  header_ = header;
  owner_.reset();
  placed_ = nullptr;
  in_payload_ = true;
  const size_t value_bytes = header.value_count * sizeof(float);
  const size_t before = header.key_count * sizeof(Key) + header.version_count * sizeof(RowVersion);
  const size_t after = PayloadBytes(header) - before - value_bytes;
  if (header.kind == FrameKind::kPullReply && value_bytes > 0) {
    if (const std::span<float> place = sink.Place(header); place.size() == header.value_count) placed_ = place.data();
  }
  const size_t block = before + after + (placed_ == nullptr ? value_bytes : 0);
  if (block > 0) owner_ = NewRowMemory(block);
  auto* const at = static_cast<std::byte*>(owner_.get());
  segments_[0] = {at, before};
  segments_[1] = {placed_ == nullptr ? at + before : reinterpret_cast<std::byte*>(placed_), value_bytes};
  segments_[2] = {at + block - after, after};
  return OkStatus();
}

void FrameReader::Unplace(std::span<const float> rows) {
  if (!in_payload_ || placed_ == nullptr || placed_ < rows.data() || placed_ >= rows.data() + rows.size()) return;
  // The frame comes to its end in memory of its own; what came so far is of no interest to anybody.
  const size_t value_bytes = header_.value_count * sizeof(float);
  const size_t before = header_.key_count * sizeof(Key) + header_.version_count * sizeof(RowVersion);
  const size_t after = PayloadBytes(header_) - before - value_bytes;
  const std::shared_ptr<void> old = std::exchange(owner_, NewRowMemory(PayloadBytes(header_)));
  auto* const at = static_cast<std::byte*>(owner_.get());
  std::memset(at, 0, PayloadBytes(header_));
  if (before > 0) std::memcpy(at, old.get(), before);
  segments_[0].at = at + before - segments_[0].left;
  segments_[1].at = at + before + value_bytes - segments_[1].left;
  segments_[2].at = at + before + value_bytes + after - segments_[2].left;
  placed_ = nullptr;
}

Status FrameReader::EndFrame(Sink& sink) {
  in_payload_ = false;
  const size_t value_bytes = placed_ == nullptr ? 0 : header_.value_count * sizeof(float);
  FramePayload payload{.owner = std::exchange(owner_, nullptr), .placed_values = std::exchange(placed_, nullptr)};
  payload.block = {static_cast<const std::byte*>(payload.owner.get()), PayloadBytes(header_) - value_bytes};
  return sink.OnFrame(header_, payload);
}

}  // namespace attune::ps
