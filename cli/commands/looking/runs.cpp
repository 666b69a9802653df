// `attune runs`: what was trained here, listed, looked at, compared and removed.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/os/file.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/failure.h"
#include "cli/report/run_comparison.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_store.h"
#include "operator/api/manifest/manifest.h"
#include "operator/local/containers/temporary_directory.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

double Now() { return ToUnixSeconds(SystemTime().WallNow()); }

kube::Json ToJson(const RunRecord& record) {
  kube::Json object = kube::Json::parse(SaveRecord(record), nullptr, /*allow_exceptions=*/false);
  object["directory"] = record.directory;
  return object;
}

void PrintJsonLine(const kube::Json& value) {
  std::puts(value.dump(-1, ' ', false, kube::Json::error_handler_t::replace).c_str());
}

Status CheckCount(const RunsArguments& arguments, size_t least, size_t most, const char* usage) {
  if (arguments.runs.size() >= least && arguments.runs.size() <= most) return OkStatus();
  return Error(StatusCode::kInvalidArgument, std::string("write: attune runs ") + usage);
}

Status List(const RunsArguments& arguments) {
  local::RemoveStaleTemporaryDirectories(local::SystemTemporaryDirectory());  // of runs that were killed
  RETURN_IF_ERROR(CheckCount(arguments, 0, 0, "[--tag TAG] [-o json]"));
  std::vector<RunRecord> runs = ListRuns();
  if (!arguments.tag.empty()) {
    std::erase_if(runs, [&](const RunRecord& run) {
      return std::find(run.tags.begin(), run.tags.end(), arguments.tag) == run.tags.end();
    });
  }
  if (arguments.json) {
    for (const RunRecord& run : runs) PrintJsonLine(ToJson(run));
    return OkStatus();
  }
  if (runs.empty()) {
    std::fprintf(stderr, "no runs%s%s; `attune run FILE` starts one\n", arguments.tag.empty() ? "" : " with the tag ",
                 arguments.tag.c_str());
    return OkStatus();
  }
  for (const std::string& line : FormatTable(RunTable(runs, Now()))) std::puts(line.c_str());
  return OkStatus();
}

uint64_t BytesIn(const fs::path& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, error);
       at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (error) break;
    if (at->is_regular_file(error) && !at->is_symlink(error)) bytes += at->file_size(error);
  }
  return bytes;
}

Status Show(const RunsArguments& arguments) {
  RETURN_IF_ERROR(CheckCount(arguments, 1, 1, "show RUN"));
  ASSIGN_OR_RETURN(const RunRecord run, FindRun(arguments.runs.front()));
  if (arguments.json) {
    PrintJsonLine(ToJson(run));
  } else {
    std::fputs(RunText(run, BytesIn(run.directory), Now()).c_str(), stdout);
    if (std::error_code error; fs::exists(fs::path(run.directory) / kRunOutput, error))
      std::printf("\nIts own output is in %s\n", (fs::path(run.directory) / kRunOutput).c_str());
  }
  return OkStatus();
}

StatusOr<ComparedRun> ReadCompared(const std::string& wanted) {
  ASSIGN_OR_RETURN(RunRecord run, FindRun(wanted));
  ComparedRun compared{std::move(run), {}};
  const fs::path file = fs::path(compared.record.directory) / kRunManifestDefaulted;
  if (const auto text = ReadFile(file); text.ok()) {  // an older attune left none
    ASSIGN_OR_RETURN(const std::vector<api::Manifest> manifests, api::ParseManifests(*text, file.string()));
    for (const api::Manifest& manifest : manifests) compared.jobs.push_back(manifest.object);
  }
  return compared;
}

Status Diff(const RunsArguments& arguments) {
  RETURN_IF_ERROR(CheckCount(arguments, 2, 2, "diff RUN RUN"));
  ASSIGN_OR_RETURN(const ComparedRun first, ReadCompared(arguments.runs[0]));
  ASSIGN_OR_RETURN(const ComparedRun second, ReadCompared(arguments.runs[1]));
  const Comparison comparison = Compare(first, second);
  if (arguments.json) {
    PrintJsonLine(ToJson(first, second, comparison));
  } else {
    std::fputs(ComparisonText(first, second, comparison).c_str(), stdout);
    std::printf("\nTheir curves over each other: attune report %s %s -o compared.html\n", arguments.runs[0].c_str(),
                arguments.runs[1].c_str());
  }
  return OkStatus();
}

// An option that another action has would be without effect.
Status CheckOptions(const RunsArguments& arguments) {
  if (arguments.keep && arguments.action != "rm")
    return Error(StatusCode::kInvalidArgument, "--keep goes with rm only: attune runs rm --keep N removes runs");
  const bool lists = arguments.action.empty() || arguments.action == "list";
  if (!arguments.tag.empty() && !lists)
    return Error(StatusCode::kInvalidArgument, "--tag goes with the list only: attune runs --tag TAG");
  return OkStatus();
}

// A job's name means its newest run where one looks, and none where one removes.
StatusOr<RunRecord> FindToRemove(const std::string& wanted) {
  ASSIGN_OR_RETURN(RunRecord run, FindRun(wanted));
  if (wanted.find('/') != std::string::npos || run.name == wanted ||
      fs::path(run.directory).filename().string() == wanted)
    return run;
  return Error(StatusCode::kInvalidArgument,
               wanted + " is the name of a job; name a run: " + run.name + " is its newest");
}

Status Remove(const RunsArguments& arguments) {
  std::vector<RunRecord> runs;
  if (arguments.keep) {
    RETURN_IF_ERROR(CheckCount(arguments, 0, 0, "rm --keep N, or rm RUN..."));
    std::error_code error;
    runs = RunsBeyond(ListRuns(), fs::weakly_canonical(kRunsDirectory, error), *arguments.keep);
  } else {
    RETURN_IF_ERROR(CheckCount(arguments, 1, 10'000, "rm RUN..., or rm --keep N"));
  }
  for (const std::string& wanted : arguments.runs) {  // all are found before the first is removed
    ASSIGN_OR_RETURN(RunRecord run, FindToRemove(wanted));
    runs.push_back(std::move(run));
  }
  for (const RunRecord& run : runs) RETURN_IF_ERROR(CheckRemovable(run));
  if (runs.empty()) std::printf("nothing to remove: no more runs than that have ended in %s\n", kRunsDirectory);
  for (const RunRecord& run : runs) {
    RETURN_IF_ERROR(RemoveRun(run));
    std::printf("removed %s with all that was in %s\n", run.name.c_str(), run.directory.c_str());
  }
  return OkStatus();
}

}  // namespace

int Runs(const RunsArguments& arguments) {
  const Status fits = CheckOptions(arguments);
  const Status status = !fits.ok()                   ? fits
                        : arguments.action == "show" ? Show(arguments)
                        : arguments.action == "diff" ? Diff(arguments)
                        : arguments.action == "rm"   ? Remove(arguments)
                                                     : List(arguments);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace attune::cli
