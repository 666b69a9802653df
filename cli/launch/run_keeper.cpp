#include "cli/launch/run_keeper.h"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "base/sha256.h"
#include "cli/runs/run_store.h"
#include "operator/api/manifest/yaml.h"
#include "operator/controller/observe/names.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kLookSeconds = 1, kSaveSeconds = 10;

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// The file is there from now on, and was not before.
Status Claim(const fs::path& file) {
  const FileDescriptor descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (descriptor.valid()) return OkStatus();
  if (errno == EEXIST) {
    return Error(StatusCode::kAlreadyExists,
                 file.parent_path().string() + " was taken by another run; choose another with --run-directory");
  }
  return Error(StatusCode::kUnavailable, "cannot write '" + file.string() + "': " + ErrnoText(errno) +
                                             "; choose another directory with --run-directory");
}

// One document per job, as `---` separates them in a manifest.
std::string Documents(const std::vector<kube::Json>& jobs) {
  std::string text;
  for (const kube::Json& job : jobs) text += (text.empty() ? "" : "---\n") + api::ToYaml(job);
  return text;
}

}  // namespace

RunMachine ThisMachine() {
  RunMachine machine;
  utsname name{};
  if (uname(&name) == 0) {
    machine.host = name.nodename;
    machine.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
  }
  machine.processor = ProcessorName();
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  struct sysinfo info {};
  if (sysinfo(&info) == 0) machine.memory_bytes = static_cast<uint64_t>(info.totalram) * info.mem_unit;
  return machine;
}

StatusOr<std::unique_ptr<RunKeeper>> RunKeeper::Begin(RunRecord record, const std::string& manifest,
                                                      const std::vector<kube::Json>& jobs) {
  const fs::path directory = record.directory;
  record.manifest_digest = Sha256Hex(manifest);
  RETURN_IF_ERROR(Claim(directory / kRunFile));
  for (const kube::Json& job : jobs) {
    RunJob entry;
    entry.name = kube::Name(job);
    entry.name_space = kube::Namespace(job);
    if (!record.seed) record.seed = SeedOf(job);
    record.jobs.push_back(entry);
  }
  RETURN_IF_ERROR(WriteFileAtomically(directory / kRunFile, SaveRecord(record)));
  RETURN_IF_ERROR(WriteFileAtomically(directory / kRunManifest, manifest));
  RETURN_IF_ERROR(WriteFileAtomically(directory / kRunManifestDefaulted, Documents(jobs)));
  RememberRun(directory);
  std::unique_ptr<RunKeeper> keeper(new RunKeeper(std::move(record)));
  for (size_t i = 0; i < jobs.size(); ++i) keeper->kept_[kube::KeyOf(jobs[i])].job = i;
  return keeper;
}

void RunKeeper::Look(kube::Api& api, const JobView& view, double now) {
  const kube::ObjectKey key{view.name_space, view.name};
  const auto at = kept_.find(key);
  if (at == kept_.end() || at->second.ended) return;
  Kept& kept = at->second;
  kept.ended = view.outcome != JobView::Outcome::kNone;
  if (!kept.ended && now - kept.looked_at < kLookSeconds) return;
  kept.looked_at = now;
  RunJob& job = record_.jobs[kept.job];
  UpdateRunJob(view, job);
  ReadState(api, key, kept.state);
  const int64_t threads = kube::IntegerAt(kept.state.job, {"spec", "workers", "threads"});
  if (threads > 0) job.threads = static_cast<int32_t>(std::min<int64_t>(threads, 1'000'000));
  if (!kept.ended && now - kept.saved_at < kSaveSeconds) return;
  kept.saved_at = now;
  [[maybe_unused]] const Status saved = SaveAll(kept);
}

void RunKeeper::SetCheckpoint(kube::Api& api, const kube::ObjectKey& key, const api::CheckpointStatus& checkpoint) {
  const auto at = kept_.find(key);
  if (at == kept_.end()) return;
  RunJob& job = record_.jobs[at->second.job];
  job.checkpoint = checkpoint.directory;
  job.checkpoint_number = checkpoint.number;
  job.checkpoint_step = checkpoint.step;
  ReadState(api, key, at->second.state);
}

// Of a job that is being deleted the last state before that says more.
void RunKeeper::ReadState(kube::Api& api, const kube::ObjectKey& key, RunState& state) {
  auto object = api.Get(kube::kTrainingJobs, key);
  if (!object.ok() || kube::IsBeingDeleted(*object)) return;
  state.job = *std::move(object);
  if (auto pods = GetPods(api, key); pods.ok() && !pods->empty()) state.pods = *std::move(pods);
  if (auto events = api.List(kube::kEvents, {.name_space = key.name_space}); events.ok())
    state.events = std::move(events->items);
  if (auto record = api.Get(kube::kConfigMaps, {key.name_space, controller::TuningRecordName(key.name)}); record.ok())
    state.tuning_record = *std::move(record);
}

Status RunKeeper::SaveAll(const Kept& kept) const {
  const fs::path directory = record_.directory;
  RETURN_IF_ERROR(WriteFileAtomically(directory / kRunFile, SaveRecord(record_)));
  if (!kept.state.job.is_object()) return OkStatus();  // never seen
  return WriteFileAtomically(directory / StateFile(record_.jobs[kept.job].name), SaveState(kept.state));
}

void RunKeeper::Interrupted() {
  record_.interrupted = true;
  [[maybe_unused]] const Status saved =
      WriteFileAtomically(fs::path(record_.directory) / kRunFile, SaveRecord(record_));
}

void RunKeeper::End(RunOutcome outcome, double now) {
  for (RunJob& job : record_.jobs) {
    if (job.outcome == RunOutcome::kRunning) job.outcome = outcome;
  }
  record_.outcome = OutcomeOf(record_.jobs);
  record_.ended = now;
  for (const auto& [key, kept] : kept_) {
    if (const Status saved = SaveAll(kept); !saved.ok()) {
      std::fprintf(stderr, "attune: what is kept of this run is not complete: %s\n",
                   std::string(Message(saved)).c_str());
      return;
    }
  }
}

}  // namespace attune::cli
