#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/number_text.h"
#include "cli/application.h"
#include "cli/move_arguments.h"
#include "cli/requests/job_words.h"
#include "operator/api/names.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

constexpr int64_t kProcessIdMax = std::numeric_limits<int32_t>::max();

constexpr char kJobOrOnly[] = "Name of a job; may be left out where there is one";

constexpr char kFooter[] =
    "JOB may be left out where there is one: the job that runs; to look, and when none runs, the newest run of the "
    "job\n"
    "that the runs which ended have trained. Several are an error that lists them.\n"
    "Where commands look: in all runs on this machine, for what only looks also in those that have ended; with\n"
    "--kubeconfig or --context, or when none runs, in the cluster of the kubeconfig.\n"
    "Exit codes: 0 done, 1 job failed or command failed, 2 bad input, 130 interrupted.\n";

struct Values {
  Target target;
  RunArguments run;
  ResumeArguments resume;
  RunsArguments runs;
  ValidateArguments validate;
  GetArguments get;
  DescribeArguments describe;
  ReportArguments report;
  ExplainArguments explain;
  TuneArguments tune;
  LogsArguments logs;
  ScaleArguments scale;
  SyncArguments sync;
  CheckpointArguments checkpoint;
  MoveArguments move;
  StopArguments stop;
  ExportArguments export_;
  InspectArguments inspect;
  TunerArguments tuner;
  VersionArguments version;
  CompletionArguments completion;
  bool follow = false;
  std::string output;
  std::array<std::string, 3> logs_words;
};

// The library's help shows checks and exclusions beside each option; here a word for the value is enough.
class HelpText : public CLI::Formatter {
 public:
  HelpText() { column_width(28); }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return "\n" + CLI::Formatter::make_usage(app, name);
  }
  // An option that is shown in no group still leaves the empty line after one.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
    return text;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() != 0 && !option->get_positional() ? " " + option->get_type_name() : "";
  }
};

// Membership without the list the library would add to the value's name.
CLI::Validator OneOf(std::vector<std::string> words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return CLI::Validator(
      [words, all](std::string& value) {
        return std::find(words.begin(), words.end(), value) != words.end() ? std::string()
                                                                           : "\"" + value + "\" is not one of: " + all;
      },
      "");
}

// The library's own checks answer with the bounds of the type, or with "could not convert".
CLI::Validator WholeNumber(int64_t low, int64_t high = kNoMaximum) {
  return {[low, high](std::string& text) { return ProblemOfWholeNumber(text, low, high); }, ""};
}

CLI::App* Add(CLI::App& app, const char* name, const char* description, const char* footer) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();
  command->footer(footer);
  return command;
}

