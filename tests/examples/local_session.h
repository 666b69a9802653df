// A session without servers for tests of a worker program: tables live in this process, one worker gets every lease.
// Linked instead of the parameter server's runtime. Calls end at once, in the thread that makes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/ps/session.h"

namespace attune::ps {

// What the next Connect does, and what the session saw. Reset it at the start of a test.
struct LocalSessionWorld {
  std::filesystem::path model_directory;
  uint64_t epochs = 1;
  uint64_t lease_items = 8;
  uint64_t evaluations_due = 0;                        // handed out one per range
  std::map<std::string, std::vector<double>> metrics;  // as reported
  Status connect_status = OkStatus();
  std::optional<uint64_t> drain_after_steps;
  std::optional<uint64_t> fail_pulls_after;  // Unavailable from this pull on

  uint32_t threads = 1;      // that the program is to compute with
  uint32_t threads_max = 0;  // that it offered

  uint64_t steps = 0, pulls = 0, samples = 0;
  std::vector<double> losses;
  std::map<std::string, std::vector<int>> items_done;  // how often, by data set
  std::optional<FinalResult> result;
  std::map<std::string, uint64_t> rows;  // of each table at the session's end
};
LocalSessionWorld& World();

}  // namespace attune::ps
