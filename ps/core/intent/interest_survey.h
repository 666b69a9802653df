// What a home knows of the rows that programs have announced, for people: by table, how many there are, how they are
// had, and what the decisions save. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "base/time_source.h"
#include "ps/core/intent/interest_table.h"
#include "ps/core/intent/row_decision.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

// Of one table. A row counts once for every node. Where there are many, estimates from a sample.
struct TableInterests {
  double announced = 0;
  double copies = 0;  // of those announced, and of some that were
  // Processor time of both ends for those announced, in seconds a second: with each left at its home, with each copied,
  // and as it was decided (row_decision.h).
  double left_cores = 0, copied_cores = 0, decided_cores = 0;
};

// `bytes_of`: nothing for tables that are not known. `sample`: interests that are looked at, at most about twice as
// many; each takes a few hundred nanoseconds.
std::map<TableId, TableInterests> SurveyInterests(const InterestTable& interests,
                                                  const std::function<std::optional<RowBytes>(TableId)>& bytes_of,
                                                  const NodeCosts& costs, MonotonicTime now, size_t sample = 1024);

}  // namespace attune::ps
