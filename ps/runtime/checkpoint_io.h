// What a server does with checkpoints, on a thread of its own: writes its part, loads the rows it is home of.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/checkpoint/background.h"
#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/hash_ranges.h"
#include "ps/checkpoint/part_writer.h"
#include "ps/checkpoint/store_rows.h"
#include "ps/checkpoint/throttle.h"
#include "ps/core/server_core.h"

namespace attune::ps {

// The ranges of keys a node is home of. Requires map.formed().
HashRanges HomeRanges(const ShardMap& map, NodeId node);

class CheckpointIo {
 public:
  struct Options {
    std::string job_uid;
    uint64_t bytes_per_second = 0;  // written at most; 0: no limit
    // Executes a function soon on the thread that owns the stores.
    std::function<void(std::function<void()>)> post;
  };

  CheckpointIo(const TimeSource& time, Options options);
  ~CheckpointIo();
  // Calls off what is being written; before the thread that owns the stores ends.
  void Cancel();

  // Finds the checkpoint to start from: this number, or the newest whole one. Says on the log what was passed over.
  Status Open(const std::filesystem::path& directory, std::optional<uint64_t> number);
  // nullptr: nothing was opened.
  const OpenedCheckpoint* opened() const { return opened_ ? &*opened_ : nullptr; }

  // Reads the table's rows that lie in `ranges` into a new store; `done` is called on this object's thread.
  void Load(const TableSpec& spec, HashRanges ranges, std::function<void(Status, std::unique_ptr<TableStore>)> done);

  // Writes the rows of these stores (by TableId - 1, maybe null) as they are now, or those that have changed since the
  // checkpoint the order builds on, if this object has written its part of that one. The stores go on changing. Called,
  // and answered by `done`, on the thread that owns them. One at a time; another is refused.
  void Write(const SaveOrder& order, const std::vector<TableStore*>& stores, std::function<void(SaveEnded)> done);

  // Writes the snapshots that these stores (by TableId - 1, maybe null) have begun, while the stores go on changing.
  // Called, and answered by `done`, on the thread that owns them. One at a time.
  void WriteSnapshot(const SnapshotOrder& order, const std::vector<TableStore*>& stores,
                     std::function<void(SnapshotWritten)> done);
  // It then fails soon.
  void CallOff();

 private:
  struct Part {
    std::string directory;
    uint64_t checkpoint = 0;
    uint32_t part = 0;
  };
  StatusOr<WrittenPart> WriteNow(const Part& order, const std::vector<RowSource*>& sources,
                                 const std::shared_ptr<Throttle>& throttle);
  std::shared_ptr<Throttle> NewThrottle();
  StatusOr<std::vector<WrittenFile>> WriteNow(const SaveOrder& order, const std::vector<RowSource*>& sources);
  Status RunOnOwner(const std::function<void()>& task);
  void EndSnapshots(const SaveOrder& order, bool kept);

  const TimeSource& time_;
  const Options options_;
  std::optional<OpenedCheckpoint> opened_;
  // Of the thread that owns the stores.
  bool writing_ = false;
  std::vector<TableStore*> snapshots_;  // begun
  uint64_t last_written_ = 0;           // checkpoint; what has changed is known since then

  std::mutex mutex_;  // guards throttle_, stopping_ and the calls under way
  std::condition_variable called_;
  std::shared_ptr<Throttle> throttle_;
  bool stopping_ = false;
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace attune::ps
