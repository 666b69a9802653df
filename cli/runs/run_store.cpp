#include "cli/runs/run_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>

#include "base/os/file.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_history.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRecordBytesMax = 4 << 20, kEntryBytesMax = 8 << 10;
constexpr size_t kNamesShown = 8;

// Empty when the user has no home.
fs::path IndexDirectory() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return fs::path(state) / "attune" / "runs";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".local" / "state" / "attune" / "runs";
}

// The same directory has the same entry, so that it is never there twice.
fs::path EntryOf(const fs::path& directory) {
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : directory.string()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char name[32];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  return IndexDirectory() / name;
}

double ModificationTime(const fs::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? static_cast<double>(info.st_mtim.tv_sec) : 0;
}

// Directories that the index names. What is gone is forgotten, unless the disk that held it is away.
std::vector<fs::path> IndexedDirectories() {
  std::vector<fs::path> directories;
  std::error_code error;
  if (IndexDirectory().empty()) return directories;
  for (const auto& entry : fs::directory_iterator(IndexDirectory(), error)) {
    auto text = ReadFile(entry.path(), kEntryBytesMax);
    if (!text.ok()) continue;
    while (text->ends_with('\n')) text->pop_back();
    const fs::path directory = *text;
    if (!directory.is_absolute()) continue;
    if (fs::is_directory(directory, error)) {
      directories.push_back(directory);
    } else if (fs::is_directory(directory.parent_path(), error)) {
      fs::remove(entry.path(), error);
    }
  }
  return directories;
}

// Of a run before there were records: what its history says.
StatusOr<RunRecord> FromHistories(const fs::path& directory) {
  RunRecord record;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("history-") || !name.ends_with(".json")) continue;
    ASSIGN_OR_RETURN(const std::string text, ReadFile(entry.path(), kHistoryBytesMax));
    ASSIGN_OR_RETURN(const RunHistory history, LoadHistory(text));
    RunJob job;
    job.name = history.name;
    job.name_space = history.name_space;
    job.outcome = history.phase == "Succeeded" ? RunOutcome::kSucceeded
                  : history.phase == "Failed"  ? RunOutcome::kFailed
                                               : RunOutcome::kLost;
    job.sample_unit = history.sample_unit;
    job.results = history.results;
    if (!history.points.empty()) {
      const RunPoint& last = history.points.back();
      job.loss = last.loss;
      job.rate = last.rate;
      job.fraction = last.fraction;
      job.servers = last.servers;
      job.workers = last.workers;
    }
    record.started = history.started;
    record.ended = history.ended > 0 ? history.ended : ModificationTime(entry.path());
    record.jobs.push_back(job);
  }
  if (record.jobs.empty()) return Error(StatusCode::kNotFound, directory.string() + " is no directory of a run");
  record.name = directory.filename().string();
  record.outcome = OutcomeOf(record.jobs);
  return record;
}

bool StillRuns(const RunRecord& record) { return local::IsProcess(record.process_id, record.process_start); }

void Settle(RunRecord& record, const fs::path& file) {
  if (record.outcome != RunOutcome::kRunning || StillRuns(record)) return;
  const RunOutcome why = record.interrupted ? RunOutcome::kInterrupted : RunOutcome::kLost;
  for (RunJob& job : record.jobs) {
    if (job.outcome == RunOutcome::kRunning) job.outcome = why;
  }
  record.outcome = record.jobs.empty() ? why : OutcomeOf(record.jobs);
  record.ended = ModificationTime(file);  // it was written every few seconds
}

bool Trains(const RunRecord& record, const std::string& job) {
  return std::any_of(record.jobs.begin(), record.jobs.end(), [&](const RunJob& each) { return each.name == job; });
}

}  // namespace

std::string HowToGoOn(const RunRecord& run) {
  const bool left_one =
      std::any_of(run.jobs.begin(), run.jobs.end(), [](const RunJob& job) { return !job.checkpoint.empty(); });
  return left_one && run.outcome != RunOutcome::kSucceeded ? "`attune resume " + run.name + "` continues it"
                                                           : "`attune describe " + run.name + "` says what it did";
}

std::string NamesOf(const std::vector<RunRecord>& runs) {
  std::string names;
  for (size_t i = 0; i < std::min(runs.size(), kNamesShown); ++i)
    names += (names.empty() ? "" : ", ") + runs[i].name + " (" + ToString(runs[i].outcome) + ")";
  if (runs.size() > kNamesShown) names += " and " + std::to_string(runs.size() - kNamesShown) + " more";
  return names;
}

StatusOr<RunRecord> LoadRun(const fs::path& path) {
  std::error_code error;
  const fs::path directory = fs::weakly_canonical(path, error);
  const auto text = ReadFile(directory / kRunFile, kRecordBytesMax);
  auto record = text.ok() ? LoadRecord(*text) : FromHistories(directory);
  if (!record.ok()) return Annotate(record.status(), "reading the run in " + path.string());
  record->directory = directory.string();
  Settle(*record, directory / kRunFile);
  return record;
}

