#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "cli/application.h"
#include "cli/command_line/command_options.h"
#include "cli/command_line/help_text.h"
#include "cli/command_line/mistakes.h"
#include "cli/command_line/option_kinds.h"
#include "cli/command_line/typed_values.h"
#include "cli/requests/job_words.h"

namespace attune::cli {
namespace {

constexpr int64_t kProcessIdMax = std::numeric_limits<int32_t>::max();

void Build(CLI::App& app, TypedValues& values) {
  SetHelpText(app);
  app.name("attune");
  app.description("attune trains models with parameter servers, on this machine or on Kubernetes.");
  app.require_subcommand(1);
  app.add_option("--kubeconfig", values.target.kubeconfig, "Cluster of this kubeconfig file")->type_name("FILE");
  app.add_option("--context", values.target.context, "Cluster of this context of the kubeconfig")->type_name("NAME");
  app.add_option("-n,--namespace", values.target.name_space, "Namespace (default: the context's, else \"default\")")
      ->type_name("NAME");
  app.add_option("--instance", values.target.instance,
                 "Local instance with this process id\n(default: the one that has the job)")
      ->type_name("PID")
      ->check(WholeNumber(1, kProcessIdMax));
  AddRunning(app, values);
  AddLooking(app, values);
  AddSteering(app, values);
  AddModels(app, values);
  AddOthers(app, values);
}

// What a job may stand before or be left out of.
void SortWords(TypedValues& values) {
  std::vector<std::string> words(values.logs_words.begin(), values.logs_words.end());
  std::erase(words, "");
  const auto logs = SortLogsWords(words);
  if (!logs.ok()) throw CLI::ValidationError(std::string(Message(logs.status())));
  values.logs.job = logs->job;
  values.logs.role = logs->role;
  values.logs.index = logs->index;
}

Arguments Collect(const CLI::App& app, TypedValues& values) {
  RefuseEmptyValues(app);
  RefuseEmptyValues(*app.get_subcommands().front());
  if (values.follow && (values.run.detach || values.resume.with.detach))
    throw CLI::ValidationError("--follow and --detach exclude each other");
  values.run.json = values.resume.with.json = values.runs.json = values.validate.json = values.inspect.json =
      values.pull_model.json = values.top.json = values.doctor.json = values.export_.json = values.explain.json =
          values.simulate.json = values.output == "json";
  SortWords(values);
  const std::string name = app.get_subcommands().front()->get_name();
  Arguments arguments{values.target, values.run};
  if (name == "resume") arguments.command = values.resume;
  if (name == "runs") arguments.command = values.runs;
  if (name == "init") arguments.command = values.init;
  if (name == "validate") arguments.command = values.validate;
  if (name == "simulate") arguments.command = values.simulate;
  if (name == "get") arguments.command = values.get;
  if (name == "top") arguments.command = values.top;
  if (name == "describe") arguments.command = values.describe;
  if (name == "report") arguments.command = values.report;
  if (name == "explain") arguments.command = values.explain;
  if (name == "policy") arguments.command = values.policy;
  if (name == "tune") arguments.command = values.tune;
  if (name == "logs") arguments.command = values.logs;
  if (name == "scale") arguments.command = values.scale;
  if (name == "sync") arguments.command = values.sync;
  if (name == "rows") arguments.command = values.rows;
  if (name == "checkpoint") arguments.command = values.checkpoint;
  if (name == "move") arguments.command = values.move;
  if (name == "suspend") arguments.command = values.suspend;
  if (name == "restart") arguments.command = values.restart;
  if (name == "spread") arguments.command = values.spread;
  if (name == "pack") arguments.command = values.pack;
  if (name == "stop") arguments.command = values.stop;
  if (name == "export") arguments.command = values.export_;
  if (name == "inspect") arguments.command = values.inspect;
  if (name == "pull-model") arguments.command = values.pull_model;
  if (name == "tuner") arguments.command = values.tuner;
  if (name == "doctor") arguments.command = values.doctor;
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
  TypedValues values;
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
  TypedValues values;
  Build(app, values);
  std::vector<CommandWords> all;
  const auto words = [](const CLI::App& command) {
    CommandWords entry{command.get_name(), command.get_group(), {}};
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
