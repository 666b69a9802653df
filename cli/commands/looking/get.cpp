#include <algorithm>
#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/job_table.h"
#include "cli/display/object_text.h"
#include "cli/failure.h"
#include "cli/job_list.h"
#include "cli/runs/archived_api.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_store.h"

namespace attune::cli {
namespace {

constexpr size_t kEndedShown = 10;

// What is printed.
struct Found : JobList {
  bool ended = false;
};

StatusOr<Found> FindOne(const std::string& job, const Target& target) {
  ASSIGN_OR_RETURN(const JobConnection connection, ConnectToJob(target, job, Purpose::kLook));
  Found found;
  ASSIGN_OR_RETURN(kube::Json object, GetJob(*connection.api, connection.key));
  found.Add(std::move(object), connection);
  found.ended = connection.ended.has_value();
  return found;
}

// Jobs of runs that have ended; for when nothing runs, so that what was trained can still be found.
Found FindEnded(const Target& target) {
  Found found;
  found.ended = true;
  for (const RunRecord& run : ListRuns()) {
    if (found.jobs.size() >= kEndedShown) break;
    const auto archive = OpenArchive(run);
    if (!archive.ok()) continue;
    const auto list = (*archive)->List(kube::kTrainingJobs, {.name_space = target.name_space});
    Connection connection;
    connection.run = run.name;
    for (const kube::Json& job : list.ok() ? list->items : std::vector<kube::Json>()) found.Add(job, connection);
  }
  return found;
}

StatusOr<Found> FindAll(const GetArguments& arguments, const Target& target) {
  const auto connections = ConnectToAll(target);
  if (connections.status().code() == StatusCode::kNotFound && !target.instance) {
    if (Found ended = FindEnded(target); !ended.jobs.empty()) return ended;
  }
  if (!connections.ok()) return connections.status();
  Found found;
  ASSIGN_OR_RETURN(static_cast<JobList&>(found), ListJobs(*connections, target, arguments.all_namespaces));
  for (const Status& silent : found.silent) Fail(silent);
  return found;
}

void PrintObjects(Found& found, const GetArguments& arguments) {
  for (kube::Json& job : found.jobs) {
    if (!arguments.managed_fields) kube::DropManagedFields(job);
  }
  const kube::Json shown = arguments.job.empty()
                               ? kube::Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", found.jobs}}
                               : found.jobs.front();
  std::fputs(ObjectText(shown, arguments.output).c_str(), stdout);
}

void PrintTable(const Found& found, const GetArguments& arguments, const Target& target) {
  if (found.jobs.empty()) {
    const std::string in = target.name_space.empty() ? "" : " in namespace " + target.name_space;
    std::fprintf(stderr, "no jobs%s at %s\n", in.c_str(), found.where.c_str());
    return;
  }
  const bool several_namespaces = std::any_of(found.jobs.begin(), found.jobs.end(), [&](const kube::Json& job) {
    return kube::Namespace(job) != kube::Namespace(found.jobs.front());
  });
  Table table =
      JobTable(found.jobs, arguments.all_namespaces || several_namespaces, ToUnixSeconds(SystemTime().WallNow()));
  const auto add = [&](const char* header, const std::vector<std::string>& values) {
    table.header.emplace_back(header);
    for (size_t i = 0; i < table.rows.size(); ++i) table.rows[i].push_back(values[i]);
  };
  if (found.several_instances) add("INSTANCE", found.instances);
  if (found.several_instances || found.ended) add("RUN", found.runs);
  for (const std::string& line : FormatTable(table)) std::puts(line.c_str());
  if (found.ended && arguments.job.empty())
    std::fputs("nothing runs; these runs have ended (`attune runs` lists all of them)\n", stderr);
}

}  // namespace

int Get(const GetArguments& arguments, const Target& target) {
  auto found = arguments.job.empty() ? FindAll(arguments, target) : FindOne(arguments.job, target);
  if (!found.ok()) return Fail(found.status());
  if (arguments.output == "name") {
    for (const kube::Json& job : found->jobs) std::puts(std::string(kube::Name(job)).c_str());
  } else if (!arguments.output.empty()) {
    PrintObjects(*found, arguments);
  } else {
    PrintTable(*found, arguments, target);
  }
  return found->silent.empty() ? kExitOk : kExitFailed;  // what did not answer was named
}

}  // namespace attune::cli
