#include "ps/core/link/row_links.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void LeaveOut(Received& input) {
  input.message = LinkAck{};
  input.link.sequence = 0;
}

void RowLinks::Take(NodeId to, std::vector<Outgoing>& send) {
  for (LinkFrame& frame : frames_) send.push_back({.to = to, .message = std::move(frame.message), .link = frame.link});
  frames_.clear();
}

void RowLinks::Receive(Received input, MonotonicTime now, std::vector<Message>& delivered,
                       std::vector<Outgoing>& send) {
  if (input.link.sequence == 0 && !std::holds_alternative<LinkAck>(input.message)) {
    return delivered.push_back(std::move(input.message));  // a worker's own push or pull
  }
  LinkTo(input.from).Receive({.link = input.link, .message = std::move(input.message)}, now, delivered, frames_);
  Take(input.from, send);
}

bool RowLinks::Send(Outgoing outgoing, MonotonicTime now, std::vector<Outgoing>& send) {
  if (IsAnswer(outgoing.message)) {
    send.push_back(std::move(outgoing));
    return true;
  }
  Link& link = LinkTo(outgoing.to);
  link.Send(std::move(outgoing.message), now, frames_);
  Take(outgoing.to, send);
  return !link.overfull();
}

void RowLinks::Connected(NodeId peer, MonotonicTime now, std::vector<Outgoing>& send) {
  LinkTo(peer).Connected(now, frames_);
  Take(peer, send);
}

void RowLinks::Disconnected(NodeId peer) {
  if (const auto link = links_.find(peer); link != links_.end()) link->second.Disconnected();
}

std::vector<NodeId> RowLinks::ForgetPast(const ShardMap& map) {
  std::vector<NodeId> past;
  for (const auto& [peer, link] : links_) {
    if (map.IsPast(peer)) past.push_back(peer);
  }
  for (const NodeId peer : past) links_.erase(peer);
  return past;
}

void RowLinks::OnTimer(MonotonicTime now, std::vector<Outgoing>& send) {
  for (auto& [peer, link] : links_) {
    if (now < link.WakeAt()) continue;
    link.OnTimer(now, frames_);
    Take(peer, send);
  }
}

MonotonicTime RowLinks::WakeAt() const {
  MonotonicTime wake = kNever;
  for (const auto& [peer, link] : links_) wake = std::min(wake, link.WakeAt());
  return wake;
}

size_t RowLinks::queued() const {
  size_t queued = 0;
  for (const auto& [peer, link] : links_) queued += link.queued();
  return queued;
}

}  // namespace attune::ps
