#include "cli/command_line/mistakes.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_line/option_kinds.h"
#include "operator/api/names.h"

namespace attune::cli {
namespace {

// What other programs call it.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {{"apply", "run"},
                                                                         {"start", "run"},
                                                                         {"train", "run"},
                                                                         {"create", "run"},
                                                                         {"new", "init"},
                                                                         {"scaffold", "init"},
                                                                         {"template", "init"},
                                                                         {"submit", "run"},
                                                                         {"list", "get"},
                                                                         {"ls", "get"},
                                                                         {"ps", "get"},
                                                                         {"jobs", "get"},
                                                                         {"watch", "top"},
                                                                         {"monitor", "top"},
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
                                                                         {"diagnose", "doctor"},
                                                                         {"health", "doctor"},
                                                                         {"preflight", "doctor"},
                                                                         {"lint", "validate"},
                                                                         {"predict", "simulate"},
                                                                         {"dry-run", "simulate"},
                                                                         {"pin", "tune pin"},
                                                                         {"policies", "policy list"},
                                                                         {"tp", "policy list"},
                                                                         {"ctp", "policy list"},
                                                                         {"pause", "tune pause"},
                                                                         {"plot", "report"},
                                                                         {"dashboard", "report"}};

// A flag that may have a value has it behind "=" only: a word that follows it is another argument, and pushes the last
// one out.
std::string ValueApartText(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool may_have_value = option->get_name(false, true).find('{') != std::string::npos;
    if (!may_have_value || option->count() == 0) continue;
    return "; a value of " + ShownName(*option) + " is written with an equals sign: " + ShownName(*option) + "=VALUE";
  }
  return "";
}

}  // namespace

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
  return "not expected: " + all + ValueApartText(command);
}

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

}  // namespace attune::cli
