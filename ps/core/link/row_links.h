// The links of a node that may hold rows: what its RowNode says to others in order and exactly once, whatever becomes
// of connections (ps/core/link/link.h), and what others say to it. Answers to a worker's own pushes and pulls stay
// outside of the order: the worker asks again when they do not come.
//
// Pure. Externally synchronized.
#pragma once

#include <map>
#include <vector>

#include "base/time_source.h"
#include "ps/core/link/link.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// What is left of a message that finds no room: what its sender says about the other direction. The link or the worker
// that sent it sends it again.
void LeaveOut(Received& input);

class RowLinks {
 public:
  explicit RowLinks(LinkOptions options = {}) : options_(options) {}

  // A row message has come. Appends what is to be handled now, in order, to `delivered`.
  void Receive(Received input, MonotonicTime now, std::vector<Message>& delivered, std::vector<Outgoing>& send);
  // False: the peer takes too little, more than LinkOptions::queue_max frames wait for it.
  [[nodiscard]] bool Send(Outgoing outgoing, MonotonicTime now, std::vector<Outgoing>& send);
  void Connected(NodeId peer, MonotonicTime now, std::vector<Outgoing>& send);
  void Disconnected(NodeId peer);
  // The node is no member any more, and will not be one again.
  void Forget(NodeId peer) { links_.erase(peer); }
  // All such nodes, by this map; also those that came and went between two maps, or dialed after they had gone. Returns
  // them.
  std::vector<NodeId> ForgetPast(const ShardMap& map);
  void OnTimer(MonotonicTime now, std::vector<Outgoing>& send);
  MonotonicTime WakeAt() const;  // when OnTimer is due
  size_t queued() const;         // frames that their receivers have not acknowledged
  size_t size() const { return links_.size(); }

 private:
  Link& LinkTo(NodeId peer) { return links_.try_emplace(peer, options_).first->second; }
  void Take(NodeId to, std::vector<Outgoing>& send);  // frames_ become outgoing

  LinkOptions options_;
  std::map<NodeId, Link> links_;
  std::vector<LinkFrame> frames_;  // scratch
};

}  // namespace attune::ps