// What is the same for a run and for one that continues it.
void AddHowToRun(CLI::App& command, RunArguments& run, Values& values) {
  command.add_flag("-f,--follow", values.follow, "Show progress until the end (default)");
  command.add_flag("-d,--detach", run.detach, "Start in the background and return");
  command.add_option("-o,--output", values.output, "json: one object per line, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
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

void AddRunAndValidate(CLI::App& app, Values& values) {
  CLI::App* run =
      Add(app, "run", "Train what a manifest says and follow it to the end",
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
  CLI::App* resume = Add(
      app, "resume", "Continue a run that was ended before its goal",
      "Another run of the same manifest, in the directory where the first was started, that begins with the newest\n"
      "checkpoint it left. Ctrl-C and `attune stop` write one before they end a run.\n\n"
      "  attune resume word2vec                   the newest run of this job\n"
      "  attune resume attune-runs/word2vec-1     the run in this directory\n");
  resume->add_option(
      "RUN", values.resume.run,
      "Name of a run, its directory, or name of a job; may be\nleft out where the runs that ended trained one job");
  resume->add_flag("--best", values.resume.with.resume_best, "With its best checkpoint (spec.checkpoint.best)");
  AddHowToRun(*resume, values.resume.with, values);
  CLI::App* validate =
      Add(app, "validate", "Check manifests and name every problem at once", "  attune validate job.yaml other.yaml\n");
  validate->add_option("FILE", values.validate.files, "Manifests (YAML); -: standard input")->required();
  validate->add_option("-o,--output", values.output, "json: one object per line, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
}

void AddLooking(CLI::App& app, Values& values) {
  CLI::App* get = Add(app, "get", "List jobs, or show one", "  attune get\n  attune get word2vec -o yaml\n");
  get->add_option("JOB", values.get.job, "Name of a job");
  get->add_flag("-A,--all-namespaces", values.get.all_namespaces, "Jobs of all namespaces");
  get->add_flag("--show-managed-fields", values.get.managed_fields, "With json and yaml: who set which field, too");
  get->add_option("-o,--output", values.get.output, "json, yaml or name")
      ->check(OneOf({"json", "yaml", "name"}))
      ->type_name("FORMAT");
  CLI::App* describe =
      Add(app, "describe", "Show all of a job: settings, conditions, pods, events", "  attune describe word2vec\n");
  describe->add_option("JOB", values.describe.job, kJobOrOnly);
  CLI::App* report =
      Add(app, "report", "Write a page with loss, throughput and what happened over time",
          "One HTML file that needs nothing else. JOB: a job that a local run trains or has trained, a run, or the\n"
          "directory of a run. Several are drawn over each other.\n\n"
          "  attune report word2vec -o report.html\n  attune report attune-runs/word2vec-1\n"
          "  attune report word2vec-1 word2vec-2 -o compared.html\n");
  report->add_option("JOB", values.report.jobs,
                     "Name of a job or run, or directory of a run; may be\nleft out where there is one job");
  report->add_option("-o,--output", values.report.output, "File to write, - for standard output\n(default report.html)")
      ->type_name("FILE")
      ->expected(1);
  CLI::App* runs = Add(app, "runs", "List, show, compare and remove the runs of this machine",
                       "Every local run keeps its manifest, arguments, machine, curves, decisions and result in its\n"
                       "directory. Listed are those in ./attune-runs and those that this user started elsewhere.\n\n"
                       "  attune runs                       name, when, outcome, loss, rate, setting, directory\n"
                       "  attune runs show word2vec-1       one of them in full\n"
                       "  attune runs diff word2vec-1 fast  what was different, and what came of it\n"
                       "  attune runs rm word2vec-1         remove it, its logs and its model\n"
                       "  attune runs rm --keep 20          remove all but the newest in ./attune-runs\n");
  runs->add_option("ACTION", values.runs.action, "list (default), show, diff or rm")
      ->check(OneOf({"list", "show", "diff", "rm"}));
  runs->add_option("RUN", values.runs.runs, "Name of a run, its directory, or name of a job (its\nnewest run)");
  runs->add_option("--tag", values.runs.tag, "List only runs with this tag")->type_name("TAG");
  runs->add_option("--keep", values.runs.keep, "With rm: all but so many of the newest")
      ->type_name("N")
      ->check(WholeNumber(0));
  runs->add_option("-o,--output", values.output, "json: one object per line, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
  CLI::App* explain = Add(app, "explain", "Explain what the tuner did to a job, why, and what came of it",
                          "  attune explain word2vec\n  attune explain word2vec --model\n");
  explain->add_option("JOB", values.explain.job, kJobOrOnly);
  explain->add_flag("--model", values.explain.model, "Also what it believes of other settings");
  explain->add_option("-o,--output", values.output, "json: an object, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
  CLI::App* logs = Add(app, "logs", "Print what the pods of a job wrote",
                       "Without ROLE, or with several pods, each line begins with its pod.\n\n"
                       "  attune logs word2vec --tail 20\n  attune logs word2vec worker 0 --follow\n");
  logs->add_option("JOB", values.logs_words[0], kJobOrOnly);
  logs->add_option("ROLE", values.logs_words[1], "server or worker");
  logs->add_option("INDEX", values.logs_words[2], "Which one: 0, 1, ...");
  logs->add_flag("-f,--follow", values.logs.follow, "Continue until the pods end");
  logs->add_option("--tail", values.logs.tail, "Only the last lines")->type_name("LINES")->check(WholeNumber(0));
  logs->add_flag("-p,--previous", values.logs.previous, "Of the run before the last restart");
}

void AddSteering(CLI::App& app, Values& values) {
  CLI::App* scale =
      Add(app, "scale", "Change number and size of workers and servers during training",
          "A new server is given rows, a leaving one hands its rows over first; no step waits, nothing restarts.\n\n"
          "  attune scale word2vec servers=3 workers=4\n  attune scale word2vec worker-cpu=2 server-memory=2Gi\n");
  scale->add_option("JOB", values.scale.job, kJobOrOnly);
  scale->add_option("CHANGE", values.scale.changes, "workers=N, servers=N, worker-cpu=2, server-memory=2Gi, ...");
  CLI::App* sync = Add(app, "sync", "Change how workers keep pace with each other during training",
                       "The job switches at a step that no worker has begun.\n\n"
                       "  attune sync word2vec bsp      all finish a step before one begins the next\n"
                       "  attune sync word2vec ssp:4    none is more than 4 steps ahead of the slowest\n"
                       "  attune sync word2vec async    none waits\n");
  sync->add_option("JOB", values.sync.job, kJobOrOnly);
  sync->add_option("MODE", values.sync.mode, "async, bsp or ssp:N");
  sync->add_option("--timeout", values.sync.timeout_seconds, "Longest wait (default 60)")
      ->type_name("SECONDS")
      ->check(WholeNumber(1, 86400));
  std::string knobs;
  for (const tuner::KnobRecord& knob : tuner::Knobs()) {
    if (!knob.steered) continue;
    std::string name(knob.name);
    name.resize(std::max<size_t>(name.size(), 9), ' ');
    knobs += "  " + name + std::string(knob.effect) + "\n";
  }
  const std::string footer =
      "What it may change:\n" + knobs +
      "\n  attune tune auto word2vec                     look for the best setting\n"
      "  attune tune recommend word2vec                only say which it would be\n"
      "  attune tune pin servers=2,workers=4 word2vec  these values and no others\n"
      "  attune tune pin slack=bsp word2vec            likewise (bsp, ssp:N or async)\n"
      "  attune tune unpin word2vec                    all may change again (unpin servers: those)\n"
      "  attune tune pause word2vec                    leave everything as it is\n"
      "  attune tune resume word2vec                   continue; what is pinned stays so\n"
      "  attune tune off word2vec                      no tuning; attune explain still answers\n";
  CLI::App* tune = Add(app, "tune", "Say what the tuner may do with a running job", footer.c_str());
  tune->add_option("ACTION", values.tune.action,
                   "pause, resume, pin, unpin, or a mode: off, recommend, initial, inplaceonly, auto")
      ->required();
  tune->add_option(
      "JOB", values.tune.words,
      "Name of a job; with pin its values too, before or after it; may be\nleft out where there is one job");
  CLI::App* checkpoint = Add(app, "checkpoint", "Write a checkpoint during training and say where it lies",
                             "  attune checkpoint word2vec\n  attune run --resume DIR job.yaml    continues from it, "
                             "with any number of servers\n");
  checkpoint->add_option("JOB", values.checkpoint.job, kJobOrOnly);
  checkpoint->add_option("--timeout", values.checkpoint.timeout_seconds, "Longest wait (default 600)")
      ->type_name("SECONDS")
      ->check(WholeNumber(1, 86400));
  AddMove(app, values.move);
  CLI::App* stop = Add(app, "stop", "Delete a job and wait until its pods are gone",
                       "A checkpoint is written first where rows would be lost, for at most 5 s; Ctrl-C skips it.\n\n"
                       "  attune stop word2vec\n  attune resume word2vec    continues a local run\n");
  stop->add_option("JOB", values.stop.job, kJobOrOnly);
  stop->add_flag("--no-checkpoint", values.stop.without_checkpoint, "Write none");
  stop->add_option("--timeout", values.stop.timeout_seconds, "Longest wait (default 120)")
      ->type_name("SECONDS")
      ->check(WholeNumber(1, 86400));
}

void AddModels(CLI::App& app, Values& values) {
  CLI::App* inspect = Add(
      app, "inspect", "List the checkpoints in a directory and whether they are whole",
      "DIR holds checkpoints itself, or in tables/ (a job's model directory). SIZE (+N): N added to an earlier one.\n"
      "Exit code 1 when one is damaged.\n\n"
      "  attune inspect word2vec --verify         of the newest run of this job\n"
      "  attune inspect attune-runs/word2vec-1    of the run in this directory\n");
  inspect
      ->add_option("DIR", values.inspect.directory,
                   "Directory of checkpoints, or of a run; or the name of a\nrun or of a job (its newest run)")
      ->required();
  inspect->add_flag("--verify", values.inspect.verify, "Read every byte; otherwise sizes and directories of files");
  inspect->add_option("-o,--output", values.output, "json: one object per line, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
  CLI::App* to_file =
      Add(app, "export", "Write a model's rows for other programs",
          "safetensors and npz hold <table>.keys (int64) and <table>.values (float32) of every table. word2vec-text\n"
          "holds one table, a line per row; its tokens come from the vocabulary that the training program wrote.\n\n"
          "  attune export word2vec --format npz --to vectors.npz\n"
          "  attune export model --format word2vec-text --table input --vocabulary model/vocabulary.txt\n");
  to_file
      ->add_option("DIR", values.export_.directory,
                   "Directory of checkpoints, or of a run; or the name of a\nrun or of a job (its newest run)")
      ->required();
  to_file->add_option("--format", values.export_.format, "safetensors, npz or word2vec-text")
      ->required()
      ->check(OneOf({"safetensors", "npz", "word2vec-text"}))
      ->type_name("NAME");
  to_file->add_option("--table", values.export_.tables, "Only this table; may be given again\n(default: all)")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  to_file
      ->add_option("--to", values.export_.to,
                   "File to write, - for standard output\n(default: ./<table> with the format's ending)")
      ->type_name("FILE");
  to_file->add_option("--vocabulary", values.export_.vocabulary, "Tokens, one per line: line k is key k, from 0")
      ->type_name("FILE");
  to_file->add_option("--checkpoint", values.export_.checkpoint, "Its number (default: the newest that is whole)")
      ->type_name("NUMBER")
      ->check(WholeNumber(1));
  to_file->add_flag("--best", values.export_.best, "The best one (spec.checkpoint.best)")->excludes("--checkpoint");
  to_file->add_option("-o,--output", values.output, "json: the result as an object, for programs")
      ->check(OneOf({"json"}))
      ->type_name("FORMAT");
}

void AddOthers(CLI::App& app, Values& values) {
  CLI::App* tuner = Add(app, "tuner", "Answer another program's questions: which setting next",
                        "One JSON object a line on standard input and output; docs/tuner.md describes them.\n\n"
                        "  attune tuner --jsonl <reports.jsonl\n");
  tuner->add_flag("--jsonl", values.tuner.jsonl, "JSON lines (the only form there is)")->required();
  CLI::App* version = Add(app, "version", "Print the version of this program and of what it talks to", "");
  version->add_flag("--client", values.version.client_only, "Only of this program");
  CLI::App* completion = Add(app, "completion", "Print a completion script for a shell",
                             "  source <(attune completion bash)\n  attune completion zsh > \"${fpath[1]}/_attune\"\n");
  completion->add_option("SHELL", values.completion.shell, "bash or zsh")->required()->check(OneOf({"bash", "zsh"}));
}

void Build(CLI::App& app, Values& values) {
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.name("attune");
  app.description("attune trains models with parameter servers, on this machine or on Kubernetes.");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.add_option("--kubeconfig", values.target.kubeconfig, "Cluster of this kubeconfig file")->type_name("FILE");
  app.add_option("--context", values.target.context, "Cluster of this context of the kubeconfig")->type_name("NAME");
  app.add_option("-n,--namespace", values.target.name_space, "Namespace (default: the context's, else \"default\")")
      ->type_name("NAME");
  app.add_option("--instance", values.target.instance,
                 "Local instance with this process id\n(default: the one that has the job)")
      ->type_name("PID")
      ->check(WholeNumber(1, kProcessIdMax));
  AddRunAndValidate(app, values);
  AddLooking(app, values);
  AddSteering(app, values);
  AddModels(app, values);
  AddOthers(app, values);
}

// What other programs call it.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {{"apply", "run"},
                                                                         {"start", "run"},
                                                                         {"train", "run"},
                                                                         {"create", "run"},
                                                                         {"submit", "run"},
                                                                         {"list", "get"},
                                                                         {"ls", "get"},
                                                                         {"ps", "get"},
                                                                         {"jobs", "get"},
                                                                         {"top", "get"},
                                                                         {"status", "get"},
                                                                         {"show", "describe"},
                                                                         {"info", "describe"},
                                                                         {"delete", "stop"},
                                                                         {"kill", "stop"},
                                                                         {"cancel", "stop"},
                                                                         {"continue", "resume"},
                                                                         {"history", "runs"},
                                                                         {"compare", "runs diff"},
                                                                         {"diff", "runs diff"},
                                                                         {"rm", "runs rm"},
                                                                         {"save", "checkpoint"},
                                                                         {"check", "validate"},
                                                                         {"lint", "validate"},
                                                                         {"pin", "tune pin"},
                                                                         {"pause", "tune pause"},
                                                                         {"plot", "report"},
                                                                         {"dashboard", "report"}};

std::string UnknownCommandText(const CLI::App& app) {
  const std::string word = app.remaining().front();
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  auto nearest = api::NearestName(word, names);
  for (const auto& [other, ours] : kOtherNames) {
    if (word == other) nearest = ours;
  }
  const bool option = word.starts_with("-");
  return std::string("attune: there is no ") + (option ? "option " : "command ") +
         (word.empty() ? "without a name" : word) + (nearest && !option ? "; did you mean " + *nearest + "?" : "") +
         "\nsee attune --help\n";
}

std::string ShownName(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

// Mostly a variable of a shell that is not set: `--resume "$DIR"` must not begin from nothing.
void RefuseEmptyValues(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      throw CLI::ValidationError(ShownName(*option), option->get_positional()
                                                         ? "its value is empty"
                                                         : "its value is empty; leave the option out, or give it one");
    }
  }
}

// Words that belong to nothing, in the order in which they were typed.
std::string UnexpectedText(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> words = app.remaining(/*recurse=*/true);
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.size() > 1 && word.front() == '-'; });
  if (option != words.end()) {
    const std::string name = option->substr(0, option->find('='));
    std::vector<std::string> known;
    for (const CLI::App* each : {&command, &app}) {
      for (const CLI::Option* has : each->get_options()) {
        if (!has->get_group().empty() && !has->get_lnames().empty()) known.push_back(ShownName(*has));
      }
    }
    const auto nearest = api::NearestName(name, known);
    return "there is no option " + name + " here" + (nearest ? "; did you mean " + *nearest + "?" : "");
  }
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return "not expected: " + all;
}

// What a job may stand before or be left out of.
void SortWords(Values& values) {
  std::vector<std::string> words(values.logs_words.begin(), values.logs_words.end());
  std::erase(words, "");
  const auto logs = SortLogsWords(words);
  if (!logs.ok()) throw CLI::ValidationError(std::string(Message(logs.status())));
  values.logs.job = logs->job;
  values.logs.role = logs->role;
  values.logs.index = logs->index;
}

Arguments Collect(const CLI::App& app, Values& values) {
  RefuseEmptyValues(app);
  RefuseEmptyValues(*app.get_subcommands().front());
  if (values.follow && (values.run.detach || values.resume.with.detach))
    throw CLI::ValidationError("--follow and --detach exclude each other");
  values.run.json = values.resume.with.json = values.runs.json = values.validate.json = values.inspect.json =
      values.export_.json = values.explain.json = values.output == "json";
  SortWords(values);
  const std::string name = app.get_subcommands().front()->get_name();
  Arguments arguments{values.target, values.run};
  if (name == "resume") arguments.command = values.resume;
  if (name == "runs") arguments.command = values.runs;
  if (name == "validate") arguments.command = values.validate;
  if (name == "get") arguments.command = values.get;
  if (name == "describe") arguments.command = values.describe;
  if (name == "report") arguments.command = values.report;
  if (name == "explain") arguments.command = values.explain;
  if (name == "tune") arguments.command = values.tune;
  if (name == "logs") arguments.command = values.logs;
  if (name == "scale") arguments.command = values.scale;
  if (name == "sync") arguments.command = values.sync;
  if (name == "checkpoint") arguments.command = values.checkpoint;
  if (name == "move") arguments.command = values.move;
  if (name == "stop") arguments.command = values.stop;
  if (name == "export") arguments.command = values.export_;
  if (name == "inspect") arguments.command = values.inspect;
  if (name == "tuner") arguments.command = values.tuner;
  if (name == "version") arguments.command = values.version;
  if (name == "completion") arguments.command = values.completion;
  return arguments;
}

// `attune help`, `attune help run` and `attune --version`, as other programs have them.
std::vector<std::string> AsOthersSay(std::vector<std::string> words) {
  if (words.empty()) return words;
  if (words.front() == "--version") words.front() = "version";
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

}  // namespace

ParsedArguments ParseArguments(const std::vector<std::string>& typed) {
  const std::vector<std::string> arguments = AsOthersSay(typed);
  CLI::App app;
  Values values;
  Build(app, values);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the library's convention
    app.parse(reversed);
    values.run.words = values.resume.with.words = typed;
    return {Collect(app, values), "", kExitOk};
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return {std::nullopt, chosen.empty() ? app.help() : chosen.front()->help("attune"), kExitOk};
  } catch (const CLI::ParseError& error) {
    if (arguments.empty()) return {std::nullopt, app.help(), kExitBadInput};
    const auto chosen = app.get_subcommands();
    if (chosen.empty() && !app.remaining().empty()) return {std::nullopt, UnknownCommandText(app), kExitBadInput};
    const std::string help = chosen.empty() ? "attune --help" : "attune " + chosen.front()->get_name() + " --help";
    const bool unexpected = !chosen.empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string what = unexpected ? UnexpectedText(app, *chosen.front()) : error.what();
    return {std::nullopt, "attune: " + what + "\nsee " + help + "\n", kExitBadInput};
  }
}

std::vector<CommandWords> AllCommandWords() {
  CLI::App app;
  Values values;
  Build(app, values);
  std::vector<CommandWords> all;
  const auto words = [](const CLI::App& command) {
    CommandWords entry{command.get_name(), {}};
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group().empty()) continue;  // not for people
      for (const std::string& name : option->get_lnames()) entry.options.push_back("--" + name);
    }
    return entry;
  };
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) all.push_back(words(*command));
  all.push_back(words(app));
  all.back().name.clear();  // options all commands understand
  return all;
}

}  // namespace attune::cli
