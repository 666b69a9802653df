// Readiness probes, run one after the other on a thread of their own. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "operator/local/pods/pod_plan.h"

namespace attune::local {

struct ProbeRequest {
  Probe probe;
  std::string ip;
  std::vector<std::string> command;  // of an exec probe: program found, arguments expanded
  std::vector<std::string> environment;
  std::function<void(bool success)> on_result;  // called on the prober's thread
};

class Prober {
 public:
  Prober();
  ~Prober();  // drops what is queued
  // False when too many are queued already; the probe is then simply late.
  bool Submit(ProbeRequest request);

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::deque<ProbeRequest> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// One probe, now. Takes at most its timeout.
bool RunProbe(const ProbeRequest& request);

}  // namespace attune::local
