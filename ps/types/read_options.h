// How a worker reads a table: its own choice, which others need not share.
#pragma once

#include <chrono>

namespace attune::ps {

struct ReadOptions {
  // How long ago a row that was announced (Table::Intend) may have been asked for when it is read without asking its
  // owner again. Zero: every read asks the owner, whatever was announced.
  std::chrono::nanoseconds replica_age_max = std::chrono::seconds(1);
};

}  // namespace attune::ps
