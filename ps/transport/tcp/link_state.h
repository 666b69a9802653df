// What one node remembers of its link to another so that frames arrive in order and exactly once while both live, over
// any number of connections: numbers, and copies of what may have been lost. No sockets, threads or clock.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "base/status.h"
#include "ps/transport/frame.h"

namespace attune::ps {

// The sending half: frames are numbered in the order of Add and kept until the peer has handled them.
class LinkSender {
 public:
  void Add(OutgoingFrame frame);
  // In front of everything that has not begun to be written; not numbered, not kept.
  void AddDelivered() { delivered_wanted_ = true; }
  // It was said in another way.
  void DropDelivered() { delivered_wanted_ = false; }

  // What is to be written next over a stream: up to parts.size() pieces, about `bytes_max` bytes. Headers are stamped
  // with `delivered`.
  int Gather(std::span<iovec> parts, size_t bytes_max, uint64_t delivered);
  // So many bytes of it have been written.
  void Written(size_t bytes);

  // The same, frame by frame: null when there is nothing to write.
  OutgoingFrame* NextWhole(uint64_t delivered);
  void WrittenWhole();

  // The peer has handled all frames up to this. InvalidArgument when it cannot have.
  Status Delivered(uint64_t number);
  // A new connection of the same pair, whose peer has handled `delivered` frames: the others are written again.
  Status Resume(uint64_t delivered);
  // The peer is another process than before: what was meant for the old one is void.
  void Reset();

  bool has_unwritten() const { return written_ < kept_.size() || delivered_wanted_ || partial_delivered_; }
  size_t unwritten_bytes() const { return unwritten_bytes_; }
  size_t kept_bytes() const { return kept_bytes_; }
  size_t kept_frames() const { return kept_.size(); }
  uint64_t confirmed() const { return first_number_ - 1; }  // the peer has handled all frames up to this
  uint64_t resent_frames() const { return resent_; }
  uint64_t last_number() const { return first_number_ + kept_.size() - 1; }

 private:
  void Stamp(OutgoingFrame& frame, uint64_t delivered) const { frame.header.delivered = delivered; }

  std::deque<OutgoingFrame> kept_;
  uint64_t first_number_ = 1;  // of kept_.front(), or of the next frame
  size_t written_ = 0;         // frames of kept_ that are written whole on this connection
  size_t partial_ = 0;         // bytes of the next one
  size_t kept_bytes_ = 0;
  size_t unwritten_bytes_ = 0;
  uint64_t resent_ = 0;
  bool delivered_wanted_ = false;
  OutgoingFrame delivered_frame_;  // while a part of it is written
  bool partial_delivered_ = false;
};

// The receiving half.
class LinkReceiver {
 public:
  // True: the next one. False: it came before, drop it. InvalidArgument: frames are missing.
  StatusOr<bool> Accept(uint64_t number);
  uint64_t delivered() const { return delivered_; }
  void Reset() { delivered_ = 0; }

 private:
  uint64_t delivered_ = 0;
};

}  // namespace attune::ps
