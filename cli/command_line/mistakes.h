// What is said of a command line that means nothing: commands and options that do not exist, values that are empty.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace attune::cli {

// The first word is no command.
std::string UnknownCommandText(const CLI::App& app);
// Words that belong to nothing, in the order in which they were typed.
std::string UnexpectedText(const CLI::App& app, const CLI::App& command);
// Throws the library's own error. Mostly a variable of a shell that is not set: `--resume "$DIR"` must not begin from
// nothing.
void RefuseEmptyValues(const CLI::App& command);

}  // namespace attune::cli
