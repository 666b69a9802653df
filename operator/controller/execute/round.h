// One reconcile of a job that exists: what was observed is planned from, and the plan is carried out in its order of
// need (carrier.h). An act that fails stops only the acts that need it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time_source.h"
#include "operator/controller/actions/draft.h"
#include "operator/controller/execute/job_memory.h"
#include "operator/controller/execute/observation.h"
#include "operator/controller/execute/tuners.h"
#include "operator/controller/observe/options.h"
#include "operator/kube/events.h"
#include "operator/telemetry/service.h"

namespace attune::controller {

// Since the process began.
struct RoundCounts {
  std::atomic<uint64_t> plans = 0;
  std::atomic<uint64_t> actions = 0;  // tried
  std::atomic<uint64_t> failed_actions = 0;
};

class Round {
 public:
  // What all rounds of a process work with; everything outlives them.
  struct Tools {
    Observation::Sources sources;
    telemetry::Service& service;
    kube::EventRecorder& events;
    const PlanOptions& options;
    Tuners& tuners;
    const std::string& process;  // names this one, drawn at random
    RoundCounts& counts;
  };
  Round(const Tools& tools, JobMemory& memory, const kube::Json& job_object)
      : tools_(tools),
        time_(tools.sources.time),
        memory_(memory),
        job_object_(job_object),
        key_(kube::KeyOf(job_object)),
        observation_(tools.sources, memory, job_object) {}

  // When to look again, if that is known.
  std::optional<Duration> Run(MonotonicTime listening_since);

 private:
  void CarryOut(std::vector<Step> plan);
  bool Try(Carrier& carrier, const Action& action);
  void ReportFailures();
  void LookAgainIn(Duration delay);
  bool EndsJob(const std::vector<Step>& plan) const;

  const Tools tools_;
  const TimeSource& time_;
  JobMemory& memory_;
  const kube::Json& job_object_;
  const kube::ObjectKey key_;
  Observation observation_;
  std::optional<Duration> requeue_;
};

}  // namespace attune::controller
