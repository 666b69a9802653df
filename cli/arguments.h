// What the command line said, as plain values. Only arguments.cpp and cli/command_line/ know the parsing library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attune::cli {

// Which API a command talks to; see connection.h.
struct Target {
  std::string kubeconfig, context;
  std::string name_space;          // "": of the kubeconfig, else "default"
  std::optional<int> instance;     // process id of a local instance
  bool as_kubectl_plugin = false;  // called as kubectl-attune: the cluster, not a local instance
};

inline constexpr char kStandardInput[] = "standard input";  // as the name of a manifest

struct RunArguments {
  std::string file;
  bool detach = false;
  bool json = false;
  bool plain = false;
  std::string run_directory;  // "": ./attune-runs/<job>-<time>
  std::string resume;         // directory of a checkpoint; "": from nothing
  bool resume_best = false;   // with the one there that is marked as the best, not the newest
  std::string report;         // file for the report page; "": none
  std::string dashboard;      // port of the page that shows the run, "0": a free one; "": no page
  std::string tune;           // mode of the tuner; "": as the manifest says
  std::string cores;          // limits of pods on this machine (operator/local/containers/core_limits.h); "": none
  std::string name;           // of the run; "": of its directory
  std::vector<std::string> tags;
  std::optional<uint64_t> keep;    // so many ended runs stay in the directory of runs; absent: all
  std::vector<std::string> words;  // the command line as it was typed, for the record of the run
  std::string resumed_from;        // name of the run that is continued; "": none
  std::string manifest_name;       // where its text comes from, for people; "": from `file`
};
struct ResumeArguments {
  std::string run;  // name, directory, or a job's name
  RunArguments with;
};
struct RunsArguments {
  std::string action;             // list, show, diff, rm
  std::vector<std::string> runs;  // names, directories or jobs
  std::string tag;                // list: only with this tag
  std::optional<uint64_t> keep;   // rm: all but so many of the newest here
  bool json = false;
};
struct InitArguments {
  std::string name;  // of the job; "-": the manifest goes to standard output
  std::string image, command, tune, output;
  uint64_t servers = 1, workers = 2;
  std::optional<uint64_t> epochs, steps;
  std::optional<double> target_loss;
  bool force = false;
};
struct ValidateArguments {
  std::vector<std::string> files;
  bool json = false;
};
// Figures of a model; those that are absent have a default, or come from an earlier run.
struct SimulateArguments {
  std::string file;
  std::string job;   // of a file with several
  std::string from;  // name or directory of a run; "": none
  std::string tune;  // mode of the tuner; "": as the manifest says
  std::optional<double> samples_per_second, samples_per_step, memory_bound, server_share, link_share, noise,
      machine_cores, staleness_cost, pod_start;
  std::optional<uint64_t> epochs, samples, threads, seed;
  bool json = false;
};
struct GetArguments {
  std::string job;  // "": all
  bool all_namespaces = false;
  std::string output;  // "", json, yaml, name
  bool managed_fields = false;
};
struct TopArguments {
  std::string job;  // "": all
  bool all_namespaces = false, once = false, json = false;
  int64_t interval_seconds = 2;
};
struct DescribeArguments {
  std::string job;
};
struct ReportArguments {
  std::vector<std::string> jobs;  // or runs, run directories, history files; several: over each other
  std::string output = "report.html";
};
struct LogsArguments {
  std::string job, role;
  std::optional<uint32_t> index;
  bool follow = false, previous = false;
  std::optional<int64_t> tail;
};
struct ScaleArguments {
  std::string job;
  std::vector<std::string> changes;  // "workers=3"
};
struct SyncArguments {
  std::string job, mode;  // "ssp:4"
  int64_t timeout_seconds = 60;
};
struct RowsArguments {
  std::string job, management;  // "static"
  int64_t timeout_seconds = 60;
};
struct ExplainArguments {
  std::string job;
  bool model = false, rows = false, json = false;
  std::string row;   // "input:17"; "": none
  int seconds = 10;  // that it is looked at
};
struct PolicyArguments {
  std::string action = "list";  // list, explain, test
  std::string what;             // explain: a job; test: a file
  bool all_namespaces = false;  // list
  std::string output;           // "", json, yaml
};
struct TuneArguments {
  std::string action;              // pause, resume, pin, or a mode
  std::vector<std::string> words;  // the job, or none; before it, with pin, "servers=2,workers=4"
};
struct CheckpointArguments {
  std::string job;
  int64_t timeout_seconds = 600;
};
struct MoveArguments {
  std::string job, pod;  // with one word it is the pod
  std::string to;        // a machine; "": any other
  int64_t timeout_seconds = 600;
};
struct SuspendArguments {
  std::string job;
  bool restart = false;  // it continues at once in new pods
  int64_t timeout_seconds = 600;
};
struct PlaceArguments {
  std::string job;
  bool pack = false;          // else spread
  std::string only;           // "servers", "workers"; "": both
  bool with_workers = false;  // servers to the machines of workers, and no more
};
struct StopArguments {
  std::string job;
  int64_t timeout_seconds = 120;
  bool without_checkpoint = false;
};
struct ExportArguments {
  std::string directory;
  std::string format;  // safetensors, npz, word2vec-text
  std::vector<std::string> tables;
  std::string to;  // "": named after the table, in the current directory
  std::string vocabulary;
  std::optional<uint64_t> checkpoint;  // else the newest whole one
  bool best = false;                   // or the one that is marked as the best
  bool json = false;
};
struct InspectArguments {
  std::string directory;
  bool verify = false;
  bool json = false;
};
struct PullModelArguments {
  std::string job, directory;  // directory "": named like the job, in the current one
  std::string claim, image;    // "": as the job and its pods say
  bool checkpoints = false;    // those too
  bool force = false;          // what is there and differs is replaced
  bool json = false;
  int64_t timeout_seconds = 300;  // until the reader's pod runs
};
struct VersionArguments {
  bool client_only = false;
};
struct TunerArguments {
  bool jsonl = false;
};
struct DoctorArguments {
  bool json = false;
};
struct CompletionArguments {
  std::string shell;
};

// In all of them a job that is not named, "", is the only one there is (cli/connection.h).
using Command =
    std::variant<RunArguments, ResumeArguments, RunsArguments, InitArguments, ValidateArguments, SimulateArguments,
                 GetArguments, TopArguments, DescribeArguments, ReportArguments, ExplainArguments, PolicyArguments,
                 LogsArguments, ScaleArguments, SyncArguments, RowsArguments, TuneArguments, CheckpointArguments,
                 MoveArguments, SuspendArguments, PlaceArguments, StopArguments, ExportArguments, InspectArguments,
                 PullModelArguments, TunerArguments, DoctorArguments, VersionArguments, CompletionArguments>;

struct Arguments {
  Target target;
  Command command;
};

// Either what to do, or what to print and end with (help, mistakes).
struct ParsedArguments {
  std::optional<Arguments> arguments;
  std::string text;
  int exit_code = 0;
};
ParsedArguments ParseArguments(const std::vector<std::string>& arguments);  // without the program's name

// For completion scripts and their test: commands with their options, in the order of the help text.
struct CommandWords {
  std::string name;
  std::string group;                 // its heading in the help text
  std::vector<std::string> options;  // long names with dashes
};
std::vector<CommandWords> AllCommandWords();

}  // namespace attune::cli
