// Which of a command's words is the job and which are changes: both orders are understood. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::cli {

struct JobWords {
  std::string job;
  std::vector<std::string> changes;  // "workers=3", as given
};

// Changes have a '=', names of jobs never do. Job "" where none is named. InvalidArgument, with `usage`, when more than
// one word is a name, or none is a change.
StatusOr<JobWords> SortJobWords(const std::vector<std::string>& words, const std::string& usage);

struct ModeWords {
  std::string job, mode;
};
// As given, unless only the other order makes sense: "bsp word2vec". A mode alone is for the only job.
ModeWords SortModeWords(std::string first, std::string second, const std::function<bool(const std::string&)>& is_mode);
ModeWords SortSyncWords(std::string first, std::string second);

struct LogsWords {
  std::string job, role;
  std::optional<uint32_t> index;
};
// "JOB worker 0"; without JOB where the first word is a role, and what follows it no other one. InvalidArgument says
// what is understood.
StatusOr<LogsWords> SortLogsWords(const std::vector<std::string>& words);

struct TuneWords {
  std::string action, job;
  std::string settings;  // of pin "servers=2,slack=bsp"; of unpin "servers,slack", "" for all
};
// "pin servers=2 JOB", "pin JOB servers=2 workers=4", "JOB pause"; job "" where none is named: "pause". InvalidArgument
// says what is understood.
StatusOr<TuneWords> SortTuneWords(const std::vector<std::string>& words);

}  // namespace attune::cli
