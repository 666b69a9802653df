// What a server reports of a window, as a message (proto/attune/v1/telemetry.proto): the difference between what its
// counters say now and what they said at the end of the last window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/os/thread_time.h"
#include "base/time_source.h"
#include "ps/core/server/server_core.h"
#include "ps/runtime/process/job_window.h"
#include "ps/transport/transport.h"

namespace attune::ps {

// At the end of a window.
struct TableFigures {
  std::string name;
  uint64_t rows = 0, row_bytes = 0;
  TableInterests interests;
};
struct ServerFigures {
  ServerCounters counters;
  Transport::Counters bytes;
  uint64_t rows = 0, row_bytes = 0;  // of all tables
  uint64_t parked_pulls = 0;
  double coordinator_silent_seconds = 0;
  uint64_t map_version = 0;
  bool goal_reached = false;
  double serving_cpu_seconds = 0;    // of the thread that serves rows, since it began
  std::vector<TableFigures> tables;  // the first kTablesReported
};

inline constexpr size_t kTablesReported = 32;  // a report is small

// One thread.
class ServerWindow {
 public:
  explicit ServerWindow(MonotonicTime begin) : begin_(begin) {}

  // Of the thread that serves rows.
  ThreadTime& serving() { return serving_; }
  // Ends the window, and begins the next one.
  v1::WindowReport Take(const ServerFigures& now, MonotonicTime at);
  // Adds to a window that has a job how far its rows have moved. Bytes are estimated from this server's own rows: all
  // hold the same tables.
  void AddRelocation(const JobProgress& progress, v1::WindowReport* to);

 private:
  MonotonicTime begin_;
  ServerCounters counters_;  // what follows is of the end of the last window
  Transport::Counters bytes_;
  double serving_cpu_seconds_ = 0;
  ThreadTime serving_;
  uint64_t rows_moved_ = 0;
};

}  // namespace attune::ps
