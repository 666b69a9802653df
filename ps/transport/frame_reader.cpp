#include "ps/transport/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ps/core/protocol/row_memory.h"

namespace attune::ps {

using wire::FrameHeader;
using wire::FrameKind;

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
  // The frame comes to its end in memory of its own, with what came so far.
  const size_t value_bytes = header_.value_count * sizeof(float);
  const size_t before = header_.key_count * sizeof(Key) + header_.version_count * sizeof(RowVersion);
  const size_t after = PayloadBytes(header_) - before - value_bytes;
  const std::shared_ptr<void> old = std::exchange(owner_, NewRowMemory(PayloadBytes(header_)));
  auto* const at = static_cast<std::byte*>(owner_.get());
  std::memset(at, 0, PayloadBytes(header_));
  if (before > 0) std::memcpy(at, old.get(), before);
  std::memcpy(at + before, placed_, value_bytes - segments_[1].left);
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
