// Where the parsing library puts what was typed, of all commands: one of them is the one that was called.
#pragma once

#include <array>
#include <string>

#include "cli/arguments.h"

namespace attune::cli {

struct TypedValues {
  Target target;
  RunArguments run;
  ResumeArguments resume;
  RunsArguments runs;
  InitArguments init;
  ValidateArguments validate;
  SimulateArguments simulate;
  GetArguments get;
  TopArguments top;
  DescribeArguments describe;
  ReportArguments report;
  ExplainArguments explain;
  PolicyArguments policy;
  TuneArguments tune;
  LogsArguments logs;
  ScaleArguments scale;
  SyncArguments sync;
  RowsArguments rows;
  CheckpointArguments checkpoint;
  MoveArguments move;
  SuspendArguments suspend, restart;
  PlaceArguments spread, pack;
  StopArguments stop;
  ExportArguments export_;
  InspectArguments inspect;
  PullModelArguments pull_model;
  TunerArguments tuner;
  DoctorArguments doctor;
  VersionArguments version;
  CompletionArguments completion;
  bool follow = false;                    // of run and resume
  std::string output;                     // "json" or "", of all that have no other form
  std::array<std::string, 3> logs_words;  // job, role, index, where the first may be left out
};

}  // namespace attune::cli
