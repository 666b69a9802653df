#include "ps/runtime/server/checkpoint_io.h"

#include "base/log.h"
#include "ps/checkpoint/part_writer.h"
#include "ps/checkpoint/saved_table.h"
#include "ps/checkpoint/store_rows.h"

namespace attune::ps {
namespace {

std::vector<CutFile> CutFilesOf(const WrittenPart& part) {
  std::vector<CutFile> files;
  const auto add = [&](TableId table, uint64_t table_rows, const CheckpointFile& file) {
    files.push_back({.table = table,
                     .name = file.name,
                     .checkpoint = file.checkpoint,
                     .rows = file.rows,
                     .erased = file.erased,
                     .bytes = file.bytes,
                     .digest = file.digest,
                     .table_rows = table_rows});
  };
  for (const WrittenTable& table : part.tables) add(TableId(table.table + 1), table.rows, table.file);
  for (const CheckpointFile& file : part.filters) add(TableId(), 0, file);
  return files;
}

}  // namespace

HashRanges RangesOf(std::span<const ShardId> shards, uint32_t shard_count) {
  std::vector<HashRange> ranges;
  for (const ShardId shard : shards) ranges.push_back(HashRange::OfShard(shard.value(), shard_count));
  return HashRanges(std::move(ranges));
}

CheckpointIo::CheckpointIo(const TimeSource& time, Options options)
    : time_(time), options_(std::move(options)), thread_(std::make_unique<BackgroundThread>()) {}

CheckpointIo::~CheckpointIo() {
  Cancel();
  thread_.reset();
}

void CheckpointIo::Cancel() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  if (throttle_ != nullptr) throttle_->Cancel();
  called_.NotifyAll();
}

StatusOr<OpenedCheckpoint> OpenToStart(const std::filesystem::path& directory, std::optional<uint64_t> number,
                                       bool best) {
  const std::filesystem::path found = FindCheckpoints(RealFileSystem(), directory);
  ASSIGN_OR_RETURN(OpenedCheckpoint opened, best ? OpenBestCheckpoint(RealFileSystem(), found)
                                                 : OpenCheckpoint(RealFileSystem(), found, number));
  for (const std::string& skipped : opened.skipped) {
    log::Warn("a newer checkpoint is not whole and is passed over", {{"reason", skipped}});
  }
  log::Info("starting from a checkpoint", {{"directory", opened.directory.string()},
                                           {"checkpoint", opened.manifest.number},
                                           {"clock", opened.manifest.cut.clock},
                                           {"rows", opened.manifest.rows()}});
  return opened;
}

// --- loading

StatusOr<const OpenedCheckpoint*> CheckpointIo::Opened(const RestorePoint& point) {
  if (!opened_ || opened_->directory != point.directory || opened_->manifest.number != point.checkpoint) {
    ASSIGN_OR_RETURN(opened_, OpenCheckpoint(RealFileSystem(), point.directory, point.checkpoint));
  }
  return &*opened_;
}

StatusOr<CheckpointIo::LoadedRows> CheckpointIo::LoadNow(const RestorePoint& point, const TableSpec& spec,
                                                         const HashRanges& ranges) {
  ASSIGN_OR_RETURN(const OpenedCheckpoint* checkpoint, Opened(point));
  LoadedRows loaded;
  if (ranges.size() == 0) return loaded;
  if (checkpoint->manifest.Find(spec.name) == nullptr) {
    log::Warn("a table is not in the checkpoint and is initialized",
              {{"table", spec.name}, {"checkpoint", point.checkpoint}, {"directory", point.directory}});
    return loaded;
  }
  ASSIGN_OR_RETURN(loaded.rows, TableStore::Create(spec, {.memory_budget = options_.memory_budget}));
  ASSIGN_OR_RETURN(const SavedTable table, SavedTable::Open(RealFileSystem(), *checkpoint, spec.name));
  ASSIGN_OR_RETURN(const uint64_t rows, table.Load(ranges, *loaded.rows));
  ASSIGN_OR_RETURN(loaded.filter, ReadFilterRecords(RealFileSystem(), *checkpoint));
  log::Info("loaded a table", {{"table", spec.name}, {"rows", rows}, {"checkpoint", point.checkpoint}});
  return loaded;
}

void CheckpointIo::Load(const RestorePoint& point, const TableSpec& spec, HashRanges ranges,
                        std::function<void(LoadedRows)> done) {
  thread_->Post([this, point, spec, ranges = std::move(ranges), done = std::move(done)] {
    StatusOr<LoadedRows> loaded = LoadNow(point, spec, ranges);
    done(loaded.ok() ? *std::move(loaded) : LoadedRows{.status = loaded.status(), .rows = {}, .filter = {}});
  });
}

// --- writing

void CheckpointIo::WriteSnapshot(const SnapshotOrder& order, const std::vector<TableStore*>& stores,
                                 std::function<void(SnapshotWritten)> done) {
  auto sources = std::make_shared<std::vector<std::unique_ptr<RowSource>>>();
  for (TableStore* store : stores) {
    sources->push_back(nullptr);
    if (store == nullptr) continue;
    sources->back() = std::make_unique<SnapshotRowSource>(
        *store, order.changed_only, [this](const std::function<void()>& task) { return RunOnOwner(task); });
  }
  thread_->Post([this, order, sources, throttle = NewThrottle(), done = std::move(done)] {
    std::vector<RowSource*> by_table;
    for (const auto& source : *sources) by_table.push_back(source.get());
    StatusOr<std::vector<CutFile>> files = WriteNow(order, by_table, *throttle);
    SnapshotWritten written{.cut = order.cut, .status = files.status(), .files = {}};
    if (files.ok()) written.files = *std::move(files);
    options_.post([done, written = std::move(written)] { done(written); });
  });
}

void CheckpointIo::CallOff() {
  const MutexLock lock(mutex_);
  if (throttle_ != nullptr) throttle_->Cancel();
}

std::shared_ptr<Throttle> CheckpointIo::NewThrottle() {
  auto throttle = std::make_shared<Throttle>(options_.bytes_per_second, time_);
  const MutexLock lock(mutex_);
  if (stopping_) throttle->Cancel();
  throttle_ = throttle;
  return throttle;
}

StatusOr<std::vector<CutFile>> CheckpointIo::WriteNow(const SnapshotOrder& order,
                                                      const std::vector<RowSource*>& sources, Throttle& throttle) {
  ASSIGN_OR_RETURN(const WrittenPart part, WritePart(RealFileSystem(),
                                                     {.directory = order.directory,
                                                      .checkpoint = order.checkpoint,
                                                      .job_uid = options_.job_uid,
                                                      .part = std::to_string(order.part)},
                                                     sources, order.filter, throttle));
  return CutFilesOf(part);
}

Status CheckpointIo::RunOnOwner(const std::function<void()>& task) {
  enum class State { kWaiting, kRunning, kDone, kAbandoned };
  const auto state = std::make_shared<State>(State::kWaiting);
  options_.post([this, state, &task] {
    {
      const MutexLock lock(mutex_);
      if (*state == State::kAbandoned) return;
      *state = State::kRunning;
    }
    task();  // its caller waits, so it lives
    const MutexLock lock(mutex_);
    *state = State::kDone;
    called_.NotifyAll();
  });
  const MutexLock lock(mutex_);
  while (*state != State::kDone && !(stopping_ && *state == State::kWaiting)) called_.Wait(mutex_);
  if (*state == State::kDone) return OkStatus();
  *state = State::kAbandoned;
  return Error(StatusCode::kCancelled, "the server ends");
}

}  // namespace attune::ps
