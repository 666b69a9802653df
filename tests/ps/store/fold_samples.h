// What tests of folds have in common: one optimizer of each kind, and a row of a table as its values and state.
#pragma once

#include <vector>

#include "ps/store/row_version.h"
#include "ps/store/table_store.h"
#include "ps/types/table_options.h"

namespace attune::ps {

inline std::vector<Optimizer> AllOptimizers() {
  return {Sgd{.rate = 0.03F},
          Momentum{.rate = 0.02F, .momentum = 0.8F},
          Momentum{.rate = 0.02F, .momentum = 0.8F, .nesterov = true},
          Adagrad{.rate = 0.07F, .initial_accumulator = 0.25F},
          RmsProp{.rate = 0.01F},
          RowAdam{.rate = 0.01F},
          Ftrl{.alpha = 0.1F, .l1 = 0.3F, .l2 = 0.2F}};
}

struct WholeRow {
  RowVersion version;
  std::vector<float> floats;  // values, then state
};
inline WholeRow RowOf(const TableStore& store, Key key) {
  WholeRow row;
  store.VisitRows({&key, 1}, [&](const RowView& view) {
    row.version = view.version;
    row.floats.assign(view.values.begin(), view.values.end());
    row.floats.insert(row.floats.end(), view.state.begin(), view.state.end());
  });
  return row;
}

}  // namespace attune::ps
