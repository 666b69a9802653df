#include <CLI/CLI.hpp>

#include "cli/command_line/command_options.h"
#include "cli/command_line/option_kinds.h"

namespace attune::cli {
namespace {

// What is the same for a run and for one that continues it.
void AddHowToRun(CLI::App& command, RunArguments& run, TypedValues& values) {
  command.add_flag("-f,--follow", values.follow, "Show progress until the end (default)");
  command.add_flag("-d,--detach", run.detach, "Start in the background and return");
  AddJsonOutput(command, values, "json: one object per line, for programs");
  command
      .add_option("--run-directory", run.run_directory,
                  "Logs and models of a local run; new or empty\n(default ./attune-runs/<job>-<time>)")
      ->type_name("DIR");
  command.add_option("--name", run.name, "Name of the run, by which it is found later")->type_name("NAME");
  command.add_option("--tag", run.tags, "A word that `attune runs --tag` finds; may be given\nagain")
      ->type_name("TAG")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--keep", run.keep,
                  "When it ends, remove all but so many of the newest\nruns beside it, with their models")
      ->type_name("N")
      ->check(WholeNumber(1));
  command
      .add_option("--report", run.report,
                  "Write a page with the curves of the run when it ends\n(`attune report` makes one at any time)")
      ->type_name("FILE");
  command
      .add_flag("--dashboard{0}", run.dashboard,
                "Show the run on a page for browsers on this machine, and\nits metrics to Prometheus; --dashboard=PORT "
                "chooses the\nport, else a free one is taken")
      ->type_name("PORT")
      ->check(WholeNumber(0, 65535));
  command
      .add_option(
          "--tune", run.tune,
          "What the tuner may do: off, recommend, initial,\ninplaceonly or auto (default: as the manifest says)")
      ->type_name("MODE");
  command
      .add_option("--limit-cores-per-pod", run.cores,
                  "Let no pod of a local run use more cores than this;\n0.25,server=0.1,worker-0=0.05 says more for a "
                  "role or a pod")
      ->type_name("CORES");
  command.add_flag("--plain", run.plain, "A line every few seconds instead of the live display");
  command.add_option("--resumed-from", run.resumed_from, "")
      ->group("");  // of a run in the background that continues one
  command.add_option("--manifest-name", run.manifest_name, "")->group("");  // of a run in the background
}

void AddRun(CLI::App& app, TypedValues& values) {
  CLI::App* run = AddCommand(
      app, "run", "Train what a manifest says and follow it to the end",
      "On this machine by default; with --kubeconfig or --context the jobs are applied to that cluster.\n"
      "Ctrl-C writes a checkpoint and ends a local run with all its processes (`attune resume` continues it);\n"
      "a second Ctrl-C ends it without. A cluster's job continues.\n\n"
      "  attune run examples/word2vec/job.yaml\n"
      "  attune run --detach job.yaml && attune get\n");
  run->add_option("FILE", values.run.file, "Manifest (YAML) with one or more TrainingJobs; -: standard input")
      ->required();
  run->add_option("--resume", values.run.resume,
                  "Begin with this checkpoint instead of from nothing;\non a cluster, the directory as the pods see it")
      ->type_name("DIR");
  run->add_flag("--best", values.run.resume_best, "With the best one there (spec.checkpoint.best)")->needs("--resume");
  AddHowToRun(*run, values.run, values);
}

void AddResume(CLI::App& app, TypedValues& values) {
  CLI::App* resume = AddCommand(
      app, "resume", "Continue a run that was ended before its goal",
      "Another run of the same manifest, in the directory where the first was started, that begins with the newest\n"
      "checkpoint it left. Ctrl-C and `attune stop` write one before they end a run. A job that `attune suspend` has\n"
      "suspended, here or on a cluster, gets its pods back and continues.\n\n"
      "  attune resume word2vec                   the newest run of this job\n"
      "  attune resume attune-runs/word2vec-1     the run in this directory\n");
  resume->add_option(
      "RUN", values.resume.run,
      "Name of a run, its directory, or name of a job; may be\nleft out where the runs that ended trained one job");
  resume->add_flag("--best", values.resume.with.resume_best, "With its best checkpoint (spec.checkpoint.best)");
  AddHowToRun(*resume, values.resume.with, values);
}

void AddInit(CLI::App& app, TypedValues& values) {
  InitArguments& arguments = values.init;
  CLI::App* init =
      AddCommand(app, "init", "Write a first manifest, with comments that explain it",
                 "  attune init word2vec && attune run word2vec.yaml\n"
                 "  attune init my-model --image registry/my-model:1 --command \"my-model --dim 64\" --tune auto\n"
                 "  attune init - | attune validate -\n");
  init->add_option("NAME", arguments.name, "Name of the job (default my-job); -: standard output");
  init->add_option("--image", arguments.image, "Image of the workers, for clusters")->type_name("IMAGE");
  init->add_option("--command", arguments.command, "Command line of a worker")->type_name("TEXT");
  init->add_option("--servers", arguments.servers, "So many servers (default 1)")
      ->type_name("N")
      ->check(WholeNumber(1, 1000));
  init->add_option("--workers", arguments.workers, "So many workers (default 2)")
      ->type_name("N")
      ->check(WholeNumber(1, 1000));
  init->add_option("--epochs", arguments.epochs, "Goal: passes over the data (default 1)")
      ->type_name("N")
      ->check(WholeNumber(1));
  init->add_option("--steps", arguments.steps, "Goal: steps of all workers together")
      ->type_name("N")
      ->check(WholeNumber(1));
  init->add_option("--target-loss", arguments.target_loss, "Goal: a training loss")->type_name("LOSS");
  init->add_option("--tune", arguments.tune, "What the tuner may do: off, recommend, initial,\ninplaceonly or auto")
      ->type_name("MODE");
  init->add_option("-o,--output", arguments.output, "File to write, - for standard output\n(default NAME.yaml)")
      ->type_name("FILE");
  init->add_flag("--force", arguments.force, "Write over a file that exists");
}

void AddValidate(CLI::App& app, TypedValues& values) {
  CLI::App* validate = AddCommand(app, "validate", "Check manifests and name every problem at once",
                                  "  attune validate job.yaml other.yaml\n");
  validate->add_option("FILE", values.validate.files, "Manifests (YAML); -: standard input")->required();
  AddJsonOutput(*validate, values, "json: one object per line, for programs");
}

// Whose ranges are looked after where the model is made (cli/simulation/).
void AddModelFigures(CLI::App& command, SimulateArguments& arguments) {
  const auto add = [&](const char* name, std::optional<double>& figure, const char* unit, const char* description) {
    command.add_option(name, figure, description)->type_name(unit);
  };
  add("--samples-per-second", arguments.samples_per_second, "RATE",
      "That one core of a worker computes (default 10000)");
  add("--samples-per-step", arguments.samples_per_step, "N", "Of one worker (default 1000)");
  add("--memory-bound", arguments.memory_bound, "SHARE",
      "Of the computing that waits for memory, so that more cores\nof a worker make it no faster (default 0.2)");
  add("--server-share", arguments.server_share, "SHARE",
      "Time of the servers for a step, against its computing on\none core (default 0.2)");
  add("--link-share", arguments.link_share, "SHARE", "Time of its messages, likewise (default 0.05)");
  add("--noise", arguments.noise, "SHARE", "By which the speed varies from one window to the next\n(default 0.04)");
  add("--staleness-cost", arguments.staleness_cost, "C",
      "Where the goal is a loss or a metric: an update is worth\n1 / (1 + C z), made from rows that z others have "
      "changed\n(default 0.005)");
  add("--machine-cores", arguments.machine_cores, "CORES",
      "That all pods share (default: each has what it wants, as\non a large cluster)");
  add("--pod-start", arguments.pod_start, "SECONDS", "Until a new pod takes part (default 10)");
}

void AddSimulate(CLI::App& app, TypedValues& values) {
  constexpr int64_t kThreadsMax = 256;
  SimulateArguments& arguments = values.simulate;
  CLI::App* simulate = AddCommand(
      app, "simulate", "Show what the tuner would do with a job, on a model of it",
      "Nothing is started: the tuner that works on running jobs is shown a model of this one, in simulated time. It\n"
      "answers whether tuning is worth it, which knobs matter, and how long the search takes. The model is a\n"
      "simple one, which the first lines state: figures that you know make it better, and --from takes the speed\n"
      "from an earlier run. Policies and quotas of a cluster are left out.\n\n"
      "  attune simulate job.yaml --tune auto\n"
      "  attune simulate job.yaml --tune auto --samples-per-second 25000 --samples 2000000 --machine-cores 16\n"
      "  attune simulate job.yaml --tune auto --from word2vec-1 --seed 7\n");
  simulate->add_option("FILE", arguments.file, "Manifest (YAML) with a TrainingJob; -: standard input")->required();
  simulate->add_option("--job", arguments.job, "Which one, of a manifest with several jobs")->type_name("NAME");
  simulate
      ->add_option("--from", arguments.from,
                   "Speed, samples and cores as this run of the job has\nrecorded them; its name or directory")
      ->type_name("RUN");
  simulate
      ->add_option("--tune", arguments.tune,
                   "What the tuner may do: recommend, initial, inplaceonly\nor auto (default: as the manifest says)")
      ->type_name("MODE");
  simulate->add_option("--epochs", arguments.epochs, "That the goal takes (default: as the manifest says, else 10)")
      ->type_name("N")
      ->check(WholeNumber(1));
  simulate->add_option("--samples", arguments.samples, "Of one epoch (default: as the manifest says, else\n1000000)")
      ->type_name("N")
      ->check(WholeNumber(1));
  simulate
      ->add_option("--threads", arguments.threads,
                   "That the worker's program offers at most (default: as\nthe manifest says, else none are a knob)")
      ->type_name("N")
      ->check(WholeNumber(1, kThreadsMax));
  AddModelFigures(*simulate, arguments);
  simulate->add_option("--seed", arguments.seed, "Of all chance; the same one gives the same output\n(default: drawn)")
      ->type_name("N")
      ->check(WholeNumber(0));
  AddJsonOutput(*simulate, values, "json: an object, for programs");
}

}  // namespace

void AddRunning(CLI::App& app, TypedValues& values) {
  AddInit(app, values);
  AddRun(app, values);
  AddResume(app, values);
  AddValidate(app, values);
  AddSimulate(app, values);
  GroupCommands(app, "To train");
}

}  // namespace attune::cli
