// What makes files a checkpoint: the manifest, written last. It names every file the checkpoint consists of, earlier
// checkpoints' files included, and is complete by itself.
//
// JSON, for people and their tools. Its first line holds the CRC-32C of all that follows; names are percent-escaped
// outside printable ASCII; floats are written so that they are read back exactly. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/store/table_store.h"

namespace attune::ps {

inline constexpr uint32_t kManifestVersion = 2;  // 1: the files of earlier releases, one manifest per directory
inline constexpr uint64_t kManifestBytesMax = 64 << 20;

struct CheckpointFile {
  std::string name;
  uint64_t checkpoint = 0;  // that wrote it
  uint64_t rows = 0, erased = 0;
  uint64_t bytes = 0;
  uint32_t digest = 0;  // row_file_format.h; of a filter file: its checksum
  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointTable {
  TableSpec spec;
  std::vector<CheckpointFile> files;  // of all checkpoints it builds on, oldest first
  uint64_t rows = 0;                  // the table had
};

struct Manifest {
  uint64_t number = 0;
  // The checkpoint whose rows this one's files complete; 0: all its rows are in its own files.
  uint64_t base = 0;
  std::string job_uid;
  int64_t written_at = 0;  // seconds since 1970
  uint32_t protocol_version = 0;
  CutRecord cut;
  std::vector<CheckpointTable> tables;
  std::vector<CheckpointFile> filters;  // records of pushes in flight (filter_file.h)

  const CheckpointTable* Find(std::string_view table) const;  // nullptr when it has none of this name
  // It is the best one of its job so far, by a metric (spec.checkpoint.best).
  bool is_best() const { return cut.best && cut.best->checkpoint == number && cut.best->directory.empty(); }
  uint64_t rows() const;
  uint64_t bytes() const;      // of all files
  uint64_t own_bytes() const;  // of the files this checkpoint wrote
  std::vector<CheckpointFile> AllFiles() const;
};

std::string EncodeManifest(const Manifest& manifest);
// DataLoss: damaged; FailedPrecondition: of another version or byte order. Neither names the file.
StatusOr<Manifest> DecodeManifest(std::string_view text);

// What loading would get wrong about `wanted`, which the table of the checkpoint must agree with: dim, optimizer,
// initializer, seed. Rates and limits may differ. Empty: nothing.
std::string Difference(const TableSpec& found, const TableSpec& wanted);

// "in/out" -> "in%2Fout": letters, digits, '-', '_', '.' stay. Reversible. Names that would be long are cut and end
// with a number that distinguishes them.
std::string EscapeForFileName(std::string_view name);

}  // namespace attune::ps
