// One function per command, each in a file of its name, in the directory of its group. They print and return an exit
// code.
#pragma once

#include "cli/arguments.h"

namespace attune::cli {

int Run(const RunArguments& arguments, const Target& target);
int Resume(const ResumeArguments& arguments, const Target& target);
int Runs(const RunsArguments& arguments);
int Init(const InitArguments& arguments);
int Simulate(const SimulateArguments& arguments);
int Validate(const ValidateArguments& arguments);
int Get(const GetArguments& arguments, const Target& target);
int Top(const TopArguments& arguments, const Target& target);
int Describe(const DescribeArguments& arguments, const Target& target);
int Report(const ReportArguments& arguments, const Target& target);
int Explain(const ExplainArguments& arguments, const Target& target);
int Policy(const PolicyArguments& arguments, const Target& target);
int Logs(const LogsArguments& arguments, const Target& target);
int Scale(const ScaleArguments& arguments, const Target& target);
int Tune(const TuneArguments& arguments, const Target& target);
int Sync(const SyncArguments& arguments, const Target& target);
int Rows(const RowsArguments& arguments, const Target& target);
int Checkpoint(const CheckpointArguments& arguments, const Target& target);
int Move(const MoveArguments& arguments, const Target& target);
int Suspend(const SuspendArguments& arguments, const Target& target);
int Place(const PlaceArguments& arguments, const Target& target);
int Stop(const StopArguments& arguments, const Target& target);
int Export(const ExportArguments& arguments);
int Inspect(const InspectArguments& arguments);
int PullModel(const PullModelArguments& arguments, const Target& target);
int Tuner(const TunerArguments& arguments);
int Doctor(const DoctorArguments& arguments, const Target& target);
int Version(const VersionArguments& arguments, const Target& target);
int Completion(const CompletionArguments& arguments);

}  // namespace attune::cli
