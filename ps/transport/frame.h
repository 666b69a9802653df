// Row messages as frames (layout: proto/frame.h). Sending gathers the header and the message's own memory; receiving
// fills one block per frame, and the message's slices point into it, or puts rows where their asker wants them. Every
// size is checked before memory is taken.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/core/protocol/messages.h"

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
  const float* placed_values = nullptr;  // kept alive by `owner` too, or by the owner of the place
};
// `header` passed CheckHeader. The message has passed CheckMessage (ps/core/check/message_check.h).
StatusOr<Message> DecodeFrame(const wire::FrameHeader& header, const FramePayload& payload);

}  // namespace attune::ps
