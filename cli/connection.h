// Finds the API a command talks to: the runs on this machine, running or ended, or a cluster. All running runs are one
// world: a job is found in whichever trains it, and where more than one does, that is an error that lists them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/arguments.h"
#include "cli/runs/run_record.h"
#include "operator/kube/api.h"

namespace attune::cli {

// To a run on this machine: one that hangs must not hide the others.
inline constexpr kube::CallOptions kLookCall{std::chrono::seconds(3)};

struct Connection {
  std::unique_ptr<kube::Api> api;
  std::string name_space;          // for objects that do not say theirs
  std::string description;         // "the local instance with process id 4711", "the cluster of context kind"
  std::optional<int> instance;     // process id when local
  std::string run;                 // name of the run, of a local instance and of a run that has ended
  std::string run_directory;       // likewise
  std::optional<RunRecord> ended;  // set: everything is read from its directory
};

struct JobConnection : Connection {
  kube::ObjectKey key;
};

// Looking works for runs that have ended, too; steering does not.
enum class Purpose { kLook, kSteer };

// "" is the only job there is: the one that runs; to look, and when none runs, the one that the kept runs have trained,
// of which the newest answers. Which one that is is said on standard error; where there are several, the error lists
// them. Otherwise the job of that name (or of the run of that name, or in the run directory of that path): in the
// cluster that
// --kubeconfig or --context names; else in a running local run (--instance: that one); else in the cluster of the
// default kubeconfig; else, to look, in the newest run that has ended. NotFound says what there is.
StatusOr<JobConnection> ConnectToJob(const Target& target, const std::string& job, Purpose purpose);
// Everything that runs: one connection per local run, or the cluster. NotFound when there is neither, with how to start
// something.
StatusOr<std::vector<Connection>> ConnectToAll(const Target& target);
// Only the cluster.
StatusOr<Connection> ConnectToCluster(const Target& target);
// Where policies are: the cluster that is named, or of the default kubeconfig. What runs on this machine has none.
StatusOr<Connection> ConnectToPolicies(const Target& target);
bool WantsCluster(const Target& target);

// What is said of a job that was taken because none was named.
void SayWhichJob(const std::string& job);

// --- The choice, pure.

// A job of a running local run.
struct RunningJob {
  int instance = 0;  // process id
  std::string run, run_directory, started;
  kube::ObjectKey key;
};
// Which of them is meant by the name of a job or of its run, in `name_space` ("": any). Nothing when none is;
// InvalidArgument, with a list and --instance, when several are.
StatusOr<std::optional<size_t>> ChooseRunningJob(const std::vector<RunningJob>& jobs, const std::string& name_space,
                                                 const std::string& wanted);
// The only one in `name_space` ("": in any). Nothing when none runs there; InvalidArgument, with a list, when several
// do.
StatusOr<std::optional<size_t>> ChooseOnlyJob(const std::vector<RunningJob>& jobs, const std::string& name_space);

}  // namespace attune::cli
