// Runs another program to its end and keeps what it writes: without a shell, bounded in time and in bytes.
//
//   ASSIGN_OR_RETURN(std::string program, FindProgram("aws", search_path));
//   ASSIGN_OR_RETURN(CommandResult result, RunCommand({.program = program, .arguments = {"--version"}}));
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"

namespace attune {

struct Command {
  std::string program;                   // path of its file
  std::vector<std::string> arguments;    // without the name of the program
  std::vector<std::string> environment;  // all of it, NAME=VALUE
  Duration timeout = std::chrono::seconds(15);
  size_t output_bytes_max = 1 << 20;  // of standard output; a program that writes more is killed
  size_t errors_bytes_max = 4 << 10;  // of standard error; what follows is read and dropped
};

struct CommandResult {
  enum class End {
    kExited,    // `code` is its exit code
    kSignaled,  // `code` is the signal
    kTimedOut,  // these three: killed here, with all processes of its group
    kTooMuchOutput,
    kCancelled,
  };
  End end = End::kExited;
  int code = 0;
  std::string output, errors;
};

// Runs it with /dev/null as standard input, in a process group of its own, and reaps it. When it ends before processes
// that it started, those are neither waited for nor killed. An error only when it could not be started. `cancelled`, if
// given, is looked at every few milliseconds.
StatusOr<CommandResult> RunCommand(const Command& command, const std::atomic<bool>* cancelled = nullptr);

// The path of a program: `name` itself when it contains a '/', else the first executable file of that name in the
// directories of `search_path` ("/usr/bin:/bin"). NotFound when there is none.
StatusOr<std::string> FindProgram(const std::string& name, std::string_view search_path);

// The environment of this process with `changes` (NAME=VALUE) in place of what it has under their names.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& changes);

}  // namespace attune
