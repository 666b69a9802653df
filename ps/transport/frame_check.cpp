// Which headers may be believed: what each kind of message may carry, and how much.
#include <array>
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
  FrameKind kind = FrameKind::kDelivered;
  const char* name = nullptr;
  enum Count : uint8_t { kNone, kPerKey, kAny };
  bool keys_needed = false;
  Count keys = kNone, versions = kNone, values = kNone, words = kNone, halves = kNone;
  bool positions = false;  // words, if any, are positions
  enum Extra : uint8_t { kNothing, kAfters, kText, kRecords, kShards, kFolds, kKeys } extra = kNothing;
};

// One for each kind, in the order of their numbers.
constexpr std::array kShapes = std::to_array<Shape>({
    {.kind = FrameKind::kDelivered, .name = "Delivered"},
    {.kind = FrameKind::kPush,
     .name = "Push",
     .keys_needed = true,
     .keys = Shape::kAny,
     .values = Shape::kPerKey,
     .words = Shape::kAny,
     .positions = true,
     .extra = Shape::kFolds},
    {.kind = FrameKind::kPushAck, .name = "PushAck", .words = Shape::kAny, .positions = true},
    {.kind = FrameKind::kPushRefused,
     .name = "PushRefused",
     .words = Shape::kAny,
     .positions = true,
     .extra = Shape::kText},
    {.kind = FrameKind::kPull,
     .name = "Pull",
     .keys_needed = true,
     .keys = Shape::kAny,
     .words = Shape::kAny,
     .positions = true,
     .extra = Shape::kAfters},
    {.kind = FrameKind::kPullReply,
     .name = "PullReply",
     .versions = Shape::kAny,
     .values = Shape::kAny,
     .words = Shape::kAny,
     .positions = true},
    {.kind = FrameKind::kPullRefused, .name = "PullRefused", .extra = Shape::kText},
    {.kind = FrameKind::kMoved, .name = "Moved"},
    {.kind = FrameKind::kLinkAck, .name = "LinkAck"},
    {.kind = FrameKind::kLocalize, .name = "Localize", .keys = Shape::kAny},
    {.kind = FrameKind::kMoveOrder, .name = "MoveOrder", .keys = Shape::kAny, .halves = Shape::kPerKey},
    {.kind = FrameKind::kHandover,
     .name = "Handover",
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .halves = Shape::kPerKey,
     .extra = Shape::kRecords},
    {.kind = FrameKind::kHandoverAck, .name = "HandoverAck"},
    {.kind = FrameKind::kReplicate,
     .name = "Replicate",
     .keys_needed = true,
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .words = Shape::kAny,
     .positions = true,
     .extra = Shape::kFolds},
    {.kind = FrameKind::kReplicateRefused,
     .name = "ReplicateRefused",
     .keys_needed = true,
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .words = Shape::kAny,
     .positions = true,
     .extra = Shape::kFolds},
    {.kind = FrameKind::kInstallWanted, .name = "InstallWanted", .keys = Shape::kAny},
    {.kind = FrameKind::kInstall,
     .name = "Install",
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .halves = Shape::kPerKey,
     .extra = Shape::kRecords},
    {.kind = FrameKind::kInstallAck, .name = "InstallAck"},
    {.kind = FrameKind::kJoinMarker, .name = "JoinMarker"},
    {.kind = FrameKind::kHomeHandoff,
     .name = "HomeHandoff",
     .keys = Shape::kAny,
     .words = Shape::kPerKey,
     .halves = Shape::kPerKey,
     .extra = Shape::kShards},
    {.kind = FrameKind::kCollectOwners, .name = "CollectOwners"},
    {.kind = FrameKind::kOwnersReport,
     .name = "OwnersReport",
     .keys = Shape::kAny,
     .words = Shape::kPerKey,
     .halves = Shape::kPerKey},
    {.kind = FrameKind::kFetchRows, .name = "FetchRows", .keys = Shape::kAny, .words = Shape::kAny},
    {.kind = FrameKind::kFetchedRows,
     .name = "FetchedRows",
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .halves = Shape::kPerKey,
     .extra = Shape::kRecords},
    {.kind = FrameKind::kSnapshotRows,
     .name = "SnapshotRows",
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .halves = Shape::kPerKey,
     .extra = Shape::kRecords},
    {.kind = FrameKind::kSnapshotRowsAck, .name = "SnapshotRowsAck"},
    {.kind = FrameKind::kRound, .name = "Round", .keys = Shape::kAny, .words = Shape::kPerKey, .extra = Shape::kAfters},
    {.kind = FrameKind::kRoundReply,
     .name = "RoundReply",
     .keys = Shape::kAny,
     .versions = Shape::kPerKey,
     .values = Shape::kPerKey,
     .extra = Shape::kKeys},
    {.kind = FrameKind::kCoordinatorAt, .name = "CoordinatorAt", .extra = Shape::kText},
});
static_assert(kShapes.size() == static_cast<size_t>(FrameKind::kCoordinatorAt) + 1, "the last kind");
static_assert([] {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    if (static_cast<size_t>(kShapes[i].kind) != i) return false;
  }
  return true;
}());

// Null for a kind that does not exist.
constexpr const Shape* ShapeOf(FrameKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number < kShapes.size() ? &kShapes[number] : nullptr;
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
  const Shape* const shape = ShapeOf(header.kind);
  if (shape == nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 "frame of unknown kind " + std::to_string(static_cast<int>(header.kind)));
  }
  RETURN_IF_ERROR(CheckSizes(header, *shape));
  return CheckShape(header, *shape);
}

size_t PayloadBytes(const FrameHeader& header) {
  return header.key_count * sizeof(Key) + header.version_count * sizeof(RowVersion) +
         header.value_count * sizeof(float) + header.word_count * sizeof(uint32_t) +
         header.half_count * sizeof(uint16_t) + header.extra_bytes;
}

}  // namespace attune::ps
