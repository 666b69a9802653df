// The log of a pod's container, as its status says which run is meant. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"

namespace attune::local {

// Errors in the words of a kubelet. A follower ends when the run ends, its pod is replaced, `stopping` or the deadline.
Status ReadContainerLog(MemoryApi& api, const std::filesystem::path& pod_directory, const kube::Json& pod,
                        const kube::LogOptions& log, const std::function<bool(std::string_view)>& on_text,
                        MonotonicTime deadline, const std::function<bool()>& stopping, const TimeSource& time);

}  // namespace attune::local
