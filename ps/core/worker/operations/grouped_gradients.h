// The keys of one push with their gradients, each key once, in the order of the nodes that they are sent to; and the
// parts in which they travel. A position is a key's place in this order: it names the key in every message of the push,
// however it is routed later. A value: immutable once made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ps/core/keys/unique_keys.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/worker/operations/route_groups.h"

namespace attune::ps {

struct PushPart {
  NodeId to;
  Positions positions;
  Slice<Key> keys;
  Slice<float> gradients;
};

class GroupedGradients {
 public:
  GroupedGradients() = default;
  // `groups` are of these keys, under the homes of `homes_version`. With one route the given memory is used as it
  // is, unless it has no owner.
  GroupedGradients(UniqueKeys::Gradients gradients, uint32_t dim, const RouteGroups& groups, MapVersion homes_version);

  // All keys are of this home.
  GroupedGradients(Slice<Key> keys, Slice<float> gradients, uint32_t dim, NodeId home, MapVersion homes_version)
      : keys_(std::move(keys)),
        gradients_(std::move(gradients)),
        dim_(dim),
        only_route_(home),
        homes_version_(homes_version) {}

  const Slice<Key>& keys() const { return keys_; }
  size_t size() const { return keys_.size(); }
  uint32_t dim() const { return dim_; }
  // The homes that the order goes by; under others it says nothing about routes.
  MapVersion homes_version() const { return homes_version_; }

  // All keys, as they were grouped, with at most `keys_max` in one part: each route's keys are consecutive.
  // `visit(PushPart)`.
  template <typename Visit>
  void ForEachPart(size_t keys_max, Visit&& visit) const {
    if (routes_.empty()) return VisitRange(only_route_, 0, keys_.size(), keys_max, visit);
    for (size_t route = 0; route < routes_.size(); ++route) {
      VisitRange(routes_[route], begins_[route], begins_[route + 1], keys_max, visit);
    }
  }
  // Those at positions for which `wanted(position)` holds, by their homes of today; `only`: of this home.
  template <typename Wanted, typename Visit>
  void ForEachPartByHome(const ClusterView& cluster, std::optional<NodeId> only, size_t keys_max, Wanted&& wanted,
                         Visit&& visit) const {
    const std::vector<NodeId>& servers = cluster.servers();
    std::vector<std::vector<uint32_t>> by_home(servers.size());
    for (uint32_t position = 0; position < keys_.size(); ++position) {
      if (!wanted(position)) continue;
      const uint16_t home = cluster.HomePlace(keys_[position]);
      if (!only || servers[home] == *only) by_home[home].push_back(position);
    }
    for (size_t home = 0; home < servers.size(); ++home) {
      for (size_t at = 0; at < by_home[home].size(); at += keys_max) {
        const size_t count = std::min(keys_max, by_home[home].size() - at);
        visit(At(servers[home], std::span(by_home[home]).subspan(at, count)));
      }
    }
  }

 private:
  template <typename Visit>
  void VisitRange(NodeId to, size_t begin, size_t end, size_t keys_max, Visit&& visit) const {
    for (size_t at = begin; at < end; at += keys_max) visit(Consecutive(to, at, std::min(keys_max, end - at)));
  }
  PushPart Consecutive(NodeId to, size_t first, size_t count) const;
  PushPart At(NodeId to, std::span<const uint32_t> positions) const;

  Slice<Key> keys_;
  Slice<float> gradients_;
  uint32_t dim_ = 0;
  NodeId only_route_;
  std::vector<NodeId> routes_;    // empty: only_route_, so that a job with one server takes no memory for this
  std::vector<uint32_t> begins_;  // by place in routes_, and the end
  MapVersion homes_version_;
};

}  // namespace attune::ps
