// Row messages as frames (layout: proto/frame.h). Sending gathers the header and the message's own memory; receiving
// fills one buffer per frame, and the message's slices point into it. Every size is checked before memory is taken.
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
  // Fills `parts` with what is left after the first `sent` bytes; returns how many parts are used.
  int Gather(size_t sent, std::span<iovec, 4> parts) const;
};

// InvalidArgument: not a row message, or larger than a frame may be.
StatusOr<OutgoingFrame> EncodeFrame(const Message& message);

// Whether a header from the network may be believed. InvalidArgument says what is wrong with it.
Status CheckHeader(const wire::FrameHeader& header);
size_t PayloadBytes(const wire::FrameHeader& header);
// `payload` holds PayloadBytes(header) bytes, aligned for keys; `header` passed CheckHeader.
StatusOr<Message> DecodeFrame(const wire::FrameHeader& header, const std::shared_ptr<const void>& owner,
                              std::span<const std::byte> payload);

// Cuts a stream of bytes into messages. The owner reads from its source into Space() and says how much came.
class FrameReader {
 public:
  using Deliver = std::function<void(Message)>;

  FrameReader();
  // Where the next bytes belong: the rest of a payload in its final place, then a small buffer for what follows.
  int Space(std::span<iovec, 2> parts);
  // `bytes` of Space() were filled. Delivers each whole message. After an error the stream has no meaning any more.
  Status Filled(size_t bytes, const Deliver& deliver);

 private:
  static constexpr size_t kStagingBytes = 8 << 10;

  Status BeginFrame(const wire::FrameHeader& header);
  Status EndFrame(const Deliver& deliver);
  size_t missing() const { return payload_bytes_ - payload_filled_; }

  std::vector<std::byte> staging_;
  size_t staged_ = 0;
  bool in_payload_ = false;
  wire::FrameHeader header_{};
  std::shared_ptr<uint64_t[]> payload_;
  size_t payload_bytes_ = 0;
  size_t payload_filled_ = 0;
};

// --- handshake

struct HandshakeExpectation {
  std::string job_uid;
  NodeId self;  // 0 while this node has not been given its id
};

wire::Handshake MakeHandshake(std::string_view job_uid, NodeId self, NodeId peer);
// What is wrong with a dialer. FailedPrecondition and InvalidArgument are final; Unavailable: try again later.
Status CheckHandshake(const wire::Handshake& handshake, const HandshakeExpectation& expectation);
wire::HandshakeReply MakeReply(const Status& status);
// The listener's verdict. A reply that is none is InvalidArgument.
Status ReadReply(const wire::HandshakeReply& reply);

}  // namespace attune::ps
