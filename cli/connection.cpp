#include "cli/connection.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "cli/display/table.h"
#include "cli/process_limits.h"
#include "cli/runs/archived_api.h"
#include "cli/runs/run_store.h"
#include "operator/kube/client/rest_api.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

bool DefaultKubeconfigExists() {
  std::error_code ignored;
  if (const char* path = std::getenv("KUBECONFIG"); path != nullptr && *path != '\0') return true;
  const char* home = std::getenv("HOME");
  return home != nullptr && std::filesystem::exists(std::filesystem::path(home) / ".kube" / "config", ignored);
}

// All, or the one that --instance names.
StatusOr<std::vector<local::Instance>> ChosenInstances(const Target& target) {
  ASSIGN_OR_RETURN(std::vector<local::Instance> instances, local::FindInstances());
  if (!target.instance) return instances;
  std::string running;
  for (local::Instance& instance : instances) {
    if (instance.process_id == *target.instance) return std::vector<local::Instance>{std::move(instance)};
    running += (running.empty() ? "" : ", ") + std::to_string(instance.process_id) + " (" + instance.job + ")";
  }
  return Error(StatusCode::kNotFound, "no local instance has process id " + std::to_string(*target.instance) +
                                          (running.empty() ? "; none is running" : "; running: " + running));
}

StatusOr<Connection> ConnectToInstance(const local::Instance& instance, const Target& target) {
  RETURN_IF_ERROR(PrepareLimits(0));
  kube::InitializeHttp();
  kube::ClientConfig config;
  config.server = instance.url;
  config.token = instance.token;
  Connection connection;
  ASSIGN_OR_RETURN(connection.api, kube::MakeRestApi(config));
  connection.name_space = target.name_space.empty() ? "default" : target.name_space;
  connection.description = "the local instance with process id " + std::to_string(instance.process_id);
  connection.instance = instance.process_id;
  connection.run = instance.run;
  connection.run_directory = instance.run_directory;
  return connection;
}

struct LocalWorld {
  std::vector<Connection> connections;
  std::vector<RunningJob> jobs;
  std::vector<size_t> of;  // jobs[i] is in connections[of[i]]
  std::string silent;      // instances that did not answer, with the reasons
  std::vector<local::Instance> silent_instances;
};

StatusOr<LocalWorld> LookAtInstances(const Target& target) {
  LocalWorld world;
  ASSIGN_OR_RETURN(const std::vector<local::Instance> instances, ChosenInstances(target));
  for (const local::Instance& instance : instances) {
    ASSIGN_OR_RETURN(Connection connection, ConnectToInstance(instance, target));
    const auto list = connection.api->List(kube::kTrainingJobs, {}, kLookCall);
    if (!list.ok()) {
      world.silent += (world.silent.empty() ? "" : ", ") + std::to_string(instance.process_id) + " (" + instance.job +
                      "): " + std::string(Message(list.status()));
      world.silent_instances.push_back(instance);
      continue;
    }
    for (const kube::Json& job : list->items) {
      world.jobs.push_back(
          {instance.process_id, instance.run, instance.run_directory, instance.started, kube::KeyOf(job)});
      world.of.push_back(world.connections.size());
    }
    world.connections.push_back(std::move(connection));
  }
  return world;
}

StatusOr<JobConnection> ConnectToJobOfCluster(const Target& target, const std::string& job) {
  ASSIGN_OR_RETURN(Connection connection, ConnectToCluster(target));
  JobConnection found{{std::move(connection)}, {}};
  found.key = {found.name_space, job};
  return found;
}

