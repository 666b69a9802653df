// Everything a program says about a data set when it asks for leases of it.
#pragma once

#include <cstdint>

namespace attune::ps {

struct DataSetOptions {
  uint64_t items = 0;  // 0: as the manifest says. All workers must say the same
  // 0: training, as the job's goal says and until it is reached. Otherwise closing or side work (evaluation, export):
  // the goal does not end it, and once the goal is reached it begins only when no worker holds a lease of the training
  // data.
  uint64_t epochs = 0;
  // Items handed out at a time. 0: as the manifest says, else chosen by how long they take, so that leases of one data
  // set differ in size.
  uint64_t lease_items = 0;
  // Evaluation on the way, every goal.evaluateEvery of the manifest: the items (0 means 1 here) become free each time
  // that an evaluation is due, and a range of them never waits: it ends at once while none is due. Ask for it after
  // each step; that costs nothing. Without goal.evaluateEvery, and once the goal is reached, none is ever due. Leave
  // `epochs` at 0.
  bool when_due = false;
  bool operator==(const DataSetOptions&) const = default;
};

}  // namespace attune::ps
