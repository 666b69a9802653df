#include "cli/command_line/option_kinds.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace attune::cli {

CLI::App* AddCommand(CLI::App& app, const char* name, const char* description, const char* footer) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();
  command->footer(footer);
  return command;
}

void GroupCommands(CLI::App& app, const char* heading) {
  static const std::string ungrouped = CLI::App().get_group();
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group() == ungrouped) command->group(heading);
  }
}

void AddJsonOutput(CLI::App& command, TypedValues& values, const char* description) {
  command.add_option("-o,--output", values.output, description)->check(OneOf({"json"}))->type_name("FORMAT");
}

void AddTimeout(CLI::App& command, int64_t& seconds, const char* description) {
  constexpr int64_t kDay = 86400;
  command.add_option("--timeout", seconds, description)->type_name("SECONDS")->check(WholeNumber(1, kDay));
}

CLI::Validator OneOf(std::vector<std::string> words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return CLI::Validator(
      [words = std::move(words), all](std::string& value) {
        return std::find(words.begin(), words.end(), value) != words.end() ? std::string()
                                                                           : "\"" + value + "\" is not one of: " + all;
      },
      "");
}

CLI::Validator WholeNumber(int64_t low, int64_t high) {
  return {[low, high](std::string& text) { return ProblemOfWholeNumber(text, low, high); }, ""};
}

std::string ShownName(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

}  // namespace attune::cli
