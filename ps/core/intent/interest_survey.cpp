#include "ps/core/intent/interest_survey.h"

#include <algorithm>
#include <vector>

namespace attune::ps {

std::map<TableId, TableInterests> SurveyInterests(const InterestTable& interests,
                                                  const std::function<std::optional<RowBytes>(TableId)>& bytes_of,
                                                  const NodeCosts& costs, MonotonicTime now, size_t sample) {
  std::map<TableId, TableInterests> tables;
  std::vector<RowInterest> in_row;
  const size_t stride = interests.Sample(sample, [&](TableKey row, NodeId node) {
    const std::optional<RowBytes> bytes = bytes_of(row.table);
    if (!bytes) return;
    interests.Collect(row, now, in_row);
    const auto own = std::ranges::find(in_row, node, &RowInterest::node);
    if (own == in_row.end()) return;
    TableInterests& table = tables[row.table];
    if (own->place == RowPlace::kReplicated) ++table.copies;
    if (own->use.empty()) return;
    const RowCosts cost = CostsAmong(in_row, *own, *bytes, costs);
    ++table.announced;
    table.left_cores += cost.left / own->seconds;
    table.copied_cores += cost.replicated / own->seconds;
    table.decided_cores += cost.Of(own->place) / own->seconds;
  });
  for (auto& [id, table] : tables) {
    for (double* sum :
         {&table.announced, &table.copies, &table.left_cores, &table.copied_cores, &table.decided_cores}) {
      *sum *= static_cast<double>(stride);
    }
  }
  return tables;
}

}  // namespace attune::ps
