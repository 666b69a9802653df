// A directory of checkpoints. Every file carries the number of the checkpoint that wrote it and is never changed:
//   00000007.embedding.0.rows      rows of one table that part 0 (a server) held       (row_file_format.h)
//   00000007.0.filter              its records of pushes in flight                     (filter_file.h)
//   00000007.manifest.json         written last; without it the others are garbage     (manifest.h)
// So a write that fails or is cut off never harms an earlier checkpoint, and two writers never meet in one file.
// Several jobs may use one directory: the manifest says whose a checkpoint is, and each job removes its own alone.
//
// One process at a time begins, commits and prunes (the coordinator's); any number write parts and read. Calls block.
// Thread-safe. Errors name the directory or file, and which other checkpoint is whole where that helps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/checkpoint/format/manifest.h"

namespace attune::ps {

inline constexpr uint32_t kRetainedDefault = 2;

std::string RowFileName(uint64_t checkpoint, std::string_view table, std::string_view part);
std::string FilterFileName(uint64_t checkpoint, std::string_view part);
std::string ManifestFileName(uint64_t checkpoint);

class CheckpointDirectory {
 public:
  struct Listing {
    std::vector<uint64_t> manifests;  // ascending
    std::vector<std::string> names;   // of all files that belong to checkpoints
    uint64_t highest = 0;             // number any of them carries
  };
  enum class Depth : uint8_t { kStructure, kEveryByte };

  CheckpointDirectory(FileSystem& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  StatusOr<Listing> List() const;
  StatusOr<Manifest> ReadManifest(uint64_t number) const;
  // That every file of the checkpoint is there and is the one the manifest names.
  Status Check(const Manifest& manifest, Depth depth) const;
  // Numbers of other checkpoints that are whole and use none of the files `damage` names, newest first.
  std::vector<uint64_t> Alternatives(uint64_t than, std::string_view damage) const;

  // The number the next checkpoint gets. Creates the directory.
  StatusOr<uint64_t> NextNumber() const;
  // FailedPrecondition: a file is not seen here, so nodes do not share the directory. After OK the checkpoint is
  // durable; after an error it does not exist, or (when the last sync failed) may.
  Status Commit(const Manifest& manifest) const;
  // Keeps the `retained` (>= 1) newest whole checkpoints of this job, its best one (Manifest::is_best), and their
  // files; removes older ones of it and what unfinished ones left up to `number`, its newest. Nothing of another job
  // that writes here too is touched: its checkpoints stay, and while there are any, of the unfinished ones only those
  // in `begun` count as this job's.
  Status Prune(uint64_t number, uint32_t retained, std::string_view job_uid, const std::set<uint64_t>& begun) const;

 private:
  struct Kept {
    std::vector<uint64_t> manifests;
    bool shared = false;  // another job has checkpoints here
  };
  StatusOr<Kept> ManifestsToKeep(const Listing& listing, uint32_t retained, std::string_view job_uid) const;

  FileSystem& files_;
  const std::filesystem::path path_;
};

// A checkpoint that was found whole in structure and can be read.
struct OpenedCheckpoint {
  std::filesystem::path directory;
  Manifest manifest;
  std::vector<std::string> skipped;  // newer checkpoints that are not whole, with the reason, newest first
};

// The checkpoint of this number, or the newest that is whole. NotFound: there is none; DataLoss: none is whole, or the
// one asked for is not, and which others are.
StatusOr<OpenedCheckpoint> OpenCheckpoint(FileSystem& files, const std::filesystem::path& directory,
                                          std::optional<uint64_t> number = std::nullopt);

// The best whole checkpoint of the job that has marked one last. NotFound: none is marked.
StatusOr<OpenedCheckpoint> OpenBestCheckpoint(FileSystem& files, const std::filesystem::path& directory);

// Where the checkpoints are when a person names a directory: itself, or "tables" in it (a job's model directory).
std::filesystem::path FindCheckpoints(FileSystem& files, const std::filesystem::path& directory);

}  // namespace attune::ps
