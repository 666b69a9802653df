// Declares the commands to the parsing library, in the order of the help text: a file per group of commands.
#pragma once

#include "cli/command_line/typed_values.h"

namespace CLI {
class App;
}

namespace attune::cli {

// `values` outlives `app`.
void AddRunning(CLI::App& app, TypedValues& values);   // init, run, resume, validate, simulate
void AddLooking(CLI::App& app, TypedValues& values);   // get, top, describe, report, runs, explain, policy, logs
void AddSteering(CLI::App& app, TypedValues& values);  // scale, sync, tune, checkpoint, move, spread, pack, suspend,
                                                       // restart, stop
void AddModels(CLI::App& app, TypedValues& values);    // inspect, export, pull-model
void AddOthers(CLI::App& app, TypedValues& values);    // tuner, doctor, version, completion

}  // namespace attune::cli
