#include <cstdio>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/job_table.h"
#include "cli/jobs.h"
#include "operator/api/yaml.h"

namespace attune::cli {
namespace {

StatusOr<std::vector<kube::Json>> Fetch(Connection& connection, const GetArguments& arguments) {
  if (!arguments.job.empty()) {
    ASSIGN_OR_RETURN(kube::Json job, GetJob(*connection.api, {connection.name_space, arguments.job}));
    return std::vector<kube::Json>{std::move(job)};
  }
  kube::ListOptions options;
  if (!arguments.all_namespaces) options.name_space = connection.name_space;
  ASSIGN_OR_RETURN(kube::ListResult list, connection.api->List(kube::kTrainingJobs, options));
  return std::move(list.items);
}

void Print(const std::vector<kube::Json>& jobs, const GetArguments& arguments, const Connection& connection) {
  if (arguments.output == "name") {
    for (const kube::Json& job : jobs) std::puts(std::string(kube::Name(job)).c_str());
    return;
  }
  if (arguments.output == "json" || arguments.output == "yaml") {
    const kube::Json shown =
        arguments.job.empty() ? kube::Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", jobs}} : jobs.front();
    const std::string text = arguments.output == "yaml"
                                 ? api::ToYaml(shown)
                                 : shown.dump(2, ' ', false, kube::Json::error_handler_t::replace) + "\n";
    std::fputs(text.c_str(), stdout);
    return;
  }
  if (jobs.empty()) {
    std::fprintf(stderr, "no jobs%s%s at %s\n", arguments.all_namespaces ? "" : " in namespace ",
                 arguments.all_namespaces ? "" : connection.name_space.c_str(), connection.description.c_str());
    return;
  }
  const double now = ToUnixSeconds(SystemTime().WallNow());
  for (const std::string& line : FormatTable(JobTable(jobs, arguments.all_namespaces, now))) std::puts(line.c_str());
}

}  // namespace

int Get(const GetArguments& arguments, const Target& target) {
  auto connection = Connect(target);
  if (!connection.ok()) return Fail(connection.status());
  const auto jobs = Fetch(*connection, arguments);
  if (!jobs.ok()) return Fail(jobs.status());
  Print(*jobs, arguments, *connection);
  return kExitOk;
}

}  // namespace attune::cli
