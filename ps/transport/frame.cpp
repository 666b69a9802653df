#include "ps/transport/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "ps/core/limits.h"
#include "ps/core/row_memory.h"

namespace attune::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire layout is copied as it is");

using wire::FrameHeader;
using wire::FrameKind;

constexpr size_t kAfterBytes = 16;  // sequence, position, key index

FrameHeader NewHeader(FrameKind kind) {
  FrameHeader header{};
  header.magic = wire::kFrameMagic;
  header.kind = kind;
  return header;
}

void SetPositions(const Positions& positions, OutgoingFrame& frame) {
  if (positions.list.empty()) {
    frame.header.detail = positions.first;
    frame.header.position_count = positions.count;
    return;
  }
  frame.header.flags |= wire::kFlagPositionList;
  frame.extra.assign(reinterpret_cast<const char*>(positions.list.data()), positions.list.size() * sizeof(uint32_t));
}

void SetStatus(const Status& status, OutgoingFrame& frame) {
  frame.header.status_code = static_cast<uint16_t>(status.code());
  const std::string_view text = attune::Message(status);
  frame.extra.append(text.substr(0, kStatusBytesMax));
}

// Fills everything but the counts, which follow from the parts.
struct Encoder {
  OutgoingFrame& frame;

  void operator()(const Push& push) {
    frame.header = NewHeader(FrameKind::kPush);
    frame.header.origin = push.origin.value();
    frame.header.number = push.sequence.value();
    frame.header.table = push.table.value();
    frame.header.map_version = push.map_version.value();
    frame.header.acked_below = push.acked_below.value();
    frame.keys = push.keys;
    frame.values = push.gradients;
    SetPositions(push.positions, frame);
  }
  void operator()(const PushAck& ack) {
    frame.header = NewHeader(FrameKind::kPushAck);
    frame.header.number = ack.sequence.value();
    frame.header.map_version = ack.map_version.value();
    SetPositions(ack.positions, frame);
  }
  // The text follows the position list; position_count says how long the list is.
  void operator()(const PushRefused& refused) {
    frame.header = NewHeader(FrameKind::kPushRefused);
    frame.header.number = refused.sequence.value();
    frame.header.map_version = refused.map_version.value();
    SetPositions(refused.positions, frame);
    frame.header.position_count = static_cast<uint32_t>(refused.positions.size());
    SetStatus(refused.status, frame);
  }
  void operator()(const Pull& pull) {
    frame.header = NewHeader(FrameKind::kPull);
    frame.header.origin = pull.origin.value();
    frame.header.number = pull.request.value();
    frame.header.table = pull.table.value();
    frame.header.map_version = pull.map_version.value();
    frame.header.acked_below = pull.acked_below.value();
    frame.header.detail = static_cast<uint64_t>(std::max<int64_t>(pull.remaining.count(), 0));
    frame.keys = pull.keys;
    frame.extra.resize(pull.after.size() * kAfterBytes);
    char* out = frame.extra.data();
    for (const After& after : pull.after) {
      const uint64_t sequence = after.sequence.value();
      std::memcpy(out, &sequence, 8);
      std::memcpy(out + 8, &after.position, 4);
      std::memcpy(out + 12, &after.key_index, 4);
      out += kAfterBytes;
    }
  }
  void operator()(const PullReply& reply) {
    frame.header = NewHeader(FrameKind::kPullReply);
    frame.header.number = reply.request.value();
    frame.header.map_version = reply.map_version.value();
    frame.values = reply.rows;
  }
  void operator()(const PullRefused& refused) {
    frame.header = NewHeader(FrameKind::kPullRefused);
    frame.header.number = refused.request.value();
    frame.header.map_version = refused.map_version.value();
    SetStatus(refused.status, frame);
  }
  void operator()(const Moved& moved) {
    frame.header = NewHeader(FrameKind::kMoved);
    const bool of_pull = moved.request != RequestId();
    if (of_pull) frame.header.flags |= wire::kFlagOfPull;
    frame.header.number = of_pull ? moved.request.value() : moved.sequence.value();
    frame.header.map_version = moved.map_version.value();
  }
  template <typename Control>
  void operator()(const Control&) {
    ATTUNE_CHECK(false) << "only row messages come here";
  }
};

