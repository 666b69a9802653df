// The nodes that a transport is linked to, was linked to or dials, by id.
//
// Thread-safe. A peer that is removed lives on while another thread uses it.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "ps/transport/tcp/peer.h"

namespace attune::ps {

class PeerTable {
 public:
  // `host` is handed to every peer, and must outlive them all.
  explicit PeerTable(Peer::Host& host) : host_(host) {}

  std::shared_ptr<Peer> Find(NodeId node) const;  // null: not known
  std::shared_ptr<Peer> FindOrAdd(NodeId node);
  std::vector<std::shared_ptr<Peer>> All() const;
  size_t size() const;
  void Remove(NodeId node);
  void Clear();

 private:
  Peer::Host& host_;
  mutable Mutex mutex_;
  std::unordered_map<NodeId, std::shared_ptr<Peer>> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
