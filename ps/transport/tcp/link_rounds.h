// The share of a transport's links in the rounds of its event loop: frames that were collected during a round are
// written at its end, and queues in shared memory, which no file descriptor reports, are looked at.
//
// Of the loop; not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "ps/transport/event_loop.h"
#include "ps/transport/tcp/peer.h"

namespace attune::ps {

class LinkRounds final : public EventLoop::Participant {
 public:
  // Peer::Flush at the end of this round.
  void FlushAtEnd(const std::shared_ptr<Peer>& peer) { to_flush_.push_back(peer); }
  // After a link has come or gone: of these, the ones that are connected through shared memory are looked at. Handlers
  // that Poll() calls may do this.
  void SetPeers(const std::vector<std::shared_ptr<Peer>>& peers);

  bool Poll() override;
  bool PrepareSleep() override;
  void Awake() override;
  void EndTurn() override;

 private:
  std::vector<std::shared_ptr<Peer>> to_flush_;
  std::vector<std::shared_ptr<Peer>> polled_;
};

}  // namespace attune::ps