Status CheckSizes(const FrameHeader& header) {
  const auto refuse = [](const char* what, uint64_t found, uint64_t limit) {
    return Error(StatusCode::kInvalidArgument, "frame with " + std::to_string(found) + " " + what + "; at most " +
                                                   std::to_string(limit) + " are allowed");
  };
  if (header.key_count > kKeysPerMessageMax) return refuse("keys", header.key_count, kKeysPerMessageMax);
  if (header.value_count > kFloatsPerMessageMax) return refuse("floats", header.value_count, kFloatsPerMessageMax);
  const size_t extra_max = header.kind == FrameKind::kPull ? kAfterPerMessageMax * kAfterBytes
                                                           : kKeysPerMessageMax * sizeof(uint32_t) + kStatusBytesMax;
  if (header.extra_bytes > extra_max) return refuse("extra bytes", header.extra_bytes, extra_max);
  if (header.position_count > kKeysPerMessageMax) return refuse("positions", header.position_count, kKeysPerMessageMax);
  return OkStatus();
}

Status Malformed(const char* kind, const char* what) {
  return Error(StatusCode::kInvalidArgument, std::string("malformed ") + kind + " frame: " + what);
}

// What each kind may carry.
Status CheckShape(const FrameHeader& header) {
  const bool keys = header.key_count > 0, values = header.value_count > 0, extra = header.extra_bytes > 0;
  const bool listed = (header.flags & wire::kFlagPositionList) != 0;
  switch (header.kind) {
    case FrameKind::kDelivered:
      return keys || values || extra ? Malformed("Delivered", "unexpected payload") : OkStatus();
    case FrameKind::kPush:
      if (!keys || header.value_count % header.key_count != 0)
        return Malformed("Push", "keys and gradients do not fit");
      if (extra != listed) return Malformed("Push", "positions do not fit");
      if (listed && header.extra_bytes != header.key_count * sizeof(uint32_t)) return Malformed("Push", "bad list");
      if (!listed && header.position_count != header.key_count)
        return Malformed("Push", "positions do not fit the keys");
      return OkStatus();
    case FrameKind::kPushAck:
      if (keys || values || extra != listed) return Malformed("PushAck", "unexpected payload");
      if (header.extra_bytes % sizeof(uint32_t) != 0) return Malformed("PushAck", "bad list");
      return OkStatus();
    case FrameKind::kPushRefused:
      if (keys || values) return Malformed("PushRefused", "unexpected payload");
      if (listed && header.extra_bytes < header.position_count * sizeof(uint32_t)) {
        return Malformed("PushRefused", "list is cut short");
      }
      return OkStatus();
    case FrameKind::kPull:
      if (!keys || values) return Malformed("Pull", "keys expected, and no values");
      if (header.extra_bytes % kAfterBytes != 0) return Malformed("Pull", "bad list");
      return OkStatus();
    case FrameKind::kPullReply:
      return keys || extra ? Malformed("PullReply", "unexpected payload") : OkStatus();
    case FrameKind::kPullRefused:
      return keys || values ? Malformed("PullRefused", "unexpected payload") : OkStatus();
    case FrameKind::kMoved:
      return keys || values || extra ? Malformed("Moved", "unexpected payload") : OkStatus();
  }
  return Error(StatusCode::kInvalidArgument, "frame of unknown kind " + std::to_string(static_cast<int>(header.kind)));
}

struct Payload {
  Slice<Key> keys;
  Slice<float> values;
  std::string_view extra;
};

// `owner` must outlive the result's `extra`.
Payload Split(const FrameHeader& header, const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  const auto* keys = reinterpret_cast<const Key*>(bytes.data());
  const auto* values = reinterpret_cast<const float*>(keys + header.key_count);
  const auto* extra = reinterpret_cast<const char*>(values + header.value_count);
  Payload payload;
  if (header.key_count > 0) payload.keys = Slice<Key>(owner, {keys, header.key_count});
  if (header.value_count > 0) payload.values = Slice<float>(owner, {values, header.value_count});
  payload.extra = std::string_view(extra, header.extra_bytes);
  return payload;
}

