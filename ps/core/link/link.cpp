#include "ps/core/link/link.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace attune::ps {
std::optional<Link::Repeatable> Link::AsRepeatable(const Message& message) {
  const auto of = [&](const auto& body, NodeId node, uint64_t number) -> std::optional<Repeatable> {
    uint64_t keys = body.keys.size();
    for (const Key key : body.keys) keys = SplitMix64(keys ^ key);
    return Repeatable{message.index(), node, number, body.table, keys, body.map_version};
  };
  // `by_home` and `relayed` say how the receiver is to take it.
  if (const auto* push = std::get_if<Push>(&message))
    return of(*push, push->origin, push->sequence.value() * 2 + push->by_home);
  if (const auto* pull = std::get_if<Pull>(&message))
    return of(*pull, pull->origin, pull->request.value() * 2 + pull->by_home);
  if (const auto* localize = std::get_if<Localize>(&message)) return of(*localize, localize->to, 0);
  const auto* copy = std::get_if<Replicate>(&message);
  if (copy == nullptr || !copy->probe || !copy->ack_wanted) return std::nullopt;
  return of(*copy, copy->origin, copy->sequence.value() * 2 + copy->relayed);
}

void Link::SendFrame(uint64_t sequence, std::vector<LinkFrame>& out) {
  out.push_back({.link = {.sequence = sequence, .delivered = delivered_}, .message = queue_.At(sequence)});
  reported_ = delivered_;
  acknowledge_at_ = kNever;
}

void Link::FillWindow(MonotonicTime now, std::vector<LinkFrame>& out) {
  if (!connected_) return;
  const uint64_t end = queue_.first() + std::min<uint64_t>(queue_.size(), options_.window);
  for (; next_to_send_ < end; ++next_to_send_) {
    const size_t bytes = queue_.BytesAt(next_to_send_);
    if (bytes_under_way_ > 0 && bytes_under_way_ + bytes > options_.window_bytes) break;
    bytes_under_way_ += bytes;
    if (!unsent_.empty()) {
      const auto repeatable = AsRepeatable(queue_.At(next_to_send_));
      if (repeatable) unsent_.erase(*repeatable);
    }
    SendFrame(next_to_send_, out);
  }
  if (resend_at_ == kNever && next_to_send_ > queue_.first()) resend_at_ = now + resend_after_;
}

void Link::Send(Message message, MonotonicTime now, std::vector<LinkFrame>& out) {
  const bool others_wait = !connected_ || next_to_send_ < queue_.end();
  if (others_wait) {
    if (const auto repeatable = AsRepeatable(message)) {
      const uint64_t last = queue_.end();
      const auto [waiting, is_new] = unsent_.try_emplace(*repeatable, last);
      if (!is_new && waiting->second >= next_to_send_) {
        if (std::holds_alternative<Pull>(message)) queue_.Replace(waiting->second, std::move(message));
        return;
      }
      waiting->second = last;  // nothing waits: a peer may acknowledge what was never sent
    }
  }
  queue_.Append(std::move(message));
  FillWindow(now, out);
}

void Link::Acknowledged(uint64_t up_to, MonotonicTime now, std::vector<LinkFrame>& out) {
  if (options_.mutations.acknowledge_last_sent && next_to_send_ > queue_.first()) up_to = next_to_send_ - 1;
  up_to = std::min(up_to, queue_.end() - 1);
  if (up_to < queue_.first()) return;
  while (queue_.first() <= up_to) {
    if (queue_.first() < next_to_send_) bytes_under_way_ -= queue_.BytesAt(queue_.first());
    queue_.RemoveFirst();
  }
  next_to_send_ = std::max(next_to_send_, queue_.first());
  resend_at_ = kNever;
  resend_after_ = options_.resend_after;
  FillWindow(now, out);
}

void Link::Receive(LinkFrame frame, MonotonicTime now, std::vector<Message>& delivered, std::vector<LinkFrame>& out) {
  Acknowledged(frame.link.delivered, now, out);
  const uint64_t sequence = frame.link.sequence;
  if (sequence == 0) return;
  const bool next = sequence == delivered_ + 1;
  if (next || (options_.mutations.accept_gaps && sequence > delivered_) || options_.mutations.no_filter) {
    delivered_ = std::max(delivered_, sequence);
    delivered.push_back(std::move(frame.message));
    delivered_ = early_.TakeAfter(delivered_, delivered);
  } else if (sequence > delivered_) {
    early_.Keep(sequence, std::move(frame.message));
  } else {
    reported_ = std::min(reported_, delivered_ - 1);  // it did not hear that this arrived
  }
  if (reported_ >= delivered_) return;
  if (delivered_ - reported_ >= options_.acknowledge_every && connected_) {
    out.push_back({.link = {.sequence = 0, .delivered = delivered_}, .message = LinkAck{}});
    reported_ = delivered_;
    acknowledge_at_ = kNever;
  } else if (acknowledge_at_ == kNever) {
    acknowledge_at_ = now + options_.acknowledge_after;
  }
}

void Link::SendAllAgain() {
  resent_ += next_to_send_ - queue_.first();
  next_to_send_ = queue_.first();
  bytes_under_way_ = 0;
  resend_at_ = kNever;
}

void Link::Connected(MonotonicTime now, std::vector<LinkFrame>& out) {
  connected_ = true;
  resend_after_ = options_.resend_after;
  SendAllAgain();
  if (options_.mutations.forget_on_reconnect) delivered_ = 0;
  reported_ = std::min(reported_, delivered_ == 0 ? 0 : delivered_ - 1);
  if (delivered_ > reported_) acknowledge_at_ = now;
  FillWindow(now, out);
}

void Link::Disconnected() {
  connected_ = false;
  resend_at_ = kNever;
  acknowledge_at_ = kNever;
}

void Link::OnTimer(MonotonicTime now, std::vector<LinkFrame>& out) {
  if (!connected_) return;
  if (now >= resend_at_ && options_.mutations.no_resend) resend_at_ = kNever;
  if (now >= resend_at_) {  // everything in flight again: the receiver drops what it has
    // A peer that is slow is not helped by more of the same.
    resend_after_ = std::min(resend_after_ * 2, options_.resend_after_max);
    SendAllAgain();
    FillWindow(now, out);
  }
  if (now >= acknowledge_at_) {
    out.push_back({.link = {.sequence = 0, .delivered = delivered_}, .message = LinkAck{}});
    reported_ = delivered_;
    acknowledge_at_ = kNever;
  }
}

MonotonicTime Link::WakeAt() const { return connected_ ? std::min(resend_at_, acknowledge_at_) : kNever; }

}  // namespace attune::ps
