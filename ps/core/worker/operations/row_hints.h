// What answers say about rows of other nodes, beyond the answer itself: who owns them, which versions this worker
// pulled last, and how many versions behind its gradients were. Hints: any of it may be out of date. Pure. Externally
// synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ps/core/keys/location_cache.h"
#include "ps/core/keys/seen_versions.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"

namespace attune::ps {

class RowHints {
 public:
  explicit RowHints(size_t locations_max) : owners_(locations_max) {}

  // `keys`: of the whole request; the reply names the ones that it answers by their positions.
  void LearnFrom(const PullReply& reply, NodeId from, TableId table, std::span<const Key> keys,
                 const ClusterView& cluster) {
    const bool whole = reply.positions.size() == keys.size();
    if (whole) seen_.Note(table, keys, reply.versions.view());
    if (whole && reply.positions.list.empty()) return Learn(table, keys, from, cluster);
    LearnAt(reply.positions, table, keys, from, cluster);
  }
  // `keys`: of the whole push.
  void LearnFrom(const PushAck& ack, TableId table, std::span<const Key> keys, const ClusterView& cluster) {
    if (ack.staleness != kNotMeasured) staleness_.Add(ack.staleness);
    if (ack.owner != NodeId() && ack.owner != cluster.self()) LearnAt(ack.positions, table, keys, ack.owner, cluster);
  }
  // It is no member any more.
  void Forget(NodeId node) { owners_.ForgetNode(node); }

  const LocationCache& owners() const { return owners_; }
  // The place of a key whose version is known from the last pull, and that version, which is forgotten; version 0:
  // none.
  std::pair<uint32_t, RowVersion> TakeSeen(TableId table, std::span<const Key> keys) { return seen_.Take(table, keys); }
  // Of pushes since the last call.
  Staleness TakeStaleness() { return std::exchange(staleness_, {}); }

 private:
  void LearnAt(const Positions& positions, TableId table, std::span<const Key> keys, NodeId owner,
               const ClusterView& cluster) {
    for (size_t i = 0; i < positions.size(); ++i) {
      const uint32_t position = positions.At(i);
      if (position < keys.size()) Learn(table, keys.subspan(position, 1), owner, cluster);
    }
  }
  // Homes need not be remembered.
  void Learn(TableId table, std::span<const Key> keys, NodeId owner, const ClusterView& cluster) {
    const Member* const member = cluster.map().Find(owner);
    if (member == nullptr || owner == cluster.self()) return;
    if (member->role == Role::kServer && owners_.empty()) return;  // nearly always the home
    for (const Key key : keys) {
      if (cluster.map().HomeOf(key) == owner) {
        owners_.Erase(table, key);
      } else {
        owners_.Put(table, key, owner);
      }
    }
  }

  LocationCache owners_;
  SeenVersions seen_;
  Staleness staleness_;
};

}  // namespace attune::ps