Positions ReadPositions(const FrameHeader& header, std::string_view list_bytes) {
  Positions positions;
  if ((header.flags & wire::kFlagPositionList) == 0) {
    positions.first = static_cast<uint32_t>(header.detail);
    positions.count = header.position_count;
    return positions;
  }
  positions.list.resize(list_bytes.size() / sizeof(uint32_t));
  std::memcpy(positions.list.data(), list_bytes.data(), list_bytes.size());
  return positions;
}

Status ReadStatus(const FrameHeader& header, std::string_view text) {
  const bool known =
      header.status_code > 0 && header.status_code <= static_cast<uint16_t>(StatusCode::kUnauthenticated);
  return Error(known ? static_cast<StatusCode>(header.status_code) : StatusCode::kUnknown,
               text.substr(0, kStatusBytesMax));
}

Push ReadPush(const FrameHeader& header, Payload payload) {
  return Push{.origin = NodeId(header.origin),
              .sequence = SequenceNumber(header.number),
              .table = TableId(header.table),
              .map_version = MapVersion(header.map_version),
              .acked_below = SequenceNumber(header.acked_below),
              .positions = ReadPositions(header, payload.extra),
              .keys = std::move(payload.keys),
              .gradients = std::move(payload.values)};
}

Pull ReadPull(const FrameHeader& header, Payload payload) {
  Pull pull{.origin = NodeId(header.origin),
            .request = RequestId(header.number),
            .table = TableId(header.table),
            .map_version = MapVersion(header.map_version),
            .acked_below = SequenceNumber(header.acked_below),
            .remaining = Duration(static_cast<int64_t>(std::min<uint64_t>(header.detail, Duration::max().count()))),
            .keys = std::move(payload.keys),
            .after = {}};
  pull.after.reserve(payload.extra.size() / kAfterBytes);
  for (; !payload.extra.empty(); payload.extra.remove_prefix(kAfterBytes)) {
    uint64_t sequence;
    After after;
    std::memcpy(&sequence, payload.extra.data(), 8);
    std::memcpy(&after.position, payload.extra.data() + 8, 4);
    std::memcpy(&after.key_index, payload.extra.data() + 12, 4);
    after.sequence = SequenceNumber(sequence);
    pull.after.push_back(after);
  }
  return pull;
}

PushRefused ReadPushRefused(const FrameHeader& header, std::string_view extra) {
  const bool listed = (header.flags & wire::kFlagPositionList) != 0;
  const size_t list_bytes = listed ? header.position_count * sizeof(uint32_t) : 0;
  return PushRefused{.sequence = SequenceNumber(header.number),
                     .map_version = MapVersion(header.map_version),
                     .positions = ReadPositions(header, extra.substr(0, list_bytes)),
                     .status = ReadStatus(header, extra.substr(list_bytes))};
}

}  // namespace

int OutgoingFrame::Gather(size_t sent, std::span<iovec, kPartsMax> parts) const {
  const std::span<const std::byte> all[] = {std::as_bytes(std::span(&header, 1)), std::as_bytes(keys.view()),
                                            std::as_bytes(values.view()), std::as_bytes(std::span(extra))};
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
  std::visit(Encoder{frame}, message);
  if (frame.extra.size() > kMessageBytesMax)
    return Error(StatusCode::kInvalidArgument, "message is too large for a frame");
  frame.header.key_count = static_cast<uint32_t>(std::min<size_t>(frame.keys.size(), UINT32_MAX));
  frame.header.value_count = static_cast<uint32_t>(std::min<size_t>(frame.values.size(), UINT32_MAX));
  frame.header.extra_bytes = static_cast<uint32_t>(frame.extra.size());
  RETURN_IF_ERROR(CheckHeader(frame.header));
  return frame;
}