StatusOr<JobConnection> ConnectToEndedRun(const Target& target, RunRecord record, const std::string& wanted) {
  const bool by_job =
      std::any_of(record.jobs.begin(), record.jobs.end(), [&](const RunJob& job) { return job.name == wanted; });
  if (record.jobs.empty()) {
    return Error(StatusCode::kNotFound, "run " + record.name + " ended before its job was made; see " +
                                            (std::filesystem::path(record.directory) / "attune.log").string());
  }
  if (!by_job && record.jobs.size() > 1) {
    std::string names;
    for (const RunJob& job : record.jobs) names += (names.empty() ? "" : ", ") + job.name;
    return Error(StatusCode::kInvalidArgument, "run " + record.name + " trained several jobs; name one: " + names);
  }
  JobConnection found;
  ASSIGN_OR_RETURN(found.api, OpenArchive(record));
  for (const RunJob& job : record.jobs) {
    if (!by_job || job.name == wanted) found.key = {job.name_space, job.name};
  }
  if (!target.name_space.empty() && target.name_space != found.key.name_space) {
    return Error(StatusCode::kNotFound, "run " + record.name + " trained " + found.key.ToString() +
                                            ", which is not in namespace " + target.name_space);
  }
  found.name_space = target.name_space.empty() ? found.key.name_space : target.name_space;
  found.description = "run " + record.name + ", which has ended, in " + record.directory;
  found.run = record.name;
  found.run_directory = record.directory;
  found.ended = std::move(record);
  return found;
}

StatusOr<JobConnection> ConnectToEndedJob(const Target& target, const std::string& wanted) {
  ASSIGN_OR_RETURN(RunRecord record, FindRun(wanted));
  return ConnectToEndedRun(target, std::move(record), wanted);
}

Status NothingRuns() {
  return Error(StatusCode::kNotFound,
               "nothing to talk to: no local instance runs and there is no kubeconfig; start one with `attune run "
               "FILE`, or name a cluster with --kubeconfig FILE or --context NAME");
}

// Nothing that runs is meant by `wanted`: what there is instead.
Status NoSuchJob(const LocalWorld& world, const Target& target, const std::string& wanted, Purpose purpose) {
  std::string running;
  std::set<std::string> named;  // several runs may train a job of one name
  for (const RunningJob& job : world.jobs) {
    if (named.insert(job.key.name).second) running += (running.empty() ? "" : ", ") + job.key.name;
  }
  const auto ended = ChooseRun(ListRuns(), wanted);
  if (ended.ok() && ended->outcome != RunOutcome::kRunning && purpose == Purpose::kSteer) {
    return Error(StatusCode::kFailedPrecondition, "no job " + wanted + " runs; run " + ended->name + " has ended (" +
                                                      ToString(ended->outcome) + "): " + HowToGoOn(*ended) +
                                                      (running.empty() ? "" : "; running: " + running));
  }
  if (world.jobs.empty() && world.silent.empty() && ListRuns().empty() && !target.instance) return NothingRuns();
  std::string text = "there is no job or run " + wanted;
  if (!target.name_space.empty()) text += " in namespace " + target.name_space;
  text += running.empty() ? "; none is running" : "; there are: " + running;
  if (!world.silent.empty()) text += "; no answer from instance " + world.silent;
  if (const auto runs = ListRuns(); purpose == Purpose::kLook && !runs.empty())
    text += "; runs (attune runs): " + NamesOf(runs);
  return Error(StatusCode::kNotFound, text);
}

}  // namespace

