#include "operator/local/nodes/pod_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "operator/local/api/rules/identity.h"
#include "operator/local/api/rules/pod_rules.h"
#include "operator/local/nodes/pod_logs.h"
#include "proto/contract.h"

namespace attune::local {
namespace {

using kube::Json;

// The shim could say these two only in a log that, in the second case, is not there.
Status CheckWorkingDirectory(const std::filesystem::path& directory) {
  if (access(directory.c_str(), X_OK) == 0) return OkStatus();
  return Error(StatusCode::kNotFound, "cannot start in workingDir " + directory.string() + ": " + ErrnoText(errno) +
                                          "; make the directory, or name another");
}

Status CheckLog(const std::filesystem::path& file) {
  const FileDescriptor log(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (log.valid()) return OkStatus();
  return Error(StatusCode::kUnavailable, "cannot make the log file " + file.string() + ": " + ErrnoText(errno) +
                                             "; choose another run directory with --run-directory");
}

Status CheckFiles(const ProcessOptions& process) {
  std::error_code error;
  const std::filesystem::path directory = process.log_file.parent_path();
  std::filesystem::create_directories(directory, error);
  if (error) return Error(StatusCode::kUnavailable, "cannot make " + directory.string() + ": " + error.message());
  RETURN_IF_ERROR(CheckWorkingDirectory(process.directory));
  return CheckLog(process.log_file);
}

}  // namespace

PodProcesses::PodProcesses(const PodPlatform& platform, kube::ObjectKey key, size_t containers)
    : platform_(platform), key_(std::move(key)), containers_(containers) {
  std::error_code error;
  std::filesystem::remove_all(platform_.directories.OfPod(key_), error);  // of an earlier pod of the name
  platform_.addresses.SetInUse(key_, true);
}

std::filesystem::path PodProcesses::TerminationLog(const std::string& container) const {
  return platform_.directories.OfPod(key_) / (container + ".termination");
}

StatusOr<Launch> PodProcesses::LaunchOf(const Json& pod, const PodRecord& record, size_t index) const {
  const auto resolve = [this](const kube::ObjectKey& other) { return platform_.addresses.AddressOf(other); };
  LaunchInput input{pod, ContainerAt(pod, index), record.ip, {}, resolve, TerminationLog(record.specs[index].name)};
  if (volumes_) input.volumes = volumes_->directories();
  return MakeLaunch(input);
}

Status PodProcesses::Prepare(const Json& pod, PodRecord& record) {
  if (record.ip.empty()) {
    ASSIGN_OR_RETURN(record.ip, platform_.addresses.AddressOf(key_));
    platform_.addresses.SetInUse(key_, true);
  }
  if (!volumes_) {
    ASSIGN_OR_RETURN(PodVolumes made,
                     PodVolumes::Make(pod, platform_.directories.volumes(), platform_.directories.claims(),
                                      platform_.api, platform_.time.WallNow()));
    volumes_ = std::move(made);
  }
  const std::optional<double> cores = platform_.options.cores.Of(std::string(kube::Label(pod, contract::kLabelRole)),
                                                                 std::string(kube::Label(pod, contract::kLabelIndex)));
  if (!cores || pod_limits_) return OkStatus();
  ASSIGN_OR_RETURN(PodLimits made, PodLimits::Make(*cores, RandomHex(8)));
  pod_limits_ = std::move(made);
  return OkStatus();
}

StatusOr<ProcessOptions> PodProcesses::OptionsOf(const Json& pod, const PodRecord& record, size_t index) const {
  ASSIGN_OR_RETURN(Launch launch, LaunchOf(pod, record, index));
  const NodeAgentOptions& options = platform_.options;
  const std::filesystem::path own = platform_.directories.OfPod(key_);
  ProcessOptions process;
  ASSIGN_OR_RETURN(process.program, ProgramOf(launch, ContainerAt(pod, index), options.program_directories));
  const size_t words = std::min<size_t>(1, launch.command.size());
  process.arguments.assign(launch.command.begin() + static_cast<std::ptrdiff_t>(words), launch.command.end());
  process.arguments.insert(process.arguments.end(), launch.arguments.begin(), launch.arguments.end());
  process.environment = EnvironmentOf(key_.name, launch, options.program_directories, platform_.environment);
  process.directory = launch.directory.empty() ? own : launch.directory;
  process.shim_command = options.shim_command;
  process.container_id = RandomHex(8);
  process.log_file = LogFile(own, record.specs[index].name, record.containers[index].restarts);
  process.log_bytes_max = options.log_bytes_max;
  return process;
}

Status PodProcesses::Start(const Json& pod, PodRecord& record, size_t index) {
  RETURN_IF_ERROR(Prepare(pod, record));
  ASSIGN_OR_RETURN(ProcessOptions process, OptionsOf(pod, record, index));
  Container& container = containers_[index];
  container.termination_log = TerminationLog(record.specs[index].name);
  std::error_code error;
  std::filesystem::remove(container.termination_log, error);  // of the run before
  RETURN_IF_ERROR(CheckFiles(process));
  container.limits = ContainerLimits::Make(record.resources.accepted[index], process.container_id, {},
                                           pod_limits_ ? &*pod_limits_ : nullptr);
  process.cgroup_files = container.limits.files();
  StatusOr<Process> started = Process::Start(process);
  if (!started.ok()) return started.status();
  container.process.emplace(std::move(*started));
  return OkStatus();
}

void PodProcesses::Terminate(size_t index) {
  if (containers_[index].process) containers_[index].process->Terminate();
}

void PodProcesses::Kill(size_t index) {
  if (containers_[index].process) containers_[index].process->Kill();
}

std::optional<PodProcesses::Exit> PodProcesses::TakeExit(size_t index) {
  constexpr uint64_t kMessageBytesMax = 4096;
  Container& container = containers_[index];
  Exit exit;
  if (!container.process || !container.process->Poll(exit.code)) return std::nullopt;
  exit.out_of_memory = container.limits.RanOutOfMemory();
  container.process.reset();
  container.limits.Remove();
  exit.message = ReadLogTail(container.termination_log, std::nullopt, kMessageBytesMax).value_or("");
  return exit;
}

void PodProcesses::AddDescriptors(std::vector<int>& descriptors) const {
  for (const Container& container : containers_) {
    if (container.process) descriptors.push_back(container.process->descriptor());
  }
}

// Without a limit nothing is to be written: requests are not enforced here.
Status PodProcesses::Limit(size_t index, std::string_view name, const Json& resources) {
  ContainerLimits& limits = containers_[index].limits;
  if (name == "memory") {
    const double bytes = ResourceAmount(resources, "limits", "memory");
    return bytes > 0 ? limits.LimitMemory(bytes) : OkStatus();
  }
  const double cores = ResourceAmount(resources, "limits", "cpu");
  return cores > 0 ? limits.LimitCpu(cores) : OkStatus();
}

void PodProcesses::CarryOut(const ResizeStep& step, PodRecord& record) {
  for (const char* name : {"memory", "cpu"}) {
    if (!(std::string_view(name) == "memory" ? step.memory : step.cpu)) continue;
    const Status limited = Limit(step.container, name, record.resources.accepted[step.container]);
    if (limited.ok()) {
      OnResized(record.resources, step.container, name);
    } else {
      OnResizeFailed(record.resources, record.specs[step.container].name, std::string(Message(limited)),
                     platform_.time.WallNow());
    }
  }
}

bool PodProcesses::Resize(const Json& pod, PodRecord& record, const std::function<NodeRoom()>& room) {
  ResizeInput input{pod, record.specs, {}, {}, {}};
  for (const Container& container : containers_) input.running.push_back(container.process.has_value());
  if (!ResizeWanted(input, record.resources)) return false;
  for (const Container& container : containers_) input.memory_used.push_back(container.limits.MemoryInUse());
  input.room = room();
  for (const ResizeStep& step : PlanResize(input, record.resources, platform_.time.WallNow())) CarryOut(step, record);
  SettleResize(input, record.resources);
  return true;
}

bool PodProcesses::PrepareExec(const Json& pod, const PodRecord& record, size_t index, ProbeRequest& request) const {
  const StatusOr<Launch> launch = LaunchOf(pod, record, index);
  if (!launch.ok() || request.probe.command.empty()) return false;
  const std::vector<std::filesystem::path>& directories = platform_.options.program_directories;
  const StatusOr<std::filesystem::path> program =
      FindProgram(request.probe.command.front(), directories, SearchPath(), ProgramBase(*launch));
  if (!program.ok()) return false;
  request.command = request.probe.command;
  request.command.front() = program->string();
  request.environment = EnvironmentOf(key_.name, *launch, directories, platform_.environment);
  return true;
}

Status PodProcesses::RenewTokens() {
  return volumes_ ? volumes_->RenewTokens(platform_.api, platform_.time.WallNow()) : OkStatus();
}

void PodProcesses::Release() {
  if (pod_limits_) pod_limits_->Remove();
  pod_limits_.reset();
  if (volumes_) volumes_->Remove();
  volumes_.reset();
  platform_.addresses.SetInUse(key_, false);
}

}  // namespace attune::local
