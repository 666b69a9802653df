#include <CLI/CLI.hpp>

#include "cli/command_line/command_options.h"
#include "cli/command_line/option_kinds.h"

namespace attune::cli {
namespace {

void AddGet(CLI::App& app, TypedValues& values) {
  CLI::App* get = AddCommand(app, "get", "List jobs, or show one", "  attune get\n  attune get word2vec -o yaml\n");
  get->add_option("JOB", values.get.job, "Name of a job");
  get->add_flag("-A,--all-namespaces", values.get.all_namespaces, "Jobs of all namespaces");
  get->add_flag("--show-managed-fields", values.get.managed_fields, "With json and yaml: who set which field, too");
  get->add_option("-o,--output", values.get.output, "json, yaml or name")
      ->check(OneOf({"json", "yaml", "name"}))
      ->type_name("FORMAT");
}

void AddTop(CLI::App& app, TypedValues& values) {
  CLI::App* top = AddCommand(
      app, "top", "Watch all jobs, or one with its pods, as they train",
      "On a terminal it is drawn in place, and ends with q or Ctrl-C; in a pipe one table follows the other. What its\n"
      "pods use is read of a job alone; on a cluster that needs the right to get pods/proxy.\n\n"
      "  attune top                        every job: speed, time left, loss, memory, what tuning does\n"
      "  attune top word2vec               one: curves, cpu and memory of every pod, last decisions\n"
      "  attune top --once -o json | jq .  for programs\n");
  top->add_option("JOB", values.top.job, "Name of a job (default: all)");
  top->add_flag("-A,--all-namespaces", values.top.all_namespaces, "Jobs of all namespaces");
  constexpr int64_t kHour = 3600;
  top->add_option("--interval", values.top.interval_seconds, "Time between two looks (default 2)")
      ->type_name("SECONDS")
      ->check(WholeNumber(1, kHour));
  top->add_flag("--once", values.top.once, "One look, as a table");
  AddJsonOutput(*top, values, "json: one object per look and line, for programs");
}

void AddDescribe(CLI::App& app, TypedValues& values) {
  CLI::App* describe = AddCommand(app, "describe", "Show all of a job: settings, conditions, pods, events",
                                  "  attune describe word2vec\n");
  describe->add_option("JOB", values.describe.job, kJobOrOnly);
}

void AddReport(CLI::App& app, TypedValues& values) {
  CLI::App* report = AddCommand(
      app, "report", "Write a page with loss, throughput and what happened over time",
      "One HTML file that needs nothing else. JOB: a job that a local run trains or has trained, a run, or the\n"
      "directory of a run. Several are drawn over each other.\n\n"
      "  attune report word2vec -o report.html\n  attune report attune-runs/word2vec-1\n"
      "  attune report word2vec-1 word2vec-2 -o compared.html\n");
  report->add_option("JOB", values.report.jobs,
                     "Name of a job or run, or directory of a run; may be\nleft out where there is one job");
  report->add_option("-o,--output", values.report.output, "File to write, - for standard output\n(default report.html)")
      ->type_name("FILE")
      ->expected(1);
}

void AddRuns(CLI::App& app, TypedValues& values) {
  CLI::App* runs =
      AddCommand(app, "runs", "List, show, compare and remove the runs of this machine",
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
  AddJsonOutput(*runs, values, "json: one object per line, for programs");
}

void AddExplain(CLI::App& app, TypedValues& values) {
  CLI::App* explain = AddCommand(app, "explain", "Explain what the tuner did to a job, why, and what came of it",
                                 "  attune explain word2vec\n  attune explain word2vec --model\n"
                                 "  attune explain word2vec --rows\n"
                                 "  attune explain word2vec --row input:17\n");
  explain->add_option("JOB", values.explain.job, kJobOrOnly);
  CLI::Option* const model =
      explain->add_flag("--model", values.explain.model, "Also what it believes of other settings");
  CLI::Option* const rows = explain
                                ->add_flag("--rows", values.explain.rows,
                                           "Instead: what is made of announced rows, by table, and what it saves")
                                ->excludes(model);
  CLI::Option* const row =
      explain
          ->add_option("--row", values.explain.row,
                       "Instead: what happens to this row from now on, at each process of the running job")
          ->excludes(model)
          ->excludes(rows)
          ->type_name("TABLE:KEY");
  explain->add_option("--seconds", values.explain.seconds, "For how long the row is looked at")
      ->needs(row)
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  AddJsonOutput(*explain, values, "json: an object, for programs");
}

void AddPolicy(CLI::App& app, TypedValues& values) {
  CLI::App* policy = AddCommand(
      app, "policy", "Show what a platform's policies allow the tuner, and try policies",
      "Policies are objects of a cluster (ClusterTuningPolicy, TuningPolicy); of several the stricter rule wins. test\n"
      "applies nothing: it says which jobs would change, and how. Exit code 2 when the file is wrong.\n\n"
      "  attune policy list -A                 what each selects and says, of all namespaces\n"
      "  attune policy explain word2vec        what is in force for a job, and by which policy\n"
      "  attune policy test night.yaml         before kubectl apply -f night.yaml\n");
  policy->add_option("ACTION", values.policy.action, "list (default), explain or test")
      ->check(OneOf({"list", "explain", "test"}));
  policy->add_option("JOB|FILE", values.policy.what,
                     "explain: name of a job, which may be left out where\nthere is one; test: policies (YAML), -: "
                     "standard input");
  policy->add_flag("-A,--all-namespaces", values.policy.all_namespaces, "With list: policies of all namespaces");
  policy->add_option("-o,--output", values.policy.output, "json: an object, for programs; with list also yaml")
      ->check(OneOf({"json", "yaml"}))
      ->type_name("FORMAT");
}

void AddLogs(CLI::App& app, TypedValues& values) {
  CLI::App* logs = AddCommand(app, "logs", "Print what the pods of a job wrote",
                              "Without ROLE, or with several pods, each line begins with its pod.\n\n"
                              "  attune logs word2vec --tail 20\n  attune logs word2vec worker 0 --follow\n");
  logs->add_option("JOB", values.logs_words[0], kJobOrOnly);
  logs->add_option("ROLE", values.logs_words[1], "server or worker");
  logs->add_option("INDEX", values.logs_words[2], "Which one: 0, 1, ...");
  logs->add_flag("-f,--follow", values.logs.follow, "Continue until the pods end");
  logs->add_option("--tail", values.logs.tail, "Only the last lines")->type_name("LINES")->check(WholeNumber(0));
  logs->add_flag("-p,--previous", values.logs.previous, "Of the run before the last restart");
}

}  // namespace

void AddLooking(CLI::App& app, TypedValues& values) {
  AddGet(app, values);
  AddTop(app, values);
  AddDescribe(app, values);
  AddReport(app, values);
  AddRuns(app, values);
  AddExplain(app, values);
  AddPolicy(app, values);
  AddLogs(app, values);
  GroupCommands(app, "To look");
}

}  // namespace attune::cli
