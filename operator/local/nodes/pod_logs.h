// Reading a container's log files, with tail and follow. Any thread; touches files only.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::local {

// <pod directory>/<container>/<restart>.log; what overflowed is in <restart>.log.1.
std::filesystem::path LogFile(const std::filesystem::path& pod_directory, const std::string& container,
                              int64_t restart);

// The last lines of `file` and its predecessor, at most `bytes_max`.
StatusOr<std::string> ReadLogTail(const std::filesystem::path& file, std::optional<int64_t> lines, uint64_t bytes_max);

// Delivers what is there (the last `lines`) and what is added until `ended()` says that no more will come, `on_text`
// returns false or the deadline (DeadlineExceeded).
Status FollowLog(const std::filesystem::path& file, std::optional<int64_t> lines,
                 const std::function<bool(std::string_view)>& on_text, const std::function<bool()>& ended,
                 MonotonicTime deadline, const TimeSource& time);

}  // namespace attune::local
