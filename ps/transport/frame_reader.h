// Cuts a stream of bytes into frames (ps/transport/frame.h).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/transport/frame.h"

namespace attune::ps {

// The owner reads from its source into Space() and says how much came.
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
  // Nothing more is written into `rows`, which Place may have given: the frame is completed in memory of its own.
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
