// The jobs of everything that a command talks to, with where each was found.
#pragma once

#include <string>
#include <vector>

#include "cli/connection.h"

namespace attune::cli {

struct JobList {
  std::vector<kube::Json> jobs;
  std::vector<std::string> runs, instances;  // one for each job; "" in a cluster
  std::string where;                         // what was asked, for people
  bool several_instances = false;
  std::vector<Status> silent;  // of those that did not answer, with which one

  void Add(kube::Json job, const Connection& connection);
};

// The error of the last one when none of them answers. On one machine the namespace is looked at only when it was asked
// for.
StatusOr<JobList> ListJobs(const std::vector<Connection>& connections, const Target& target, bool all_namespaces);

}  // namespace attune::cli
