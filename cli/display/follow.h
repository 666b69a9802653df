// Watches jobs to their end and shows them: live display, plain lines or JSON lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "cli/runs/job_view.h"
#include "operator/kube/api.h"

namespace attune::cli {

struct FollowOptions {
  bool json = false;
  bool plain = false;  // also chosen when standard output is no terminal
  bool local = true;   // the API is in this process: read often, and no answer is an error at once
  // Adds live figures to a view; empty: the status alone.
  std::function<void(const kube::ObjectKey& job, const std::string& uid, JobView&)> add_telemetry;
  // Is shown every view, with the time (seconds since 1970); empty: nothing is recorded.
  std::function<void(const JobView&, double now)> record;
};

struct FollowResult {
  bool interrupted = false;
  Status lost;                 // set when the API stopped answering
  std::vector<JobView> views;  // last seen, one per job
};

// Returns when all jobs have ended or are gone, at an interrupt, or when the API is lost.
FollowResult Follow(kube::Api& api, const std::vector<kube::ObjectKey>& jobs, const FollowOptions& options,
                    const TimeSource& time);

// Prints summaries; the exit code for what happened.
int Conclude(const FollowResult& result, bool json);

}  // namespace attune::cli
