#include "ps/core/server/table_loads.h"

#include <optional>
#include <utility>

namespace attune::ps {
namespace {

LoadOrder OrderFor(const InstallTable& install, uint32_t term, NodeId self, const ShardMap& map) {
  LoadOrder order{.install = install, .term = term, .homes = {}, .backups = {}};
  for (uint32_t i = 0; i < map.shard_count(); ++i) {
    const Shard& shard = map.shards[i];
    if (shard.home == self) order.homes.push_back(ShardId(i));
    if (shard.backup == self || shard.next_backup == self) order.backups.push_back(ShardId(i));
  }
  return order;
}

}  // namespace

std::optional<LoadOrder> TableLoads::Begin(const InstallTable& install, uint32_t term, NodeId self,
                                           const ShardMap& map) {
  if (!map.formed() || !reading_.insert(install.table).second) return std::nullopt;
  return OrderFor(install, term, self, map);
}

TableLoads::Next TableLoads::Ended(TableLoaded& loaded, uint32_t term, NodeId self, const ShardMap& map) {
  const TableId table = loaded.order.install.table;
  if (loaded.order.term == term && loaded.status.ok()) {
    LoadOrder order = OrderFor(loaded.order.install, term, self, map);
    if (order.homes != loaded.order.homes || order.backups != loaded.order.backups) {
      loaded.order = std::move(order);
      return Next::kReadAgain;
    }
  }
  reading_.erase(table);
  if (loaded.order.term != term) return Next::kNothing;
  return loaded.status.ok() ? Next::kInstall : Next::kRefuse;
}

}  // namespace attune::ps
