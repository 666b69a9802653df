#include "cli/application.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/os/output.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/failure.h"
#include "cli/process_limits.h"

namespace attune::cli {
namespace {

struct Dispatch {
  const Target& target;
  int operator()(const RunArguments& arguments) const { return Run(arguments, target); }
  int operator()(const ResumeArguments& arguments) const { return Resume(arguments, target); }
  int operator()(const RunsArguments& arguments) const { return Runs(arguments); }
  int operator()(const InitArguments& arguments) const { return Init(arguments); }
  int operator()(const ValidateArguments& arguments) const { return Validate(arguments); }
  int operator()(const SimulateArguments& arguments) const { return Simulate(arguments); }
  int operator()(const GetArguments& arguments) const { return Get(arguments, target); }
  int operator()(const TopArguments& arguments) const { return Top(arguments, target); }
  int operator()(const DescribeArguments& arguments) const { return Describe(arguments, target); }
  int operator()(const ReportArguments& arguments) const { return Report(arguments, target); }
  int operator()(const ExplainArguments& arguments) const { return Explain(arguments, target); }
  int operator()(const PolicyArguments& arguments) const { return Policy(arguments, target); }
  int operator()(const TuneArguments& arguments) const { return Tune(arguments, target); }
  int operator()(const LogsArguments& arguments) const { return Logs(arguments, target); }
  int operator()(const ScaleArguments& arguments) const { return Scale(arguments, target); }
  int operator()(const SyncArguments& arguments) const { return Sync(arguments, target); }
  int operator()(const RowsArguments& arguments) const { return Rows(arguments, target); }
  int operator()(const CheckpointArguments& arguments) const { return Checkpoint(arguments, target); }
  int operator()(const MoveArguments& arguments) const { return Move(arguments, target); }
  int operator()(const SuspendArguments& arguments) const { return Suspend(arguments, target); }
  int operator()(const PlaceArguments& arguments) const { return Place(arguments, target); }
  int operator()(const StopArguments& arguments) const { return Stop(arguments, target); }
  int operator()(const ExportArguments& arguments) const { return Export(arguments); }
  int operator()(const InspectArguments& arguments) const { return Inspect(arguments); }
  int operator()(const PullModelArguments& arguments) const { return PullModel(arguments, target); }
  int operator()(const TunerArguments& arguments) const { return Tuner(arguments); }
  int operator()(const DoctorArguments& arguments) const { return Doctor(arguments, target); }
  int operator()(const VersionArguments& arguments) const { return Version(arguments, target); }
  int operator()(const CompletionArguments& arguments) const { return Completion(arguments); }
};

// A command whose output did not arrive did not do what it was asked for, whatever else it did.
int WithOutputArrived(int exit_code) {
  const Status status = FlushStandardOutput();
  if (status.ok()) return exit_code;
  const int failed = Fail(status);
  return exit_code == kExitOk ? failed : exit_code;
}

}  // namespace

int Fail(const Status& status) {
  const std::string text(Message(status));
  std::fprintf(stderr, "attune: %s\n", text.c_str());
  return status.code() == StatusCode::kInvalidArgument ? kExitBadInput : kExitFailed;
}

int Main(int argc, char** argv) {
  log::SetProcessName("attune");
  ExplainAborts();
  ParsedArguments parsed = ParseArguments(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (!parsed.arguments) {
    std::fputs(parsed.text.c_str(), parsed.exit_code == kExitOk ? stdout : stderr);
    return WithOutputArrived(parsed.exit_code);
  }
  if (argc > 0 && std::filesystem::path(argv[0]).filename() == "kubectl-attune")
    parsed.arguments->target.as_kubectl_plugin = true;
  return WithOutputArrived(std::visit(Dispatch{parsed.arguments->target}, parsed.arguments->command));
}

}  // namespace attune::cli
