// Rows from and to checkpoints, as orders of the core: the part of ServerRuntime that works with CheckpointIo.
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "ps/runtime/server/server_runtime.h"

namespace attune::ps {

// --- loading: on the disk thread; the loop answers the coordinator meanwhile

void ServerRuntime::Load(const LoadOrder& order) {
  uint32_t shards = 0;
  {
    const MutexLock lock(mutex_);
    shards = (*core_)->map().shard_count();
  }
  auto loaded = std::make_shared<TableLoaded>();
  loaded->order = order;
  const InstallTable& install = order.install;
  checkpoints_->Load(install.load, install.spec, RangesOf(order.homes, shards),
                     [loaded](CheckpointIo::LoadedRows rows) {
                       loaded->status = std::move(rows.status);
                       loaded->table.rows = std::move(rows.rows);
                     });
  TableSpec unlimited = install.spec;
  unlimited.options.rows_max = 0;
  checkpoints_->Load(
      install.load, unlimited, RangesOf(order.backups, shards), [this, loaded](CheckpointIo::LoadedRows copies) {
        if (loaded->status.ok()) loaded->status = std::move(copies.status);
        loaded->table.copies = std::move(copies.rows);
        loop_->Post([this, loaded] {
          if (!loaded->status.ok()) {
            log::Error("cannot load a table", {{"table", loaded->order.install.spec.name}, {"reason", loaded->status}});
          }
          Step(std::move(*loaded));
        });
      });
}

// Rows that a lost server has left no copy of.
void ServerRuntime::Restore(const RestoreOrder& order) {
  uint32_t shards = 0;
  TableSpec spec;
  {
    const MutexLock lock(mutex_);
    shards = (*core_)->map().shard_count();
    spec = (*core_)->rows().tables()[order.table.value() - 1]->spec();
  }
  checkpoints_->Load(order.point, spec, RangesOf(order.shards, shards), [this, order](CheckpointIo::LoadedRows loaded) {
    if (!loaded.status.ok()) {
      log::Error("lost rows cannot be restored and are reinitialized", {{"reason", loaded.status}});
    }
    loop_->Post([this, read = RowsRead{.order = order,
                                       .status = loaded.status,
                                       .rows = std::move(loaded.rows),
                                       .filter = std::move(loaded.filter)}] { Step(read); });
  });
}

// --- saving: the rows are copied on the loop, a piece at a time between other work, and written elsewhere

void ServerRuntime::WriteSnapshot(const SnapshotOrder& order) {
  const MutexLock lock(mutex_);
  std::vector<TableStore*> stores;
  for (const auto& store : (*core_)->rows().tables()) stores.push_back(store.get());
  checkpoints_->WriteSnapshot(order, stores, [this](SnapshotWritten written) {
    if (!written.status.ok()) log::Error("cannot write a checkpoint", {{"reason", written.status}});
    loop_->Post([this, written = std::move(written)] { Step(written); });
  });
}

}  // namespace attune::ps
