#include "ps/runtime/checkpoint_io.h"

#include "base/log.h"
#include "ps/checkpoint/part_writer.h"
#include "ps/checkpoint/saved_table.h"
#include "ps/checkpoint/store_rows.h"

namespace attune::ps {
namespace {

StatusOr<std::unique_ptr<TableStore>> LoadStore(const OpenedCheckpoint& checkpoint, const TableSpec& spec,
                                                const HashRanges& ranges) {
  ASSIGN_OR_RETURN(std::unique_ptr<TableStore> store, TableStore::Create(spec));
  ASSIGN_OR_RETURN(const SavedTable table, SavedTable::Open(RealFileSystem(), checkpoint, spec.name));
  ASSIGN_OR_RETURN(const uint64_t rows, table.Load(ranges, *store));
  log::Info("loaded a table",
            {{"table", spec.name}, {"rows", rows}, {"checkpoint", checkpoint.manifest.number}});
  return store;
}

std::vector<WrittenFile> Describe(const WrittenPart& part) {
  std::vector<WrittenFile> files;
  for (const WrittenTable& table : part.tables) {
    files.push_back({.table = TableId(table.table + 1),
                     .name = table.file.name,
                     .rows = table.file.rows,
                     .bytes = table.file.bytes,
                     .checksum = table.file.digest,
                     .erased = table.file.erased,
                     .held = table.rows});
  }
  for (const CheckpointFile& file : part.filters) {
    files.push_back({.table = TableId(), .name = file.name, .bytes = file.bytes, .checksum = file.digest});
  }
  return files;
}

}  // namespace

HashRanges HomeRanges(const ShardMap& map, NodeId node) {
  std::vector<HashRange> ranges;
  for (uint32_t shard = 0; shard < map.shard_count(); ++shard) {
    if (map.homes[shard] == node) ranges.push_back(HashRange::OfShard(shard, map.shard_count()));
  }
  return HashRanges(std::move(ranges));
}

CheckpointIo::CheckpointIo(const TimeSource& time, Options options)
    : time_(time), options_(std::move(options)), thread_(std::make_unique<BackgroundThread>()) {}

CheckpointIo::~CheckpointIo() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (throttle_ != nullptr) throttle_->Cancel();
  }
  thread_.reset();
}

Status CheckpointIo::Open(const std::filesystem::path& directory, std::optional<uint64_t> number) {
  ASSIGN_OR_RETURN(opened_,
                   OpenCheckpoint(RealFileSystem(), FindCheckpoints(RealFileSystem(), directory), number));
  for (const std::string& skipped : opened_->skipped) {
    log::Warn("a newer checkpoint is not whole and is passed over", {{"reason", skipped}});
  }
  log::Info("starting from a checkpoint", {{"directory", opened_->directory.string()},
                                           {"checkpoint", opened_->manifest.number},
                                           {"clock", opened_->manifest.cut.clock},
                                           {"rows", opened_->manifest.rows()}});
  return OkStatus();
}

void CheckpointIo::Load(const TableSpec& spec, HashRanges ranges,
                        std::function<void(Status, std::unique_ptr<TableStore>)> done) {
  thread_->Post([this, spec, ranges = std::move(ranges), done = std::move(done)] {
    StatusOr<std::unique_ptr<TableStore>> store = LoadStore(*opened_, spec, ranges);
    done(store.status(), store.ok() ? *std::move(store) : nullptr);
  });
}

void CheckpointIo::Write(const SaveOrder& order, std::vector<const TableStore*> stores,
                         std::function<void(SaveEnded)> done) {
  thread_->Post([this, order, stores = std::move(stores), done = std::move(done)] {
    const auto throttle = std::make_shared<Throttle>(options_.bytes_per_second, time_);
    {
      std::lock_guard lock(mutex_);
      throttle_ = throttle;
      if (stopping_) throttle->Cancel();
    }
    std::vector<std::unique_ptr<StoreRowSource>> sources;
    std::vector<RowSource*> by_table;
    for (const TableStore* store : stores) {
      if (store != nullptr) sources.push_back(std::make_unique<StoreRowSource>(*store));
      by_table.push_back(store != nullptr ? sources.back().get() : nullptr);
    }
    const StatusOr<WrittenPart> part = WritePart(RealFileSystem(),
                                                 {.directory = order.directory,
                                                  .checkpoint = order.checkpoint,
                                                  .job_uid = options_.job_uid,
                                                  .part = std::to_string(order.part)},
                                                 by_table, {}, *throttle);
    SaveEnded ended{.save = order.save, .status = part.status(), .files = {}};
    if (part.ok()) ended.files = Describe(*part);
    done(std::move(ended));
  });
}

}  // namespace attune::ps
