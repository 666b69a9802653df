#include "cli/job_list.h"

#include <utility>

namespace attune::cli {

void JobList::Add(kube::Json job, const Connection& connection) {
  jobs.push_back(std::move(job));
  runs.push_back(connection.run);
  instances.push_back(connection.instance ? std::to_string(*connection.instance) : "");
}

StatusOr<JobList> ListJobs(const std::vector<Connection>& connections, const Target& target, bool all_namespaces) {
  JobList found;
  found.several_instances = connections.size() > 1;
  for (const Connection& connection : connections) {
    found.where += (found.where.empty() ? "" : ", ") + connection.description;
    kube::ListOptions options;
    if (!all_namespaces && (!connection.instance || !target.name_space.empty()))
      options.name_space = connection.name_space;
    auto list =
        connection.api->List(kube::kTrainingJobs, options, connection.instance ? kLookCall : kube::CallOptions());
    if (!list.ok()) {
      found.silent.push_back(Annotate(list.status(), "asking " + connection.description));
      continue;
    }
    for (kube::Json& job : list->items) found.Add(std::move(job), connection);
  }
  if (!found.silent.empty() && found.silent.size() == connections.size()) return found.silent.back();
  return found;
}

}  // namespace attune::cli
