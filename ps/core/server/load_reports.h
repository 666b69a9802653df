// When a server says what it has been asked for, and of which time (LoadReport). Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/row_node.h"

namespace attune::ps {

class LoadReports {
 public:
  // Reports are at least so far apart.
  explicit LoadReports(Duration interval) : interval_(interval) {}

  // With a heartbeat that can be sent. nullopt: it is too early, or there is nothing to be said.
  std::optional<LoadReport> Next(RowNode& rows, MonotonicTime now) {
    if (!rows.map().formed() || now < due_) return std::nullopt;
    LoadReport load{.number = number_ + 1, .map_version = map_version_, .lasted = now - since_};
    load.shards = rows.TakeServedKeys();
    since_ = now;
    due_ = now + interval_ * static_cast<int64_t>(1 + load.shards.size() / kShardsAtOnce);
    map_version_ = rows.map().version;
    if (load.shards.empty() || load.map_version == MapVersion() || load.lasted > kOldAfter) return std::nullopt;
    ++number_;
    return load;
  }

 private:
  static constexpr size_t kShardsAtOnce = 4096;  // of more, reports come less often
  // What is older, because the coordinator was away, says nothing about now.
  static constexpr Duration kOldAfter = std::chrono::minutes(1);

  Duration interval_;
  uint64_t number_ = 0;
  MonotonicTime since_{}, due_{};
  MapVersion map_version_;  // in force at since_; none: nothing was counted before
};

}  // namespace attune::ps
