#include "ps/core/worker/operations/route_groups.h"

#include <algorithm>
#include <numeric>

namespace attune::ps {

// A counting sort of the keys' places: one pass to count, one to place.
void RouteGroups::Group(TableId table, std::span<const Key> keys, const ClusterView& cluster,
                        const LocationCache& locations, const TableStore* here) {
  const auto count = static_cast<uint32_t>(keys.size());
  routes_ = cluster.servers();
  order_.resize(count);
  if (routes_.size() == 1 && here == nullptr && locations.empty()) {
    std::iota(order_.begin(), order_.end(), 0U);
    begins_ = {0, count};
    return;
  }
  const auto self_route = static_cast<uint16_t>(routes_.size());
  if (here != nullptr) {
    routes_.push_back(cluster.self());
    present_.assign((count + 63) / 64, 0);
    here->Contains(keys, present_);
  }
  const auto route_of_owner = [&](NodeId owner) {
    const auto route = static_cast<size_t>(std::ranges::find(routes_, owner) - routes_.begin());
    if (route == routes_.size()) routes_.push_back(owner);
    return static_cast<uint16_t>(route);
  };
  route_of_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t& route = route_of_[i];
    route = cluster.HomePlace(keys[i]);
    if (here != nullptr && ((present_[i / 64] >> (i % 64)) & 1) != 0) {
      route = self_route;
    } else if (const NodeId owner = locations.Find(table, keys[i]); owner != NodeId() && cluster.IsConnected(owner)) {
      route = route_of_owner(owner);
    }
  }
  begins_.assign(routes_.size() + 1, 0);
  for (uint32_t i = 0; i < count; ++i) ++begins_[route_of_[i] + 1U];
  for (size_t route = 1; route < begins_.size(); ++route) begins_[route] += begins_[route - 1];
  next_slot_.assign(begins_.begin(), begins_.end() - 1);
  for (uint32_t i = 0; i < count; ++i) order_[next_slot_[route_of_[i]]++] = i;
}

}  // namespace attune::ps
