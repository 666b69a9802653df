// The keys of one call, grouped by the node that each is sent to: this node when the row is here, else the owner that
// was last seen, else the home (docs/protocol.md#one-pull). Memory is reused between calls; what is returned holds
// until the next one. Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/keys/location_cache.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/store/table_store.h"
#include "ps/types/key.h"

namespace attune::ps {

class RouteGroups {
 public:
  // `here`: the rows of the table that this node owns; null: none.
  void Group(TableId table, std::span<const Key> keys, const ClusterView& cluster, const LocationCache& locations,
             const TableStore* here);

  // The servers in ascending order, then this node when it has rows of the table, then other owners. Some get no keys.
  const std::vector<NodeId>& routes() const { return routes_; }
  // Places of the keys in the call, route after route; those of one route ascend.
  std::span<const uint32_t> order() const { return order_; }
  // Where the places of each route begin, and the end.
  const std::vector<uint32_t>& begins() const { return begins_; }
  std::span<const uint32_t> PlacesOf(size_t route) const {
    return order().subspan(begins_[route], begins_[route + 1] - begins_[route]);
  }

 private:
  std::vector<NodeId> routes_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> begins_;
  std::vector<uint16_t> route_of_;   // by place in the call
  std::vector<uint64_t> present_;    // bit per key: its row is here
  std::vector<uint32_t> next_slot_;  // by route: in order_
};

}  // namespace attune::ps
