// Which local instances run on this machine, so that `attune get` in another terminal finds the one `attune run`
// started. One small file per instance in $XDG_RUNTIME_DIR/attune (else /tmp/attune-<uid>), mode 0600, gone with the
// instance.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::local {

struct Instance {
  int process_id = 0;
  std::string url;  // of its API
  std::string token;
  std::string job;  // first job's namespace/name, for people
  std::string run;  // its name
  std::string run_directory;
  std::string started;    // RFC 3339
  std::string dashboard;  // address of its page for people, with the page's token; "": none
};

// Removes its file on destruction.
class InstanceRegistration {
 public:
  static StatusOr<std::unique_ptr<InstanceRegistration>> Register(const Instance& instance);
  virtual ~InstanceRegistration() = default;
};

// Living instances, newest first; files of dead processes are removed on the way.
StatusOr<std::vector<Instance>> FindInstances();

// What distinguishes a process from a later one with the same id; "" when there is none.
std::string ProcessStart(int process_id);
// Whether that process, and no later one, runs.
bool IsProcess(int process_id, const std::string& start);

}  // namespace attune::local
