// The coordinator's side of checkpoints: gives each its number, decides on what it builds, makes the parts a checkpoint
// when all nodes have written, and removes what is old. Blocks on the disk: call it on a thread of its own, one call at
// a time.
//
//   ASSIGN_OR_RETURN(const CheckpointPlan plan, writer.Begin(directory));      // then every node: WritePart
//   RETURN_IF_ERROR(writer.Commit(plan, {...}));
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/format/manifest.h"
#include "ps/core/protocol/cut_record.h"

namespace attune::ps {

struct CheckpointPlan {
  std::filesystem::path directory;
  uint64_t number = 0;
  // Nodes may write the rows changed since checkpoint `base` only. A node that does not know them (it did not write its
  // part of `base` itself) writes all its rows, which is always right. 0: all must.
  uint64_t base = 0;
};

struct CheckpointParts {
  struct Table {
    TableSpec spec;
    uint64_t rows = 0;  // on all nodes
    std::vector<CheckpointFile> files;
  };
  std::vector<Table> tables;
  std::vector<CheckpointFile> filters;
  CutRecord cut;
};

// What the next checkpoint builds on, `last` being the newest: `last` itself, or 0 (all rows again) when the files it
// has added to its first ones are as large as these, or too many. So what a restart reads is at most about twice the
// rows, and what is written at most twice the changes. Pure.
uint64_t NextBase(const Manifest& last);

class CheckpointWriter {
 public:
  struct Options {
    std::string job_uid;
    uint32_t protocol_version = 0;
    uint32_t retained = kRetainedDefault;  // newest checkpoints kept, >= 1
    bool incremental = true;
  };

  CheckpointWriter(FileSystem& files, const TimeSource& time, Options options)
      : files_(files), time_(time), options_(std::move(options)) {}

  StatusOr<CheckpointPlan> Begin(const std::filesystem::path& directory);
  // After OK the checkpoint is durable; what could not be removed is in `leftover`.
  Status Commit(const CheckpointPlan& plan, const CheckpointParts& parts);
  // The last one committed by this object; nullptr: none yet.
  const Manifest* last() const { return last_ ? &*last_ : nullptr; }
  // Why the last Commit did not remove old files; OK when it did.
  const Status& leftover() const { return leftover_; }

 private:
  FileSystem& files_;
  const TimeSource& time_;
  const Options options_;
  // The last checkpoint this object committed. Only on such a one may another build: the rows of an earlier run could
  // have higher versions than this run's.
  std::optional<Manifest> last_;
  std::filesystem::path last_directory_;
  // Numbers this object has given out there, those of the last chain and newer.
  std::set<uint64_t> begun_;
  std::filesystem::path begun_in_;
  Status leftover_;
};

}  // namespace attune::ps