Status CheckHeader(const FrameHeader& header) {
  if (header.magic != wire::kFrameMagic) {
    return Error(StatusCode::kInvalidArgument, "the stream does not hold a frame where one should begin");
  }
  RETURN_IF_ERROR(CheckSizes(header));
  return CheckShape(header);
}

size_t PayloadBytes(const FrameHeader& header) {
  return header.key_count * sizeof(Key) + header.value_count * sizeof(float) + header.extra_bytes;
}

StatusOr<ps::Message> DecodeFrame(const FrameHeader& header, const std::shared_ptr<const void>& owner,
                                  std::span<const std::byte> bytes) {
  Payload payload = Split(header, owner, bytes);
  const MapVersion map_version(header.map_version);
  switch (header.kind) {
    case FrameKind::kDelivered:
      break;
    case FrameKind::kPush:
      return ReadPush(header, std::move(payload));
    case FrameKind::kPushAck:
      return PushAck{.sequence = SequenceNumber(header.number),
                     .map_version = map_version,
                     .positions = ReadPositions(header, payload.extra)};
    case FrameKind::kPushRefused:
      return ReadPushRefused(header, payload.extra);
    case FrameKind::kPull:
      return ReadPull(header, std::move(payload));
    case FrameKind::kPullReply:
      return PullReply{
          .request = RequestId(header.number), .map_version = map_version, .rows = std::move(payload.values)};
    case FrameKind::kPullRefused:
      return PullRefused{RequestId(header.number), map_version, ReadStatus(header, payload.extra)};
    case FrameKind::kMoved: {
      const bool of_pull = (header.flags & wire::kFlagOfPull) != 0;
      return Moved{map_version, RequestId(of_pull ? header.number : 0), SequenceNumber(of_pull ? 0 : header.number)};
    }
  }
  return Error(StatusCode::kInvalidArgument, "frame of a kind that is no message");
}

// --- FrameReader

FrameReader::FrameReader() : staging_(kStagingBytes) {}

int FrameReader::Space(std::span<iovec, 2> parts) {
  if (!in_payload_) {
    parts[0] = {staging_.data() + staged_, staging_.size() - staged_};
    return 1;
  }
  parts[0] = {payload_ + payload_filled_, missing()};
  parts[1] = {staging_.data(), staging_.size()};
  return 2;
}

Status FrameReader::Filled(size_t bytes, Sink& sink) {
  if (in_payload_) {
    const size_t direct = std::min(bytes, missing());
    payload_filled_ += direct;
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
    const size_t here = std::min(staged_ - used, missing());
    if (here > 0) std::memcpy(payload_, staging_.data() + used, here);
    payload_filled_ = here;
    used += here;
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
  payload_bytes_ = PayloadBytes(header);
  payload_filled_ = 0;
  payload_ = nullptr;
  owner_.reset();
  placed_ = false;
  in_payload_ = true;
  if (payload_bytes_ == 0) return OkStatus();
  if (header.kind == FrameKind::kPullReply) {
    if (const std::span<float> place = sink.Place(header); place.size() == header.value_count && !place.empty()) {
      payload_ = reinterpret_cast<std::byte*>(place.data());
      placed_ = true;
      return OkStatus();
    }
  }
  owner_ = NewRowMemory(payload_bytes_);
  payload_ = static_cast<std::byte*>(owner_.get());
  return OkStatus();
}

void FrameReader::Unplace(std::span<const float> rows) {
  const auto* const first = reinterpret_cast<const std::byte*>(rows.data());
  if (!in_payload_ || !placed_ || payload_ < first || payload_ >= first + rows.size_bytes()) return;
  owner_ = NewRowMemory(payload_bytes_);
  std::memcpy(owner_.get(), payload_, payload_filled_);
  payload_ = static_cast<std::byte*>(owner_.get());
  placed_ = false;
}

Status FrameReader::EndFrame(Sink& sink) {
  in_payload_ = false;
  const std::span<const std::byte> bytes(payload_, payload_bytes_);
  payload_ = nullptr;
  return sink.OnFrame(header_, std::exchange(owner_, nullptr), bytes);
}

}  // namespace attune::ps
