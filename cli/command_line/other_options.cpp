#include <CLI/CLI.hpp>

#include "cli/command_line/command_options.h"
#include "cli/command_line/option_kinds.h"

namespace attune::cli {
namespace {

void AddTuner(CLI::App& app, TypedValues& values) {
  CLI::App* tuner = AddCommand(app, "tuner", "Answer another program's questions: which setting next",
                               "One JSON object a line on standard input and output; docs/tuner.md describes them.\n\n"
                               "  attune tuner --jsonl <reports.jsonl\n");
  tuner->add_flag("--jsonl", values.tuner.jsonl, "JSON lines (the only form there is)")->required();
}

void AddVersion(CLI::App& app, TypedValues& values) {
  CLI::App* version = AddCommand(app, "version", "Print the version of this program and of what it talks to", "");
  version->add_flag("--client", values.version.client_only, "Only of this program");
}

void AddCompletion(CLI::App& app, TypedValues& values) {
  CLI::App* completion =
      AddCommand(app, "completion", "Print a completion script for a shell",
                 "  source <(attune completion bash)\n  attune completion zsh > \"${fpath[1]}/_attune\"\n");
  completion->add_option("SHELL", values.completion.shell, "bash or zsh")->required()->check(OneOf({"bash", "zsh"}));
}

}  // namespace

void AddOthers(CLI::App& app, TypedValues& values) {
  AddTuner(app, values);
  AddVersion(app, values);
  AddCompletion(app, values);
  GroupCommands(app, "This program");
}

}  // namespace attune::cli
