#include "ps/transport/tcp/peer.h"

#include <utility>
#include <vector>

#include "ps/core/check/message_check.h"

namespace attune::ps {
namespace {

// Long against a round trip, so that answers carry nearly all confirmations; short against what is kept meanwhile.
constexpr Duration kConfirmAfter = std::chrono::milliseconds(100);

}  // namespace

Peer::Peer(NodeId node, Host& host) : node_(node), host_(host) { counters_.peer = node; }

Status Peer::Send(OutgoingFrame frame) {
  const MutexLock lock(mutex_);
  if (memory_.connection == 0 && channel_ == nullptr) {
    return Error(StatusCode::kUnavailable, "no link to node " + std::to_string(node_.value()) + " yet");
  }
  if (sender_.kept_bytes() + frame.bytes() > kKeptBytesMax) {
    return Error(StatusCode::kResourceExhausted, "node " + std::to_string(node_.value()) + " reads too slowly: " +
                                                     std::to_string(sender_.kept_bytes() >> 20) +
                                                     " MiB wait for it; a message was dropped");
  }
  sender_.Add(std::move(frame));
  ++counters_.frames_sent;
  if (channel_ == nullptr) return OkStatus();
  if (host_.loop.InLoop() && sender_.unwritten_bytes() < kFlushBytes) {
    if (!std::exchange(flush_wanted_, true)) host_.flush_at_end_of_turn(shared_from_this());
    return OkStatus();
  }
  channel_->Write();
  return OkStatus();
}

void Peer::Flush() {
  const MutexLock lock(mutex_);
  flush_wanted_ = false;
  if (channel_ != nullptr) channel_->Write();
}

std::shared_ptr<void> Peer::Reserve(size_t bytes) {
  const MutexLock lock(mutex_);
  return channel_ == nullptr ? nullptr : channel_->Reserve(bytes);
}

void Peer::Unplace(std::span<const float> rows) {
  std::shared_ptr<Channel> channel;
  {
    const MutexLock lock(mutex_);
    channel = channel_;
  }
  if (channel != nullptr) channel->Unplace(rows);
}

LinkCounters Peer::counters() const {
  const MutexLock lock(mutex_);
  LinkCounters counters = counters_;
  counters.connected = channel_ != nullptr;
  if (channel_ != nullptr) counters.path = channel_->path();
  counters.frames_resent = sender_.resent_frames();
  counters.frames_waiting = sender_.kept_frames();
  counters.bytes_waiting = sender_.kept_bytes();
  return counters;
}

void Peer::StartOver(uint64_t incarnation) {
  // What waits for a peer that was never met is meant for whichever process it is.
  if (memory_.peer_incarnation != 0) sender_.Reset();
  receiver_.Reset();
  told_ = 0;
  memory_ = {.peer_incarnation = incarnation};
}

Status Peer::Resume(const PeerState& peer, uint64_t connection) {
  const MutexLock lock(mutex_);
  const bool another = memory_.peer_incarnation != peer.incarnation;
  const uint64_t delivered = another || !peer.remembers ? 0 : peer.delivered;
  // A peer that does not remember this node and never confirmed anything has lost nothing: a first connection that
  // broke within its handshake. What it forgot otherwise, only the cores can make good (ps/core/link/link.h).
  const bool forgotten = !peer.remembers && (sender_.confirmed() > 0 || receiver_.delivered() > 0);
  if (another || forgotten) StartOver(peer.incarnation);
  RETURN_IF_ERROR(sender_.Resume(delivered));
  memory_.connection = connection;
  return OkStatus();
}

void Peer::Forget() {
  const MutexLock lock(mutex_);
  StartOver(0);
}

void Peer::SetDialError(const Status& status) {
  const MutexLock lock(mutex_);
  counters_.dial_error = status;
}

void Peer::Attach(std::shared_ptr<Channel> channel) {
  channel_on_loop_ = channel;
  {
    const MutexLock lock(mutex_);
    channel_ = std::move(channel);
    counters_.dial_error = OkStatus();
    ++counters_.connections;
  }
}

void Peer::Detach() {
  ended_at_ = host_.loop.time().Now();
  {
    const MutexLock lock(mutex_);
    channel_ = nullptr;
  }
  if (const auto channel = std::exchange(channel_on_loop_, nullptr)) channel->Close();
}

// --- receiving

std::span<float> Peer::Place(const wire::FrameHeader& header) {
  if (!host_.events.place) return {};
  return host_.events.place(node_, RequestId(header.number), header.value_count);
}

Status Peer::OnFrame(const wire::FrameHeader& header, const FramePayload& payload) {
  bool wanted = false;
  {
    const MutexLock lock(mutex_);
    const size_t bytes = sizeof header + PayloadBytes(header);
    counters_.bytes_received += bytes;
    host_.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
    RETURN_IF_ERROR(sender_.Delivered(header.delivered));
    if (header.kind != wire::FrameKind::kDelivered) {
      ASSIGN_OR_RETURN(wanted, receiver_.Accept(header.link_number));
      memory_.delivered = receiver_.delivered();
      ++counters_.frames_received;
      unconfirmed_bytes_ += bytes;
    }
  }
  if (!wanted) return OkStatus();
  ASSIGN_OR_RETURN(Message message, DecodeFrame(header, payload));
  if (host_.events.on_linked_message) {
    const LinkHeader link{.sequence = header.core_sequence, .delivered = header.core_delivered};
    RETURN_IF_ERROR(CheckOrder(message, link));
    host_.events.on_linked_message(node_, link, std::move(message));
  } else {
    host_.events.on_message(node_, std::move(message));
  }
  ConfirmLater();
  return OkStatus();
}

void Peer::ConfirmLater() {
  {
    const MutexLock lock(mutex_);
    if (told_ == receiver_.delivered() || channel_ == nullptr) return;
    if (receiver_.delivered() - told_ >= kUnconfirmedFramesMax || unconfirmed_bytes_ >= kUnconfirmedBytesMax) {
      sender_.AddDelivered();
      if (!std::exchange(flush_wanted_, true)) host_.flush_at_end_of_turn(shared_from_this());
      return;
    }
  }
  if (std::exchange(confirm_set_, true)) return;
  if (confirm_timer_ == nullptr) confirm_timer_ = host_.loop.NewTimer();
  confirm_timer_->SetAt(host_.loop.time().Now() + kConfirmAfter, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->confirm_set_ = false;
    const MutexLock lock(self->mutex_);
    if (self->told_ == self->receiver_.delivered() || self->channel_ == nullptr) return;
    self->sender_.AddDelivered();
    self->channel_->Write();
  });
}

uint64_t Peer::StampDelivered() {
  told_ = receiver_.delivered();
  unconfirmed_bytes_ = 0;
  return told_;
}

void Peer::CountSent(size_t bytes) {
  counters_.bytes_sent += bytes;
  host_.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace attune::ps