std::vector<RunRecord> ListRuns() {
  std::set<std::string> directories;
  std::error_code error;
  for (const fs::path& directory : IndexedDirectories())
    directories.insert(fs::weakly_canonical(directory, error).string());
  for (const auto& entry : fs::directory_iterator(kRunsDirectory, error)) {
    if (entry.is_directory(error)) directories.insert(fs::weakly_canonical(entry.path(), error).string());
  }
  std::vector<RunRecord> runs;
  for (const std::string& directory : directories) {
    if (auto record = LoadRun(directory); record.ok()) runs.push_back(*std::move(record));
  }
  std::sort(runs.begin(), runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return std::tie(b.started, b.directory) < std::tie(a.started, a.directory);
  });
  return runs;
}

StatusOr<RunRecord> ChooseRun(const std::vector<RunRecord>& runs, const std::string& wanted) {
  std::vector<const RunRecord*> named;
  for (const RunRecord& run : runs) {
    if (run.name == wanted) named.push_back(&run);
  }
  if (named.size() == 1) return *named.front();
  if (named.size() > 1) {
    std::string text = std::to_string(named.size()) + " runs have the name " + wanted + "; name the directory of one:";
    for (const RunRecord* run : named) text += "\n  " + run->directory + " (" + ToString(run->outcome) + ")";
    return Error(StatusCode::kInvalidArgument, text);
  }
  for (const RunRecord& run : runs) {
    if (Trains(run, wanted)) return run;
  }
  return Error(StatusCode::kNotFound,
               "there is no run " + wanted +
                   (runs.empty() ? ": none was started in this directory or is remembered; `attune run FILE` starts one"
                                 : "; `attune runs` lists them all: " + NamesOf(runs)));
}

StatusOr<OnlyRun> ChooseOnlyRun(const std::vector<RunRecord>& runs) {
  std::vector<RunRecord> ended;  // with a job: others can answer nothing
  std::set<std::string> jobs;
  for (const RunRecord& run : runs) {
    if (run.outcome == RunOutcome::kRunning || run.jobs.empty()) continue;
    ended.push_back(run);
    for (const RunJob& job : run.jobs) jobs.insert(job.name);
  }
  if (ended.empty()) return Error(StatusCode::kNotFound, "no run has ended; `attune run FILE` starts one");
  if (jobs.size() == 1) return OnlyRun{ended.front(), *jobs.begin()};
  return Error(StatusCode::kInvalidArgument,
               "nothing runs, and the runs that have ended trained " + std::to_string(jobs.size()) +
                   " jobs; name a job (its newest run answers) or a run: " + NamesOf(ended));
}

StatusOr<RunRecord> FindRun(const std::string& wanted) {
  std::error_code error;
  const bool is_path = wanted.find('/') != std::string::npos || wanted == "." || wanted == "..";
  if (is_path) return LoadRun(wanted);
  auto chosen = ChooseRun(ListRuns(), wanted);
  if (chosen.status().code() == StatusCode::kNotFound && fs::is_directory(wanted, error)) return LoadRun(wanted);
  return chosen;
}

void RememberRun(const fs::path& directory) {
  if (IndexDirectory().empty()) return;
  std::error_code error;
  // Only for this user, as the directory of running instances is, which may be the same one.
  const fs::path own = IndexDirectory().parent_path();
  fs::create_directories(own.parent_path(), error);
  if (fs::create_directory(own, error)) fs::permissions(own, fs::perms::owner_all, error);
  fs::create_directory(IndexDirectory(), error);
  [[maybe_unused]] const Status written = WriteFileAtomically(EntryOf(directory), directory.string() + "\n", 0600);
}

Status CheckRemovable(const RunRecord& record) {
  if (record.outcome == RunOutcome::kRunning) {
    return Error(StatusCode::kFailedPrecondition, "run " + record.name + " has not ended; `attune stop " +
                                                      (record.jobs.empty() ? record.name : record.jobs.front().name) +
                                                      "` ends it");
  }
  return OkStatus();
}

Status RemoveRun(const RunRecord& record) {
  RETURN_IF_ERROR(CheckRemovable(record));
  std::error_code error;
  fs::remove_all(record.directory, error);
  if (error) {
    return Error(StatusCode::kUnavailable,
                 "cannot remove all of " + record.directory + ": " + error.message() + "; remove the rest by hand");
  }
  if (!IndexDirectory().empty()) fs::remove(EntryOf(record.directory), error);
  return OkStatus();
}

std::vector<RunRecord> RunsBeyond(const std::vector<RunRecord>& runs, const fs::path& parent, size_t keep) {
  std::vector<RunRecord> beyond;
  size_t seen = 0;
  for (const RunRecord& run : runs) {
    if (run.outcome == RunOutcome::kRunning || fs::path(run.directory).parent_path() != parent) continue;
    if (++seen > keep) beyond.push_back(run);
  }
  return beyond;
}

}  // namespace attune::cli