namespace {

// A table of them, below `text`.
Status SeveralJobs(std::string text, const std::vector<RunningJob>& jobs) {
  Table table{{"INSTANCE", "RUN", "JOB", "STARTED", "DIRECTORY"}, {}};
  for (const RunningJob& job : jobs)
    table.rows.push_back({std::to_string(job.instance), job.run, job.key.ToString(), job.started, job.run_directory});
  for (const std::string& line : FormatTable(table)) text += "\n  " + line;
  return Error(StatusCode::kInvalidArgument, text);
}

StatusOr<JobConnection> ConnectToOnlyJobOfCluster(const Target& target) {
  ASSIGN_OR_RETURN(Connection connection, ConnectToCluster(target));
  const auto list = connection.api->List(kube::kTrainingJobs, {.name_space = connection.name_space});
  if (!list.ok()) return Annotate(list.status(), "asking " + connection.description);
  const std::string where = " in namespace " + connection.name_space + " of " + connection.description;
  if (list->items.empty()) return Error(StatusCode::kNotFound, "there is no job" + where);
  if (list->items.size() > 1) {
    std::string names;
    for (const kube::Json& job : list->items) names += (names.empty() ? "" : ", ") + std::string(kube::Name(job));
    return Error(StatusCode::kInvalidArgument,
                 "there are " + std::to_string(list->items.size()) + " jobs" + where + "; name one: " + names);
  }
  JobConnection found{{std::move(connection)}, kube::KeyOf(list->items.front())};
  found.name_space = found.key.name_space;
  return found;
}

StatusOr<JobConnection> ConnectToOnlyEndedJob(const Target& target) {
  ASSIGN_OR_RETURN(const OnlyRun only, ChooseOnlyRun(ListRuns()));
  return ConnectToEndedRun(target, only.run, only.job);
}

// Looks where ConnectToJob looks, in the same order.
StatusOr<JobConnection> ConnectToOnlyJob(const Target& target, Purpose purpose) {
  if (WantsCluster(target) && !target.instance) return ConnectToOnlyJobOfCluster(target);
  ASSIGN_OR_RETURN(LocalWorld world, LookAtInstances(target));
  if (!world.silent.empty()) {
    return Error(StatusCode::kUnavailable,
                 "name a job: which ones run is not known, for there is no answer from instance " + world.silent);
  }
  ASSIGN_OR_RETURN(const std::optional<size_t> chosen, ChooseOnlyJob(world.jobs, target.name_space));
  if (chosen) {
    JobConnection found{{std::move(world.connections[world.of[*chosen]])}, world.jobs[*chosen].key};
    found.name_space = found.key.name_space;
    return found;
  }
  if (target.instance) {
    return Error(StatusCode::kNotFound,
                 "instance " + std::to_string(*target.instance) + " has no job; it is starting or ending");
  }
  StatusOr<JobConnection> cluster = NothingRuns();
  if (world.connections.empty() && DefaultKubeconfigExists()) cluster = ConnectToOnlyJobOfCluster(target);
  if (cluster.ok() || purpose == Purpose::kSteer) return cluster;
  auto ended = ConnectToOnlyEndedJob(target);
  return ended.ok() || ended.status().code() != StatusCode::kNotFound ? std::move(ended) : std::move(cluster);
}

}  // namespace

void SayWhichJob(const std::string& job) { std::fprintf(stderr, "attune: no job is named; taking %s\n", job.c_str()); }

bool WantsCluster(const Target& target) {
  return !target.kubeconfig.empty() || !target.context.empty() || target.as_kubectl_plugin;
}

StatusOr<Connection> ConnectToCluster(const Target& target) {
  RETURN_IF_ERROR(PrepareLimits(0));
  kube::InitializeHttp();
  ASSIGN_OR_RETURN(const kube::ClientConfig config, kube::LoadKubeconfig(target.kubeconfig, target.context));
  Connection connection;
  ASSIGN_OR_RETURN(connection.api, kube::MakeRestApi(config));
  connection.name_space = !target.name_space.empty()  ? target.name_space
                          : config.name_space.empty() ? "default"
                                                      : config.name_space;
  connection.description = "the cluster of context " + config.context + " (" + config.server + ")";
  return connection;
}

StatusOr<Connection> ConnectToPolicies(const Target& target) {
  const std::string next =
      "name a cluster with --kubeconfig FILE or --context NAME; attune validate FILE checks policies without one";
  if (target.instance) {
    return Error(StatusCode::kFailedPrecondition,
                 "policies are objects of a cluster, and jobs of this machine are tuned as their manifests say; leave "
                 "--instance out, and " +
                     next);
  }
  if (!WantsCluster(target) && !DefaultKubeconfigExists()) {
    return Error(StatusCode::kNotFound,
                 "there is no kubeconfig, and policies are objects of a cluster: jobs of this machine are tuned as "
                 "their manifests say; " +
                     next);
  }
  return ConnectToCluster(target);
}

StatusOr<std::optional<size_t>> ChooseRunningJob(const std::vector<RunningJob>& jobs, const std::string& name_space,
                                                 const std::string& wanted) {
  std::vector<size_t> matching;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const RunningJob& job = jobs[i];
    const bool named = job.key.name == wanted || job.run == wanted || job.run_directory == wanted;
    if (named && (name_space.empty() || job.key.name_space == name_space)) matching.push_back(i);
  }
  // A job of that name comes before a run that happens to be named like it.
  if (std::any_of(matching.begin(), matching.end(), [&](size_t i) { return jobs[i].key.name == wanted; }))
    std::erase_if(matching, [&](size_t i) { return jobs[i].key.name != wanted; });
  if (matching.empty()) return std::optional<size_t>();
  if (matching.size() == 1) return std::optional<size_t>(matching.front());
  std::vector<RunningJob> listed;
  bool one_instance = true;
  for (const size_t i : matching) {
    one_instance = one_instance && jobs[i].instance == jobs[matching.front()].instance;
    listed.push_back(jobs[i]);
  }
  const std::string text = std::to_string(matching.size()) + " running jobs are meant by " + wanted +
                           "; say which with " +
                           (one_instance ? "the name of the job, or with --namespace NAME" : "--instance PID") + ":";
  return SeveralJobs(text, listed);
}

