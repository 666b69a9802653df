// What a server does with checkpoints, on a thread of its own: writes its part, loads the rows it is home of.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/checkpoint/background.h"
#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/hash_ranges.h"
#include "ps/checkpoint/store_rows.h"
#include "ps/checkpoint/throttle.h"
#include "ps/core/server/server_core.h"
#include "ps/store/memory_budget.h"

namespace attune::ps {

// The ranges of keys of these shards, ascending, of so many.
HashRanges RangesOf(std::span<const ShardId> shards, uint32_t shard_count);

// Finds the checkpoint a job starts from: this number, the best one, or the newest whole one. Says on the log what was
// passed over.
StatusOr<OpenedCheckpoint> OpenToStart(const std::filesystem::path& directory, std::optional<uint64_t> number,
                                       bool best = false);

class CheckpointIo {
 public:
  struct Options {
    std::string job_uid;
    uint64_t bytes_per_second = 0;          // written at most; 0: no limit
    MemoryBudget* memory_budget = nullptr;  // of loaded tables; outlives them
    // Executes a function soon on the thread that owns the stores.
    std::function<void(std::function<void()>)> post;
  };

  CheckpointIo(const TimeSource& time, Options options);
  ~CheckpointIo();
  // Calls off what is being written; before the thread that owns the stores ends.
  void Cancel();

  struct LoadedRows {
    Status status;
    std::unique_ptr<TableStore> rows;  // null: the checkpoint does not have the table
    FilterRecords filter;              // of all its tables
  };
  // Reads the table's rows that lie in `ranges` into a new store; `done` is called on this object's thread.
  void Load(const RestorePoint& point, const TableSpec& spec, HashRanges ranges, std::function<void(LoadedRows)> done);

  // Writes the snapshots that these stores (by TableId - 1, maybe null) have begun, while the stores continue changing.
  // Called, and answered by `done`, on the thread that owns them. One at a time.
  void WriteSnapshot(const SnapshotOrder& order, const std::vector<TableStore*>& stores,
                     std::function<void(SnapshotWritten)> done);
  // It then fails soon.
  void CallOff();

 private:
  StatusOr<std::vector<CutFile>> WriteNow(const SnapshotOrder& order, const std::vector<RowSource*>& sources,
                                          Throttle& throttle);
  std::shared_ptr<Throttle> NewThrottle();
  StatusOr<const OpenedCheckpoint*> Opened(const RestorePoint& point);
  StatusOr<LoadedRows> LoadNow(const RestorePoint& point, const TableSpec& spec, const HashRanges& ranges);
  Status RunOnOwner(const std::function<void()>& task);

  const TimeSource& time_;
  const Options options_;
  std::optional<OpenedCheckpoint> opened_;  // of the thread; the last one read
  Mutex mutex_;                             // also over the state of a call of RunOnOwner
  CondVar called_;
  std::shared_ptr<Throttle> throttle_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace attune::ps
