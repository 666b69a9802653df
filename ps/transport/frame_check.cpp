// Which headers may be believed: what each kind of message may carry, and how much.
#include <string>

#include "ps/core/protocol/limits.h"
#include "ps/transport/frame.h"
#include "ps/transport/frame_fields.h"

namespace attune::ps {
namespace {

using wire::FrameHeader;
using wire::FrameKind;

// What each kind may carry.
struct Shape {
  const char* name = nullptr;
  enum Count : uint8_t { kNone, kPerKey, kAny };
  bool keys_needed = false;
  Count keys = kNone, versions = kNone, values = kNone, words = kNone, halves = kNone;
  bool positions = false;  // words, if any, are positions
  enum Extra : uint8_t { kNothing, kAfters, kText, kRecords, kShards, kFolds, kKeys } extra = kNothing;
};

constexpr Shape ShapeOf(FrameKind kind) {
  using enum Shape::Count;
  switch (kind) {
    case FrameKind::kDelivered:
      return {.name = "Delivered"};
    case FrameKind::kPush:
      return {.name = "Push",
              .keys_needed = true,
              .keys = kAny,
              .values = kPerKey,
              .words = kAny,
              .positions = true,
              .extra = Shape::kFolds};
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
              .positions = true,
              .extra = Shape::kFolds};
    case FrameKind::kReplicateRefused:
      return {.name = "ReplicateRefused",
              .keys_needed = true,
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .words = kAny,
              .positions = true,
              .extra = Shape::kFolds};
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
    case FrameKind::kSnapshotRows:
      return {.name = "SnapshotRows",
              .keys = kAny,
              .versions = kPerKey,
              .values = kPerKey,
              .halves = kPerKey,
              .extra = Shape::kRecords};
    case FrameKind::kSnapshotRowsAck:
      return {.name = "SnapshotRowsAck"};
    case FrameKind::kRound:
      return {.name = "Round", .keys = kAny, .words = kPerKey, .extra = Shape::kAfters};
    case FrameKind::kRoundReply:
      return {.name = "RoundReply", .keys = kAny, .versions = kPerKey, .values = kPerKey, .extra = Shape::kKeys};
    case FrameKind::kCoordinatorAt:
      return {.name = "CoordinatorAt", .extra = Shape::kText};
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
    case Shape::kFolds:
      return kKeysPerMessageMax * kFoldBytes;
    case Shape::kKeys:
      return kKeysPerMessageMax * sizeof(Key);
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
    if (header.kind == FrameKind::kPullReply && header.version_count > positions) {
      return Malformed(shape, "versions do not fit the rows");  // those of some rows: which, the receiver knows
    }
  }
  if (shape.extra == Shape::kAfters && header.extra_bytes % kAfterBytes != 0) return Malformed(shape, "bad list");
  if (shape.extra == Shape::kFolds && header.extra_bytes != 0 && header.extra_bytes != header.key_count * kFoldBytes) {
    return Malformed(shape, "folds do not fit the keys");
  }
  if (shape.extra == Shape::kKeys && header.extra_bytes % sizeof(Key) != 0) return Malformed(shape, "bad list");
  if (shape.extra == Shape::kShards && header.extra_bytes % sizeof(uint32_t) != 0) return Malformed(shape, "bad list");
  return OkStatus();
}

}  // namespace

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

}  // namespace attune::ps
