#include "ps/transport/tcp/link_state.h"

#include <algorithm>
#include <string>
#include <utility>

namespace attune::ps {

void LinkSender::Add(OutgoingFrame frame) {
  frame.header.link_number = first_number_ + kept_.size();
  const size_t bytes = frame.bytes();
  kept_bytes_ += bytes;
  unwritten_bytes_ += bytes;
  kept_.push_back(std::move(frame));
}

int LinkSender::Gather(std::span<iovec> parts, size_t bytes_max, uint64_t delivered) {
  int used = 0;
  size_t bytes = 0;
  const auto append = [&](const OutgoingFrame& frame, size_t sent) {
    used += frame.Gather(sent, parts.subspan(static_cast<size_t>(used)).first<OutgoingFrame::kPartsMax>());
    bytes += frame.bytes() - sent;
  };
  // A frame that was begun must be finished first.
  size_t next = written_;
  size_t sent = partial_;
  if (partial_delivered_) {
    append(delivered_frame_, partial_);
    sent = 0;
  } else if (sent == 0 && std::exchange(delivered_wanted_, false)) {
    delivered_frame_ = OutgoingFrame{};
    delivered_frame_.header.magic = wire::kFrameMagic;
    delivered_frame_.header.kind = wire::FrameKind::kDelivered;
    Stamp(delivered_frame_, delivered);
    partial_delivered_ = true;
    append(delivered_frame_, 0);
  }
  while (next < kept_.size() && static_cast<size_t>(used) + OutgoingFrame::kPartsMax <= parts.size() &&
         bytes < bytes_max) {
    OutgoingFrame& frame = kept_[next++];
    if (sent == 0) Stamp(frame, delivered);
    append(frame, std::exchange(sent, 0));
  }
  return used;
}

void LinkSender::Written(size_t bytes) {
  if (partial_delivered_) {
    const size_t left = delivered_frame_.bytes() - partial_;
    const size_t taken = std::min(left, bytes);
    partial_ += taken;
    bytes -= taken;
    if (taken < left) return;
    partial_delivered_ = false;
    partial_ = 0;
  }
  unwritten_bytes_ -= bytes;
  partial_ += bytes;
  while (written_ < kept_.size() && partial_ >= kept_[written_].bytes()) {
    partial_ -= kept_[written_].bytes();
    ++written_;
  }
}

OutgoingFrame* LinkSender::NextWhole(uint64_t delivered) {
  if (written_ == kept_.size()) return nullptr;
  Stamp(kept_[written_], delivered);
  return &kept_[written_];
}

void LinkSender::WrittenWhole() {
  unwritten_bytes_ -= kept_[written_].bytes();
  ++written_;
}

Status LinkSender::Delivered(uint64_t number) {
  if (number >= first_number_ + written_) {
    return Error(StatusCode::kInvalidArgument,
                 "the peer confirms frame " + std::to_string(number) + ", which it has not been sent");
  }
  while (first_number_ <= number) {
    kept_bytes_ -= kept_.front().bytes();
    kept_.pop_front();
    ++first_number_;
    --written_;
  }
  return OkStatus();
}

Status LinkSender::Resume(uint64_t delivered) {
  // What was written whole before counts as sent: only that may be confirmed. The frame in flight at the break cannot.
  if (delivered + 1 < first_number_) {
    return Error(StatusCode::kInvalidArgument, "the peer has forgotten frames that it confirmed");
  }
  RETURN_IF_ERROR(Delivered(delivered));
  resent_ += written_;
  written_ = 0;
  partial_ = 0;
  partial_delivered_ = false;
  delivered_wanted_ = false;
  unwritten_bytes_ = kept_bytes_;
  return OkStatus();
}

void LinkSender::Reset() {
  const uint64_t resent = resent_;
  *this = LinkSender();
  resent_ = resent;
}

StatusOr<bool> LinkReceiver::Accept(uint64_t number) {
  if (number <= delivered_) return false;
  if (number != delivered_ + 1) {
    return Error(StatusCode::kInvalidArgument, "frame " + std::to_string(number) + " came where frame " +
                                                   std::to_string(delivered_ + 1) + " was expected");
  }
  delivered_ = number;
  return true;
}

}  // namespace attune::ps
