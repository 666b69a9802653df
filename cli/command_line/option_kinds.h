// What commands and options have in common: how they are declared to the parsing library, and which values they take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "cli/command_line/typed_values.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace attune::cli {

inline constexpr char kJobOrOnly[] = "Name of a job; may be left out where there is one";

// A command of `app`, which owns it.
CLI::App* AddCommand(CLI::App& app, const char* name, const char* description, const char* footer);
// Puts the commands that were added since the last call below a heading of the help text.
void GroupCommands(CLI::App& app, const char* heading);
// -o json, for programs.
void AddJsonOutput(CLI::App& command, TypedValues& values, const char* description);
// --timeout, up to a day.
void AddTimeout(CLI::App& command, int64_t& seconds, const char* description);

// Membership without the list the library would add to the value's name.
CLI::Validator OneOf(std::vector<std::string> words);
// The library's own checks answer with the bounds of the type, or with "could not convert".
CLI::Validator WholeNumber(int64_t low, int64_t high = kNoMaximum);

// "--output" of "-o,--output".
std::string ShownName(const CLI::Option& option);

}  // namespace attune::cli
