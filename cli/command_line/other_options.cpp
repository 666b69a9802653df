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

void AddDoctor(CLI::App& app, TypedValues& values) {
  CLI::App* doctor = AddCommand(
      app, "doctor", "Check this machine or a cluster, and say how to mend what is wrong",
      "This machine, for `attune run`; with --kubeconfig or --context that cluster: kinds, operator, rights, nodes,\n"
      "storage, clock. Nothing is changed. Exit code 1 when there is a problem; warnings are none.\n\n"
      "  attune doctor\n  attune doctor --context my-cluster\n");
  AddJsonOutput(*doctor, values, "json: an object, for programs");
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
  AddDoctor(app, values);
  AddVersion(app, values);
  AddCompletion(app, values);
  GroupCommands(app, "This program");
}

}  // namespace attune::cli
