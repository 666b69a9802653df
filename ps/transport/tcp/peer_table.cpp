#include "ps/transport/tcp/peer_table.h"

namespace attune::ps {

std::shared_ptr<Peer> PeerTable::Find(NodeId node) const {
  const MutexLock lock(mutex_);
  const auto it = peers_.find(node);
  return it == peers_.end() ? nullptr : it->second;
}

std::shared_ptr<Peer> PeerTable::FindOrAdd(NodeId node) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Peer>& peer = peers_[node];
  if (peer == nullptr) peer = std::make_shared<Peer>(node, host_);
  return peer;
}

std::vector<std::shared_ptr<Peer>> PeerTable::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Peer>> all;
  all.reserve(peers_.size());
  for (const auto& [node, peer] : peers_) all.push_back(peer);
  return all;
}

size_t PeerTable::size() const {
  const MutexLock lock(mutex_);
  return peers_.size();
}

void PeerTable::Remove(NodeId node) {
  const MutexLock lock(mutex_);
  peers_.erase(node);
}

void PeerTable::Clear() {
  const MutexLock lock(mutex_);
  peers_.clear();
}

}  // namespace attune::ps
