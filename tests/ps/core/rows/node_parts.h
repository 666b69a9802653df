// What the parts of a RowNode share, for tests of one of them: a server with one table, which is home of all shards.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/replicas/row_replicas.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps {

template <typename T>
std::vector<T> ListOf(const Slice<T>& slice) {
  return {slice.begin(), slice.end()};
}

struct NodeParts {
  static constexpr NodeId kSelf{1}, kPeer{2}, kThird{3}, kWorker{4};
  static constexpr TableId kTable{1};

  explicit NodeParts(RowOptions options = {}) : node(WithStores(std::move(options))), tables(node.options()) {
    node.SetSelf(kSelf);
    Adopt(FirstMap());
    (void)tables.Install(kTable, {.name = "t", .options = {.dim = 1, .optimizer = Sgd{.rate = 1}}}, {}, false);
  }

  static ShardMap FirstMap() {
    ShardMap map;
    map.version = MapVersion(1, 1);
    map.shards.assign(4, Shard{.home = kSelf});
    for (const NodeId server : {kSelf, kPeer, kThird}) map.members.push_back({.node = server, .role = Role::kServer});
    map.members.push_back({.node = kWorker, .role = Role::kWorker});
    return map;
  }
  // The current map after `change(ShardMap&)`, as the next version.
  template <typename Change>
  ShardStates::Changes AdoptChanged(Change&& change) {
    ShardMap map = node.map();
    map.version = map.version.Next();
    change(map);
    return Adopt(std::move(map));
  }
  ShardStates::Changes Adopt(ShardMap map) {
    const ShardMap old = node.Adopt(std::move(map));
    return shards.Adopt(old, node.map(), node.self());
  }

  TableStore& rows() { return *tables.Rows(kTable); }
  TableStore& copies() { return *tables.Copies(kTable); }
  static RowVersion VersionOf(const TableStore& store, Key key) {
    RowVersion version;
    store.VisitRows({&key, 1}, [&](const RowView& row) { version = row.version; });
    return version;
  }
  static float ValueOf(const TableStore& store, Key key) {
    float value = 0;
    store.Pull({&key, 1}, {&value, 1});
    return value;
  }

  // All messages of this kind that have left since the last call, which forgets the others too.
  template <typename Kind>
  std::vector<std::pair<NodeId, Kind>> Sent() {
    std::vector<std::pair<NodeId, Kind>> sent;
    for (Outgoing& outgoing : out.send) {
      if (auto* message = std::get_if<Kind>(&outgoing.message)) sent.emplace_back(outgoing.to, std::move(*message));
    }
    out.send.clear();
    return sent;
  }

  RowContext node;
  RowTables tables;
  ShardStates shards;
  RowRecords records;
  RowReplicas replicas{node, tables, shards, records};
  RowOutputs out;

 private:
  static RowOptions WithStores(RowOptions options) {
    options.create_store = [](const TableSpec& spec) { return MapStore::Make(spec); };
    return options;
  }
};

}  // namespace attune::ps
