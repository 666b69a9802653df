// What a run directory says of its run: who started what, when, where, and what came of it. A plain value, kept as
// run.json; attune runs, resume and every command that is asked about an ended run read it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/job_view.h"
#include "operator/kube/object.h"

namespace attune::cli {

inline constexpr char kRunFile[] = "run.json";
inline constexpr char kRunManifest[] = "manifest.yaml";                     // as given
inline constexpr char kRunManifestDefaulted[] = "manifest-defaulted.yaml";  // as it was run
inline constexpr char kRunOutput[] = "output.log";                          // of a run in the background

enum class RunOutcome {
  kRunning,
  kSucceeded,
  kFailed,
  kInterrupted,  // by Ctrl-C or a signal
  kStopped,      // by `attune stop`
  kLost,         // its process ended without saying so: killed, or the machine went down
};
std::string ToString(RunOutcome outcome);
// A job that was ended so does not know: its last status says that it trains, or is being deleted.
inline bool WasEndedFromOutside(RunOutcome outcome) {
  return outcome == RunOutcome::kInterrupted || outcome == RunOutcome::kStopped || outcome == RunOutcome::kLost;
}

// The figures of one job that a list of runs shows and a comparison compares.
struct RunJob {
  std::string name, name_space;
  RunOutcome outcome = RunOutcome::kRunning;
  std::optional<double> fraction, loss, rate;
  std::string sample_unit, synchronization;  // "" : Async
  int32_t servers = 0, workers = 0;          // ready at last
  std::optional<int32_t> threads;            // of a worker
  std::vector<std::pair<std::string, double>> results;
  std::string checkpoint;  // directory of the newest; "": none
  uint64_t checkpoint_number = 0, checkpoint_step = 0;
};

struct RunMachine {
  std::string host, kernel, processor;
  int cores = 0;
  uint64_t memory_bytes = 0;
};

struct RunRecord {
  std::string name;
  std::vector<std::string> tags;
  std::string directory;  // absolute; where it was read, not in the file
  std::vector<RunJob> jobs;
  RunOutcome outcome = RunOutcome::kRunning;
  bool interrupted = false;       // Ctrl-C or a signal was received: should the process be gone, this is why
  double started = 0, ended = 0;  // seconds since 1970; 0: not yet
  int process_id = 0;
  std::string process_start;  // which process of that id (operator/local/instance.h)

  std::vector<std::string> arguments;  // of `attune`, as typed
  std::string working_directory, manifest;
  std::string manifest_digest;          // SHA-256 of its text, in hexadecimal
  std::string tune, cores, name_space;  // options that another run of the same needs; "" : not given
  std::string resumed_from;             // name of the run whose checkpoint it began with, or a directory
  std::string version;
  RunMachine machine;
  std::optional<int64_t> seed;  // of the worker program, where the manifest gives one
};

std::string SaveRecord(const RunRecord& record);
// InvalidArgument when it is no such file.
StatusOr<RunRecord> LoadRecord(const std::string& text);

// What the view of a job says for the list; the rest of `job` stays.
void UpdateRunJob(const JobView& view, RunJob& job);
// Of all jobs of a run: a failure counts before a stop, a stop before a success.
RunOutcome OutcomeOf(const std::vector<RunJob>& jobs);
// `--seed=7`, `--seed 7` among the arguments of a container, or SEED in its environment.
std::optional<int64_t> SeedOf(const kube::Json& job);
// What a reader of a report asks first, as (name, text): manifest, command, version, machine and the like.
std::vector<std::pair<std::string, std::string>> AboutRun(const RunRecord& record);
// Empty when it may be used as a name: letters, digits, '.', '_' and '-', at most 63, beginning with a letter or digit.
std::string ProblemOfRunName(const std::string& name);

}  // namespace attune::cli
