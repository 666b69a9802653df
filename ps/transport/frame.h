// Row messages as frames (layout: proto/frame.h). Sending gathers the header and the message's own memory; receiving
// fills one block per frame, and the message's slices point into it, or puts rows where their asker wants them. Every
// size is checked before memory is taken.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/core/messages.h"

namespace attune::ps {

// A message ready for the wire; holds a share of the message's memory.
struct OutgoingFrame {
  wire::FrameHeader header;
  Slice<Key> keys;
  Slice<float> values;
  std::string extra;

  size_t bytes() const {
    return sizeof header + keys.size() * sizeof(Key) + values.size() * sizeof(float) + extra.size();
  }
  static constexpr size_t kPartsMax = 4;
  // Fills `parts` with what is left after the first `sent` bytes; returns how many parts are used.
  int Gather(size_t sent, std::span<iovec, kPartsMax> parts) const;
};

// InvalidArgument: not a row message, or larger than a frame may be.
StatusOr<OutgoingFrame> EncodeFrame(const Message& message);

// Whether a header from the network may be believed. InvalidArgument says what is wrong with it.
Status CheckHeader(const wire::FrameHeader& header);
size_t PayloadBytes(const wire::FrameHeader& header);
// `payload` holds PayloadBytes(header) bytes, aligned for keys; `header` passed CheckHeader.
StatusOr<Message> DecodeFrame(const wire::FrameHeader& header, const std::shared_ptr<const void>& owner,
                              std::span<const std::byte> payload);

// Cuts a stream of bytes into frames. The owner reads from its source into Space() and says how much came.
class FrameReader {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    // Where the values of this PullReply belong, header.value_count of them; empty: in memory of the frame's own.
    virtual std::span<float> Place(const wire::FrameHeader& header) = 0;
    // A whole frame whose header passed CheckHeader. `owner` keeps the payload alive; null when it lies in its place.
    virtual Status OnFrame(const wire::FrameHeader& header, std::shared_ptr<const void> owner,
                           std::span<const std::byte> payload) = 0;
  };

  FrameReader();
  // Where the next bytes belong: the rest of a payload in its final place, then a small buffer for what follows.
  int Space(std::span<iovec, 2> parts);
  // `bytes` of Space() were filled. Hands over each whole frame. After an error the stream has no meaning any more.
  Status Filled(size_t bytes, Sink& sink);
  // Nothing more is written into `rows`, which Place may have given.
  void Unplace(std::span<const float> rows);
  bool placed() const { return in_payload_ && placed_; }

 private:
  static constexpr size_t kStagingBytes = 8 << 10;

  Status BeginFrame(const wire::FrameHeader& header, Sink& sink);
  Status EndFrame(Sink& sink);
  size_t missing() const { return payload_bytes_ - payload_filled_; }

  std::vector<std::byte> staging_;
  size_t staged_ = 0;
  bool in_payload_ = false;
  wire::FrameHeader header_{};
  std::shared_ptr<void> owner_;
  std::byte* payload_ = nullptr;
  bool placed_ = false;
  size_t payload_bytes_ = 0;
  size_t payload_filled_ = 0;
};

}  // namespace attune::ps
