// The whole program behind main: reads the command line, runs one command, returns its exit code.
#pragma once

namespace attune::cli {

// Exit codes, the same for all commands.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // a job failed, or the command could not do its work
inline constexpr int kExitBadInput = 2;  // command line or manifest
inline constexpr int kExitInterrupted = 130;

int Main(int argc, char** argv);

}  // namespace attune::cli
