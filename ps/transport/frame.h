// Row messages as frames (layout: proto/frame.h). Sending gathers the header and the message's own memory; receiving
// fills one block per frame, and the message's slices point into it, or puts rows where their asker wants them. Every
// size is checked before memory is taken.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/core/messages.h"

namespace attune::ps {

// A message ready for the wire; holds a share of the message's memory.
struct OutgoingFrame {
  static constexpr size_t kPartsMax = 7;

  wire::FrameHeader header;
  Slice<Key> keys;
  Slice<RowVersion> versions;
  Slice<float> values;
  Slice<uint32_t> words;
  Slice<uint16_t> halves;
  std::string extra;

  size_t bytes() const;
  // Fills `parts` with what is left after the first `sent` bytes; returns how many parts are used.
  int Gather(size_t sent, std::span<iovec, kPartsMax> parts) const;
};

// InvalidArgument: not a row message, or larger than a frame may be.
StatusOr<OutgoingFrame> EncodeFrame(const Message& message);

// Whether a header from the network may be believed. InvalidArgument says what is wrong with it.
Status CheckHeader(const wire::FrameHeader& header);
size_t PayloadBytes(const wire::FrameHeader& header);

// A received payload: in one block, except that the values may lie elsewhere.
struct FramePayload {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> block;  // PayloadBytes(header), without the values when they lie elsewhere; aligned to 8
  const float* placed_values = nullptr;  // kept alive by `owner` too, or by whoever gave the place
};
// `header` passed CheckHeader.
StatusOr<Message> DecodeFrame(const wire::FrameHeader& header, const FramePayload& payload);

// Cuts a stream of bytes into frames. The owner reads from its source into Space() and says how much came.
class FrameReader {
 public:
  static constexpr size_t kSpacePartsMax = 4;

  class Sink {
   public:
    virtual ~Sink() = default;
    // Where the values of this PullReply belong, header.value_count of them; empty: in memory of the frame's own.
    virtual std::span<float> Place(const wire::FrameHeader& header) = 0;
    // A whole frame whose header passed CheckHeader.
    virtual Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) = 0;
  };

  FrameReader();
  // Where the next bytes belong: the rest of a payload in its final place, then a small buffer for what follows.
  size_t Space(std::span<iovec, kSpacePartsMax> parts);
  // `bytes` of Space() were filled. Hands over each whole frame. After an error the stream has no meaning any more.
  Status Filled(size_t bytes, Sink& sink);
  // Nothing more is written into `rows`, which Place may have given.
  void Unplace(std::span<const float> rows);

 private:
  static constexpr size_t kStagingBytes = 8 << 10;
  struct Segment {
    std::byte* at = nullptr;  // where the next byte belongs
    size_t left = 0;
  };

  Status BeginFrame(const wire::FrameHeader& header, Sink& sink);
  Status EndFrame(Sink& sink);
  void Take(size_t bytes);
  size_t missing() const { return segments_[0].left + segments_[1].left + segments_[2].left; }

  std::vector<std::byte> staging_;
  size_t staged_ = 0;
  bool in_payload_ = false;
  wire::FrameHeader header_{};
  std::shared_ptr<void> owner_;
  float* placed_ = nullptr;          // the values lie there
  std::array<Segment, 3> segments_;  // before the values, the values, after them
};

}  // namespace attune::ps
