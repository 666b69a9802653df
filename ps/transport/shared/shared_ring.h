// Frames through memory that two processes share: one direction, one writer, one reader.
//
//   RingArea    what lies in shared memory: slots with frame headers, and units of payload memory
//   RingWriter  of the sending process: finds room, fills slots in order
//   RingReader  of the receiving process: takes slots in order; payloads are given back in any order, whenever the
//               message they belong to is gone
//
// The other process is not trusted: whatever it writes is copied, then checked, before it is used, and neither side
// follows a number of the other's without a bound. A process that dies leaves its half as it is; the connection beside
// the memory shows.
//
// Waking: a side that is about to sleep says so in the area, then looks once more; the other side rings (an eventfd)
// only when it finds that mark.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ps/transport/frame.h"
#include "ps/transport/frame_reader.h"

namespace attune::ps {

struct RingSlot {
  std::atomic<uint32_t> full;  // 0: the writer's, 1: the reader's
  uint32_t first_unit;         // of the payload
  uint32_t bytes;              // of it; less than the frame's: more slots follow with the rest
  uint32_t values_unit;        // 0, or one more than the first unit of the values, which then are not in the payload
  wire::FrameHeader header;
  char padding[40];
};
static_assert(sizeof(RingSlot) == 192);

inline constexpr size_t kRingSlots = 256;
inline constexpr size_t kRingUnitBytes = 4096;
inline constexpr size_t kRingUnits = 1024;
inline constexpr size_t kRingPieceBytesMax = kRingUnitBytes * kRingUnits / 4;  // larger payloads go in pieces

struct RingArea {
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  alignas(64) std::atomic<uint32_t> writer_waits;
  alignas(64) RingSlot slots[kRingSlots];
  alignas(64) std::atomic<uint8_t> returned[kRingUnits];  // by a payload's first unit: the reader is through with it
  alignas(4096) std::byte payload[kRingUnits * kRingUnitBytes];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint8_t>::is_always_lock_free);

// Externally synchronized, except that memory from Reserve may be dropped by any thread.
class RingWriter {
 public:
  // `area` lives as long as the pointer's owner; `ring` wakes the reading process.
  RingWriter(std::shared_ptr<RingArea> area, std::function<void()> ring);

  // Memory to be filled in place and sent by the frame that has it as its values; null when there is no room.
  std::shared_ptr<void> Reserve(size_t bytes);
  // False when there is no room; then the same frame is to be offered again.
  bool Write(const OutgoingFrame& frame);
  // From now on the reader rings when it gives something back. What came before is found by one more Write.
  void AskForRoom() { area_->writer_waits.store(1, std::memory_order_seq_cst); }
  // Number of the last frame, in order, that the reader has handled. Grows.
  uint64_t Handled();

 private:
  struct Block {
    uint32_t first = 0, units = 0;
    std::atomic<bool> kept = false;  // a caller here holds the memory
    bool sent = false;
  };

  std::shared_ptr<Block> Find(size_t bytes);
  void Reclaim();
  std::byte* Memory(const Block& block) const { return area_->payload + size_t{block.first} * kRingUnitBytes; }
  std::shared_ptr<Block> ReservedFor(const OutgoingFrame& frame) const;
  bool WriteBeside(const OutgoingFrame& frame, const std::shared_ptr<Block>& values);
  void Fill(const wire::FrameHeader& header, const Block* block, size_t bytes, const Block* values = nullptr);

  const std::shared_ptr<RingArea> area_;
  const std::function<void()> ring_;
  std::bitset<kRingUnits> used_;
  std::vector<std::shared_ptr<Block>> blocks_;
  uint32_t next_slot_ = 0;
  uint32_t oldest_slot_ = 0;       // of those not seen handled; both count on without wrapping
  std::vector<uint64_t> numbers_;  // of the frame in a slot; 0 for all but the last piece
  uint64_t handled_ = 0;
  size_t piece_sent_ = 0;  // bytes of the present frame
};

class RingReader {
 public:
  using Sink = FrameReader::Sink;

  // `ring` wakes the writing process; any thread may call it.
  RingReader(std::shared_ptr<RingArea> area, std::function<void()> ring);

  // Hands over up to `frames_max` frames. An error ends the link.
  StatusOr<size_t> Poll(Sink& sink, size_t frames_max);
  // Asks to be woken. False when something has come.
  bool PrepareSleep();
  void Awake();

 private:
  struct Returns;

  StatusOr<std::shared_ptr<const void>> Take(uint32_t first_unit, size_t bytes);
  Status TakePiece(const wire::FrameHeader& header, uint32_t first_unit, size_t bytes, Sink& sink);
  Status TakeBeside(const wire::FrameHeader& header, uint32_t first_unit, size_t bytes, uint32_t values_unit,
                    Sink& sink);

  const std::shared_ptr<Returns> returns_;
  RingArea& area_;
  uint32_t next_slot_ = 0;
  // A frame that comes in pieces.
  bool in_pieces_ = false;
  wire::FrameHeader header_{};
  std::shared_ptr<void> assembled_;
  size_t assembled_bytes_ = 0;
};

}  // namespace attune::ps
