// Which of a command's words is the job and which are changes: both orders are understood. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace attune::cli {

struct JobWords {
  std::string job;
  std::vector<std::string> changes;  // "workers=3", as given
};

// Changes have a '=', names of jobs never do. InvalidArgument, with `usage`, when not exactly one word is a name.
StatusOr<JobWords> SortJobWords(const std::vector<std::string>& words, const std::string& usage);

struct SyncWords {
  std::string job, mode;
};
// As given, unless only the other order makes sense: "bsp word2vec".
SyncWords SortSyncWords(std::string first, std::string second);

struct TuneWords {
  std::string action, job;
  std::string settings;  // of pin "servers=2,slack=bsp"; of unpin "servers,slack", "" for all
};
// "pin servers=2 JOB", "pin JOB servers=2 workers=4", "JOB pause". InvalidArgument says what is understood.
StatusOr<TuneWords> SortTuneWords(const std::vector<std::string>& words);

}  // namespace attune::cli
