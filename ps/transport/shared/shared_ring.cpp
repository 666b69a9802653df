#include "ps/transport/shared/shared_ring.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "ps/core/protocol/row_memory.h"

namespace attune::ps {
namespace {

// Payloads that messages keep longer must not take all room away from those that would free them.
constexpr size_t kLentBytesMax = kRingUnits * kRingUnitBytes / 2;
constexpr size_t kCopiedBytesMax = 1024;  // cheaper to copy than to keep track of

size_t UnitsOf(size_t bytes) { return (bytes + kRingUnitBytes - 1) / kRingUnitBytes; }

}  // namespace

// --- writer

RingWriter::RingWriter(std::shared_ptr<RingArea> area, std::function<void()> ring)
    : area_(std::move(area)), ring_(std::move(ring)), numbers_(kRingSlots, 0) {}

// First fit, from the bottom: memory that was used a moment ago is in the cache.
std::shared_ptr<RingWriter::Block> RingWriter::Find(size_t bytes) {
  Reclaim();
  const size_t units = UnitsOf(bytes);
  size_t run = 0;
  for (size_t unit = 0; unit < kRingUnits; ++unit) {
    run = used_[unit] ? 0 : run + 1;
    if (run < units) continue;
    auto block = std::make_shared<Block>();
    block->first = static_cast<uint32_t>(unit + 1 - units);
    block->units = static_cast<uint32_t>(units);
    for (size_t i = block->first; i <= unit; ++i) used_.set(i);
    area_->returned[block->first].store(0, std::memory_order_relaxed);
    blocks_.push_back(block);
    return block;
  }
  return nullptr;
}

void RingWriter::Reclaim() {
  std::erase_if(blocks_, [&](const std::shared_ptr<Block>& block) {
    if (block->kept.load(std::memory_order_acquire)) return false;
    if (block->sent && area_->returned[block->first].load(std::memory_order_acquire) == 0) return false;
    for (size_t i = 0; i < block->units; ++i) used_.reset(block->first + i);
    return true;
  });
}

std::shared_ptr<void> RingWriter::Reserve(size_t bytes) {
  if (bytes == 0 || bytes > kRingPieceBytesMax) return nullptr;
  // What is held here unsent must not keep frames from leaving.
  if (used_.count() + UnitsOf(bytes) > kRingUnits / 2) Reclaim();
  if (used_.count() + UnitsOf(bytes) > kRingUnits / 2) return nullptr;
  std::shared_ptr<Block> block = Find(bytes);
  if (block == nullptr) return nullptr;
  block->kept = true;
  // The area lives as long as a reader holds a piece of it.
  void* const memory = Memory(*block);
  return {memory,
          [block = std::move(block), area = area_](void*) { block->kept.store(false, std::memory_order_release); }};
}

std::shared_ptr<RingWriter::Block> RingWriter::ReservedFor(const OutgoingFrame& frame) const {
  if (frame.values.empty()) return nullptr;
  const auto* const memory = reinterpret_cast<const std::byte*>(frame.values.data());
  if (memory < area_->payload || memory >= area_->payload + sizeof area_->payload) return nullptr;
  for (const std::shared_ptr<Block>& block : blocks_) {
    if (Memory(*block) == memory && !block->sent &&
        frame.values.size() * sizeof(float) <= size_t{block->units} * kRingUnitBytes) {
      return block;
    }
  }
  return nullptr;  // sent before, over a connection that broke
}

void RingWriter::Fill(const wire::FrameHeader& header, const Block* block, size_t bytes, const Block* values) {
  const bool last = values != nullptr || piece_sent_ + bytes == PayloadBytes(header);
  const size_t place = next_slot_ % kRingSlots;
  RingSlot& slot = area_->slots[place];
  slot.first_unit = block == nullptr ? 0 : block->first;
  slot.bytes = static_cast<uint32_t>(bytes);
  slot.values_unit = values == nullptr ? 0 : values->first + 1;
  slot.header = header;
  numbers_[place] = last ? header.link_number : 0;
  slot.full.store(1, std::memory_order_seq_cst);
  ++next_slot_;
  piece_sent_ = last ? 0 : piece_sent_ + bytes;
  if (area_->reader_sleeps.load(std::memory_order_seq_cst) != 0 && area_->reader_sleeps.exchange(0) != 0) ring_();
}

bool RingWriter::Write(const OutgoingFrame& frame) {
  const size_t bytes = PayloadBytes(frame.header);
  for (;;) {
    (void)Handled();
    if (next_slot_ - oldest_slot_ == kRingSlots) return false;
    if (bytes == 0) {
      Fill(frame.header, nullptr, 0);
      return true;
    }
    if (piece_sent_ == 0) {
      if (const std::shared_ptr<Block> values = ReservedFor(frame)) return WriteBeside(frame, values);
    }
    const size_t piece = std::min(bytes - piece_sent_, kRingPieceBytesMax);
    const std::shared_ptr<Block> block = Find(piece);
    if (block == nullptr) return false;
    block->sent = true;
    // The header is not part of the payload; skip it and what went before.
    iovec parts[OutgoingFrame::kPartsMax];
    const int count = frame.Gather(sizeof frame.header + piece_sent_, parts);
    std::byte* to = Memory(*block);
    size_t left = piece;
    for (int i = 0; i < count && left > 0; ++i) {
      const size_t part = std::min(parts[i].iov_len, left);
      std::memcpy(to, parts[i].iov_base, part);
      to += part;
      left -= part;
    }
    const bool last = piece_sent_ + piece == bytes;
    Fill(frame.header, block.get(), piece);
    if (last) return true;
  }
}

// The values are where they shall be; the rest, which is small, goes into a block of its own.
bool RingWriter::WriteBeside(const OutgoingFrame& frame, const std::shared_ptr<Block>& values) {
  const size_t bytes = PayloadBytes(frame.header) - frame.values.size() * sizeof(float);
  std::shared_ptr<Block> block;
  if (bytes > 0) {
    block = Find(bytes);
    if (block == nullptr) return false;
    iovec parts[OutgoingFrame::kPartsMax];
    const int count = frame.Gather(sizeof frame.header, parts);
    std::byte* to = Memory(*block);
    for (int i = 0; i < count; ++i) {
      if (parts[i].iov_base == static_cast<const void*>(frame.values.data())) continue;
      std::memcpy(to, parts[i].iov_base, parts[i].iov_len);
      to += parts[i].iov_len;
    }
    block->sent = true;
  }
  values->sent = true;
  Fill(frame.header, block.get(), bytes, values.get());
  return true;
}

uint64_t RingWriter::Handled() {
  while (oldest_slot_ != next_slot_) {
    const size_t place = oldest_slot_ % kRingSlots;
    if (area_->slots[place].full.load(std::memory_order_acquire) != 0) break;
    handled_ = std::max(handled_, numbers_[place]);
    ++oldest_slot_;
  }
  return handled_;
}

// --- reader

// Outlives the reader in messages that still hold payload.
struct RingReader::Returns {
  std::shared_ptr<RingArea> area;
  std::function<void()> ring;
  std::atomic<size_t> lent_bytes = 0;

