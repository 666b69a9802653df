#include "ps/transport/tcp/link_rounds.h"

namespace attune::ps {

void LinkRounds::SetPeers(const std::vector<std::shared_ptr<Peer>>& peers) {
  polled_.clear();
  for (const std::shared_ptr<Peer>& peer : peers) {
    if (peer->connected() && peer->channel()->path() == LinkCounters::kSharedMemory) polled_.push_back(peer);
  }
}

bool LinkRounds::Poll() {
  bool any = false;
  // By place: handlers may change the list.
  for (size_t i = 0; i < polled_.size(); ++i) {
    const std::shared_ptr<Peer> peer = polled_[i];
    if (peer->connected()) any = peer->channel()->Poll() || any;
  }
  return any;
}

bool LinkRounds::PrepareSleep() {
  EndTurn();
  bool quiet = true;
  for (const std::shared_ptr<Peer>& peer : polled_) quiet = peer->channel()->PrepareSleep() && quiet;
  return quiet;
}

void LinkRounds::Awake() {
  for (const std::shared_ptr<Peer>& peer : polled_) peer->channel()->Awake();
}

void LinkRounds::EndTurn() {
  if (to_flush_.empty()) return;
  std::vector<std::shared_ptr<Peer>> now;
  now.swap(to_flush_);
  for (const std::shared_ptr<Peer>& peer : now) peer->Flush();
}

}  // namespace attune::ps
