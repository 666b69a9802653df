// The package lists as a graph: things under numbers, links between them, some of which are kept from training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "examples/package-graph/package_list.h"

namespace attune::package_graph {

using EntityId = uint32_t;

struct Link {
  EntityId head = 0, tail = 0;
  Relation relation = Relation::kDepends;
  bool operator==(const Link&) const = default;
};

inline constexpr uint64_t kLinksMax = 16'000'000;  // more are refused before they take memory

struct GraphOptions {
  std::vector<std::filesystem::path> lists;  // see FindPackageLists
  // A thing with fewer links is left out, again and again until all have as many. 0: 10, and 4 where the lists hold
  // fewer than 100,000 links.
  uint32_t links_min = 0;
  uint32_t held_out_percent = 2;
  uint64_t seed = 1;  // decides what is held out
};

// Every process that reads the same lists with the same options has the same graph.
struct Graph {
  std::vector<std::string> names;  // of entities, most links first; "section:net", "tag:role::program", else a package
  std::vector<Link> training;      // shuffled
  // Links between pairs that no training link connects in either direction, whatever its relation: what a model says of
  // them it cannot have copied. Both ends occur in training.
  std::vector<Link> held_out;
  uint64_t lists = 0, packages = 0;

  size_t size() const { return names.size(); }
  std::optional<EntityId> Find(std::string_view name) const;
  std::string Description() const;  // a line for people
};

// InvalidArgument: too little is left to train on.
StatusOr<Graph> LoadGraph(const GraphOptions& options);
StatusOr<Graph> BuildGraph(const std::vector<std::string>& texts, const GraphOptions& options);

}  // namespace attune::package_graph