  void Return(uint32_t first_unit) {
    area->returned[first_unit].store(1, std::memory_order_seq_cst);
    RingWriterThatWaits();
  }
  void RingWriterThatWaits() {
    if (area->writer_waits.load(std::memory_order_seq_cst) != 0 && area->writer_waits.exchange(0) != 0) ring();
  }
};

RingReader::RingReader(std::shared_ptr<RingArea> area, std::function<void()> ring)
    : returns_(std::make_shared<Returns>()), area_(*area) {
  returns_->area = std::move(area);
  returns_->ring = std::move(ring);
}

StatusOr<size_t> RingReader::Poll(Sink& sink, size_t frames_max) {
  size_t frames = 0;
  while (frames < frames_max) {
    RingSlot& slot = area_.slots[next_slot_ % kRingSlots];
    if (slot.full.load(std::memory_order_acquire) == 0) break;
    const wire::FrameHeader header = slot.header;  // a copy: the other process may continue writing there
    const uint32_t first_unit = slot.first_unit;
    const size_t bytes = slot.bytes;
    const uint32_t values_unit = slot.values_unit;
    RETURN_IF_ERROR(values_unit == 0 ? TakePiece(header, first_unit, bytes, sink)
                                     : TakeBeside(header, first_unit, bytes, values_unit, sink));
    ++next_slot_;
    ++frames;
    slot.full.store(0, std::memory_order_seq_cst);
    returns_->RingWriterThatWaits();
  }
  return frames;
}

Status RingReader::TakePiece(const wire::FrameHeader& header, uint32_t first_unit, size_t bytes, Sink& sink) {
  if (!in_pieces_) {
    RETURN_IF_ERROR(CheckHeader(header));
    const size_t whole = PayloadBytes(header);
    if (bytes == whole) {
      ASSIGN_OR_RETURN(std::shared_ptr<const void> payload, Take(first_unit, bytes));
      const std::span<const std::byte> block(static_cast<const std::byte*>(payload.get()), bytes);
      return sink.OnFrame(header, {.owner = std::move(payload), .block = block});
    }
    header_ = header;
    assembled_ = NewRowMemory(whole);
    assembled_bytes_ = 0;
    in_pieces_ = true;
  }
  const size_t whole = PayloadBytes(header_);
  if (bytes == 0 || bytes > whole - assembled_bytes_ || header.link_number != header_.link_number) {
    return Error(StatusCode::kInvalidArgument, "the pieces of a frame in shared memory do not fit together");
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const void> piece, Take(first_unit, bytes));
  std::memcpy(static_cast<std::byte*>(assembled_.get()) + assembled_bytes_, piece.get(), bytes);
  assembled_bytes_ += bytes;
  if (assembled_bytes_ < whole) return OkStatus();
  in_pieces_ = false;
  const std::span<const std::byte> block(static_cast<const std::byte*>(assembled_.get()), whole);
  return sink.OnFrame(header_, {.owner = std::exchange(assembled_, nullptr), .block = block});
}

Status RingReader::TakeBeside(const wire::FrameHeader& header, uint32_t first_unit, size_t bytes, uint32_t values_unit,
                              Sink& sink) {
  RETURN_IF_ERROR(CheckHeader(header));
  const size_t value_bytes = header.value_count * sizeof(float);
  if (in_pieces_ || value_bytes == 0 || bytes + value_bytes != PayloadBytes(header)) {
    return Error(StatusCode::kInvalidArgument, "the parts of a frame in shared memory do not fit together");
  }
  using Parts = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  const auto parts = std::make_shared<Parts>();
  ASSIGN_OR_RETURN(parts->first, Take(first_unit, bytes));
  ASSIGN_OR_RETURN(parts->second, Take(values_unit - 1, value_bytes));
  return sink.OnFrame(header, {.owner = parts,
                               .block = {static_cast<const std::byte*>(parts->first.get()), bytes},
                               .placed_values = static_cast<const float*>(parts->second.get())});
}

// The payload, in place where that is worth it.
StatusOr<std::shared_ptr<const void>> RingReader::Take(uint32_t first_unit, size_t bytes) {
  if (bytes == 0) return std::shared_ptr<const void>();
  if (first_unit >= kRingUnits || bytes > (kRingUnits - first_unit) * kRingUnitBytes) {
    return Error(StatusCode::kInvalidArgument, "a payload lies outside the shared memory");
  }
  const std::byte* const memory = area_.payload + size_t{first_unit} * kRingUnitBytes;
  if (bytes <= kCopiedBytesMax || returns_->lent_bytes.load(std::memory_order_relaxed) + bytes > kLentBytesMax) {
    std::shared_ptr<void> copy = NewRowMemory(bytes);
    std::memcpy(copy.get(), memory, bytes);
    returns_->Return(first_unit);
    return std::shared_ptr<const void>(std::move(copy));
  }
  returns_->lent_bytes += bytes;
  return std::shared_ptr<const void>(memory, [returns = returns_, first_unit, bytes](const void*) {
    returns->lent_bytes -= bytes;
    returns->Return(first_unit);
  });
}

bool RingReader::PrepareSleep() {
  area_.reader_sleeps.store(1, std::memory_order_seq_cst);
  return area_.slots[next_slot_ % kRingSlots].full.load(std::memory_order_seq_cst) == 0;
}

void RingReader::Awake() { area_.reader_sleeps.store(0, std::memory_order_relaxed); }

}  // namespace attune::ps
