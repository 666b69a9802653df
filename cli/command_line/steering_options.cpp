#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "cli/command_line/command_options.h"
#include "cli/command_line/option_kinds.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

void AddScale(CLI::App& app, TypedValues& values) {
  CLI::App* scale = AddCommand(
      app, "scale", "Change number and size of workers and servers during training",
      "A new server is given rows, a leaving one hands its rows over first; no step waits, nothing restarts.\n\n"
      "  attune scale word2vec servers=3 workers=4\n  attune scale word2vec worker-cpu=2 server-memory=2Gi\n");
  scale->add_option("JOB", values.scale.job, kJobOrOnly);
  scale->add_option("CHANGE", values.scale.changes, "workers=N, servers=N, worker-cpu=2, server-memory=2Gi, ...");
}

void AddSync(CLI::App& app, TypedValues& values) {
  CLI::App* sync = AddCommand(app, "sync", "Change how workers keep pace with each other during training",
                              "The job switches at a step that no worker has begun.\n\n"
                              "  attune sync word2vec bsp      all finish a step before one begins the next\n"
                              "  attune sync word2vec ssp:4    none is more than 4 steps ahead of the slowest\n"
                              "  attune sync word2vec async    none waits\n");
  sync->add_option("JOB", values.sync.job, kJobOrOnly);
  sync->add_option("MODE", values.sync.mode, "async, bsp or ssp:N");
  AddTimeout(*sync, values.sync.timeout_seconds, "Longest wait (default 60)");
}

void AddRows(CLI::App& app, TypedValues& values) {
  CLI::App* rows = AddCommand(app, "rows", "Change what workers make of announced rows during training",
                              "Rows that a program announces (Table::Intend) are fetched ahead and copied:\n\n"
                              "  attune rows word2vec adaptive    while that makes the job faster, which is measured\n"
                              "  attune rows word2vec static      never\n"
                              "  attune rows word2vec always      without measuring\n");
  rows->add_option("JOB", values.rows.job, kJobOrOnly);
  rows->add_option("MANAGEMENT", values.rows.management, "adaptive, static or always");
  AddTimeout(*rows, values.rows.timeout_seconds, "Longest wait (default 60)");
}

void AddTune(CLI::App& app, TypedValues& values) {
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
  CLI::App* tune = AddCommand(app, "tune", "Say what the tuner may do with a running job", footer.c_str());
  tune->add_option("ACTION", values.tune.action,
                   "pause, resume, pin, unpin, or a mode: off, recommend, initial, inplaceonly, auto")
      ->required();
  tune->add_option(
      "JOB", values.tune.words,
      "Name of a job; with pin its values too, before or after it; may be\nleft out where there is one job");
}

void AddCheckpoint(CLI::App& app, TypedValues& values) {
  CLI::App* checkpoint =
      AddCommand(app, "checkpoint", "Write a checkpoint during training and say where it lies",
                 "  attune checkpoint word2vec\n  attune run --resume DIR job.yaml    continues from it, "
                 "with any number of servers\n");
  checkpoint->add_option("JOB", values.checkpoint.job, kJobOrOnly);
  AddTimeout(*checkpoint, values.checkpoint.timeout_seconds, "Longest wait (default 600)");
}

void AddMove(CLI::App& app, TypedValues& values) {
  CLI::App* move =
      AddCommand(app, "move", "Give a pod another machine during training",
                 "A worker goes once another one has begun there; a server's rows move to the others first.\n\n"
                 "  attune move word2vec worker-1 --to node-2\n"
                 "  attune move word2vec server-0                any other machine\n");
  move->add_option("JOB", values.move.job, kJobOrOnly);
  move->add_option("POD", values.move.pod, "worker-N or server-N");
  move->add_option("--to", values.move.to, "The machine to prefer; another one where it has no\nroom")
      ->type_name("NODE");
  AddTimeout(*move, values.move.timeout_seconds, "Longest wait (default 600)");
}

void AddPlace(CLI::App& app, TypedValues& values) {
  constexpr char kPreference[] =
      "A preference (spec.placement): pods that are elsewhere move one at a time, during training, and no pod is kept\n"
      "from running for it.\n\n";
  const auto add = [&](const char* name, const char* summary, const std::string& examples, PlaceArguments& place) {
    CLI::App* command = AddCommand(app, name, summary, (kPreference + examples).c_str());
    command->add_option("JOB", place.job, kJobOrOnly);
    command->add_option("--only", place.only, "Servers or workers alone")
        ->type_name("ROLE")
        ->check(CLI::IsMember({"servers", "workers"}).description(""));
    return command;
  };
  add("spread", "Have as few pods of a role on a machine as possible",
      "  attune spread word2vec\n  attune spread word2vec --only workers\n", values.spread);
  values.pack.pack = true;
  CLI::App* pack = add("pack", "Have the pods of a job on as few machines as possible",
                       "  attune pack word2vec\n"
                       "  attune pack word2vec --with-workers    servers go where workers run\n",
                       values.pack);
  pack->add_flag("--with-workers", values.pack.with_workers,
                 "Move servers to machines where workers run,\nand no worker")
      ->excludes(pack->get_option("--only"));
}

void AddSuspend(CLI::App& app, TypedValues& values) {
  CLI::App* suspend =
      AddCommand(app, "suspend", "Write a checkpoint and give all pods of a job back",
                 "It keeps its pods where no checkpoint would outlast them, and says so (spec.suspend).\n\n"
                 "  attune suspend word2vec\n  attune resume word2vec     continues it in new pods\n");
  suspend->add_option("JOB", values.suspend.job, kJobOrOnly);
  AddTimeout(*suspend, values.suspend.timeout_seconds, "Longest wait (default 600)");
  values.restart.restart = true;
  CLI::App* restart =
      AddCommand(app, "restart", "Make all pods of a job again, from a checkpoint",
                 "For what no other way gives a running job. It continues from a checkpoint that is written first.\n\n"
                 "  attune restart word2vec\n");
  restart->add_option("JOB", values.restart.job, kJobOrOnly);
  AddTimeout(*restart, values.restart.timeout_seconds, "Longest wait (default 600)");
}

void AddStop(CLI::App& app, TypedValues& values) {
  CLI::App* stop =
      AddCommand(app, "stop", "Delete a job and wait until its pods are gone",
                 "A checkpoint is written first where rows would be lost, for at most 5 s; Ctrl-C skips it.\n\n"
                 "  attune stop word2vec\n  attune resume word2vec    continues a local run\n");
  stop->add_option("JOB", values.stop.job, kJobOrOnly);
  stop->add_flag("--no-checkpoint", values.stop.without_checkpoint, "Write none");
  AddTimeout(*stop, values.stop.timeout_seconds, "Longest wait (default 120)");
}

}  // namespace

void AddSteering(CLI::App& app, TypedValues& values) {
  AddScale(app, values);
  AddSync(app, values);
  AddRows(app, values);
  AddTune(app, values);
  AddCheckpoint(app, values);
  AddMove(app, values);
  AddSuspend(app, values);
  AddPlace(app, values);
  AddStop(app, values);
  GroupCommands(app, "To change what runs");
}

}  // namespace attune::cli
