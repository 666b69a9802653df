// What a local run needs of its machine, as it was found, and what is to be said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/doctor/finding.h"

namespace attune::cli {

// A directory that runs write to.
struct PlaceFacts {
  std::string subject;  // "runs"
  std::string path;
  Status writable;
  std::optional<uint64_t> free_bytes;
};

struct MachineFacts {
  std::string version;  // of this program
  unsigned cores = 0;   // that this process may use; 0: not known
  std::optional<uint64_t> memory_bytes, memory_available_bytes;
  Status control_groups;  // whether a group with a limit could be made
  bool control_groups_v2 = false;
  Status loopback;          // processes reach each other
  Status port;              // a port of loopback can be listened to
  Status abstract_socket;   // the same of a socket in the abstract namespace, by which memory is shared
  Status shared_memory;     // memory without a file can be made
  Status instances;         // runs on this machine find each other
  uint64_t open_files = 0;  // that a process may have, at most
  double unix_seconds = 0;  // by this machine's clock
  std::optional<bool> clock_synchronized;
  std::vector<PlaceFacts> places;
  std::vector<std::pair<std::string, bool>> programs;  // that a run starts, and whether they lie where it looks
};

// Every fact leads to one finding. Pure.
Findings JudgeMachine(const MachineFacts& facts);

// Takes less than a second; what cannot be found out is absent. Changes nothing that stays.
MachineFacts LookAtMachine();

}  // namespace attune::cli
