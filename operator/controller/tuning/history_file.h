// The tuner's history of finished jobs in a file, so that it outlives the operator. Bounded by JobHistory's own bounds.
// Several operators may share a file: each adds to what stands there; of two that add in the same instant one entry may
// be lost, never the file. Without a path it is kept in memory. Not thread-safe.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "operator/tuner/records/history.h"

namespace attune::controller {

class HistoryFile {
 public:
  explicit HistoryFile(std::filesystem::path path = {}) : path_(std::move(path)) {}

  // A missing file is an empty history. What cannot be read is an error and an empty history; it is moved aside (to
  // PATH.damaged) by the next Add.
  Status Open();
  // An error says that the file was not written; the history in memory has the entry all the same.
  Status Add(tuner::HistoryEntry entry);
  const tuner::JobHistory& history() const { return history_; }

 private:
  StatusOr<tuner::JobHistory> Read() const;

  std::filesystem::path path_;
  tuner::JobHistory history_;
};

}  // namespace attune::controller