StatusOr<std::optional<size_t>> ChooseOnlyJob(const std::vector<RunningJob>& jobs, const std::string& name_space) {
  std::vector<RunningJob> there;
  std::optional<size_t> chosen;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!name_space.empty() && jobs[i].key.name_space != name_space) continue;
    there.push_back(jobs[i]);
    chosen = i;
  }
  if (there.size() <= 1) return chosen;
  return SeveralJobs(std::to_string(there.size()) + " jobs run; name one, or its run:", there);
}

StatusOr<JobConnection> ConnectToJob(const Target& target, const std::string& job, Purpose purpose) {
  if (job.empty()) {
    auto only = ConnectToOnlyJob(target, purpose);
    if (only.ok()) SayWhichJob(only->key.name + (only->ended ? ", run " + only->run + ", which has ended" : ""));
    return only;
  }
  if (WantsCluster(target) && !target.instance) return ConnectToJobOfCluster(target, job);
  ASSIGN_OR_RETURN(LocalWorld world, LookAtInstances(target));
  std::error_code error;
  const bool is_path = job.find('/') != std::string::npos;
  const std::string wanted = is_path ? std::filesystem::weakly_canonical(job, error).string() : job;
  ASSIGN_OR_RETURN(const std::optional<size_t> chosen, ChooseRunningJob(world.jobs, target.name_space, wanted));
  if (chosen) {
    JobConnection found{{std::move(world.connections[world.of[*chosen]])}, world.jobs[*chosen].key};
    found.name_space = found.key.name_space;
    return found;
  }
  for (const local::Instance& silent : world.silent_instances) {
    if (silent.job.ends_with("/" + wanted) || silent.run == wanted || silent.run_directory == wanted) {
      return Error(StatusCode::kUnavailable, "the run that trains " + wanted + " does not answer: instance " +
                                                 world.silent + "; its own output is in " + silent.run_directory);
    }
  }
  // A running local run comes before a cluster that was not named, and a cluster before what has ended: an old run must
  // not answer for a job that trains somewhere.
  if (world.connections.empty() && world.silent.empty() && !is_path && !target.instance && DefaultKubeconfigExists()) {
    auto cluster = ConnectToJobOfCluster(target, job);
    if (purpose == Purpose::kSteer) return cluster;
    if (cluster.ok() && cluster->api->Get(kube::kTrainingJobs, cluster->key).ok()) return cluster;
    if (auto ended = ConnectToEndedJob(target, job); ended.ok()) return ended;
    return cluster;
  }
  if (purpose == Purpose::kLook && !target.instance) {
    auto ended = ConnectToEndedJob(target, job);
    if (ended.ok() || ended.status().code() != StatusCode::kNotFound) return ended;
    if (is_path || ChooseRun(ListRuns(), job).ok()) return ended;  // it is known, and this is what is wrong with it
  }
  return NoSuchJob(world, target, job, purpose);
}

StatusOr<std::vector<Connection>> ConnectToAll(const Target& target) {
  std::vector<Connection> connections;
  if (!WantsCluster(target) || target.instance) {
    ASSIGN_OR_RETURN(const std::vector<local::Instance> instances, ChosenInstances(target));
    for (const local::Instance& instance : instances) {
      ASSIGN_OR_RETURN(Connection connection, ConnectToInstance(instance, target));
      connections.push_back(std::move(connection));
    }
    if (!connections.empty()) return connections;
    if (!DefaultKubeconfigExists()) return NothingRuns();
  }
  ASSIGN_OR_RETURN(Connection cluster, ConnectToCluster(target));
  connections.push_back(std::move(cluster));
  return connections;
}

}  // namespace attune::cli
