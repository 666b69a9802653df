// What a Table points to.
#pragma once

#include <memory>
#include <string>

#include "attune/ps/session.h"
#include "ps/runtime/worker/worker_runtime.h"

namespace attune::ps {

struct Table::State {
  std::shared_ptr<WorkerRuntime> runtime;
  TableId id;
  std::string name;
  uint32_t dim = 0;
  Duration call_timeout{};
  uint32_t pushes_in_flight_max = 0;
  Duration replica_age_max{};

  // An error of a call on this table says so.
  Status Named(const Status& status) const { return status.ok() ? status : Annotate(status, "table '" + name + "'"); }
};

}  // namespace attune::ps
