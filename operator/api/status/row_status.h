// Where workers found the rows that their programs asked for, of late (docs/rows.md). Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::api {

// Of one table, at all servers. A row counts once for every worker.
struct TableRows {
  std::string name;
  uint64_t rows = 0, row_bytes = 0;
  uint64_t announced = 0, copies = 0;
  // Processor time of workers and servers for those announced, in hundredths of a core: with each left at its home,
  // with each copied, and as it was decided.
  double left_cores = 0, copied_cores = 0, decided_cores = 0;
  friend bool operator==(const TableRows&, const TableRows&) = default;
};

struct RowPlaces {
  double per_second = 0;  // rows asked for, of all workers
  // Shares of them, in thousandths.
  double replicated = 0;  // with a copy at the worker
  double owned = 0;       // by the worker
  double fetched = 0;     // ahead, and there
  double waited = 0;      // fetched ahead, and still on the way
  double remote = 0;      // asked for when they were needed
  // Rows announced for a step that had begun, for each row asked for; likewise in thousandths.
  double late = 0;
  uint64_t copies = 0;             // at all workers
  double oldest_read_seconds = 0;  // the greatest age of a copy that was read
  uint64_t flushed_bytes_per_second = 0, refreshed_bytes_per_second = 0;
  // What is made of announcements (spec.rowManagement).
  bool ignored = false, on_trial = false;
  std::optional<double> speedup;  // in hundredths; by the last trial
  std::vector<TableRows> tables;  // by name

  double here() const { return replicated + owned + fetched; }
  friend bool operator==(const RowPlaces&, const RowPlaces&) = default;
};

}  // namespace attune::api
