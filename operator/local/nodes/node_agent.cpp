#include "operator/local/nodes/node_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "operator/local/api/memory_api_internal.h"
#include "operator/local/containers/container_launch.h"
#include "operator/local/containers/container_program.h"
#include "operator/local/containers/private_directory.h"
#include "operator/local/containers/process.h"
#include "operator/local/containers/resource_limits.h"
#include "operator/local/containers/temporary_directory.h"
#include "operator/local/nodes/addresses.h"
#include "operator/local/nodes/container_log.h"
#include "operator/local/nodes/node_objects.h"
#include "operator/local/nodes/pod_logs.h"
#include "operator/local/nodes/pod_plan.h"
#include "operator/local/nodes/pod_volumes.h"
#include "operator/local/nodes/prober.h"
#include "proto/contract.h"

namespace attune::local {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::WatchSignal;

constexpr std::chrono::milliseconds kLookMax{500};  // longest time between two looks at everything
constexpr size_t kVolumesPathBytesMax =
    50;  // beyond it volumes move to the temporary directory: socket paths are short
constexpr std::chrono::milliseconds kStopLook{20};

struct PodState {
  Json object;
  PodRecord record;
  PodVolumes volumes;
  bool volumes_made = false;
  std::vector<std::optional<Process>> processes;  // as record.containers
  std::optional<PodLimits> pod_limits;
  std::vector<ContainerLimits> limits;  // as record.containers
  std::vector<MonotonicTime> next_probe;
  std::vector<bool> probing;
  Json written_status;
  bool finished = false;
};

class Agent final : public NodeAgent {
 public:
  Agent(NodeAgentOptions options, MemoryApi& api, const TimeSource& time, std::unique_ptr<AddressBook> addresses)
      : options_(std::move(options)),
        api_(api),
        time_(time),
        addresses_(std::move(addresses)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  Status Begin() {
    RETURN_IF_ERROR(PrepareDirectories());
    RETURN_IF_ERROR(RegisterNode(api_, options_.node_name));
    api_.SetLogSource(
        [this](const Json& pod, const kube::LogOptions& log, const auto& on_text, const kube::CallOptions& call) {
          return ReadContainerLog(
              api_, PodDirectory(options_.run_directory, kube::KeyOf(pod)), pod, log, on_text,
              time_.Now() + call.timeout, [this] { return stopping_.load(); }, time_);
        });
    RETURN_IF_ERROR(StartWatch(""));
    prober_ = std::make_unique<Prober>();
    thread_ = std::thread([this] { Loop(); });
    return OkStatus();
  }

  ~Agent() override {
    Stop(std::chrono::seconds(2));
    api_.SetLogSource({});
  }

  void Stop(Duration grace) override {
    if (!thread_.joinable()) return;
    stop_deadline_ = time_.Now() + grace;
    stopping_ = true;
    Wake();
    thread_.join();
    watch_.reset();
    prober_.reset();
  }

 private:
  // --- input from other threads ---

  void Wake() {
    const uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof one) < 0) return;  // full means awake already
  }

  void Post(std::function<void()> input) {
    {
      const MutexLock lock(inputs_mutex_);
      inputs_.push_back(std::move(input));
    }
    Wake();
  }

  // --- start ---

  Status PrepareDirectories() {
    std::error_code error;
    options_.run_directory = std::filesystem::absolute(options_.run_directory, error);
    for (const char* name : {"pods", "volumes"}) {
      RETURN_IF_ERROR(MakePrivateDirectory(options_.run_directory / name));
    }
    std::filesystem::create_directories(options_.run_directory / "claims", error);
    if (error) {
      return Error(StatusCode::kUnavailable,
                   "cannot make " + (options_.run_directory / "claims").string() + ": " + error.message());
    }
    RETURN_IF_ERROR(ProveSpace());
    RemoveStaleTemporaryDirectories(SystemTemporaryDirectory());
    volumes_root_ = options_.run_directory / "volumes";
    if (volumes_root_.string().size() <= kVolumesPathBytesMax) return OkStatus();
    auto made = TemporaryDirectory::Make(SystemTemporaryDirectory());
    if (!made.ok()) return Annotate(made.status(), "the run directory's path is too long for sockets");
    temporary_ = *std::move(made);
    volumes_root_ = temporary_->path();
    return OkStatus();
  }

  // Better now than in a reason that each pod gives some seconds later.
  Status ProveSpace() const {
    constexpr size_t kBytes = 256 << 10;  // tokens, the first lines of logs
    const std::filesystem::path file = options_.run_directory / "volumes" / "space";
    const Status written = WriteFileAtomically(file, std::string(kBytes, ' '));
    std::error_code error;
    std::filesystem::remove(file, error);
    if (written.ok()) return written;
    return Error(written.code(), "the run directory cannot be written: " + std::string(Message(written)) +
                                     "; free some space, or choose another with --run-directory");
  }

  Status StartWatch(const std::string& version) {
    auto watch = api_.StartWatch(kube::kPods, {.resource_version = version}, [this](WatchSignal signal) {
      Post([this, signal = std::move(signal)] { OnSignal(signal); });
    });
    if (!watch.ok()) return watch.status();
    watch_ = std::move(watch).value();
    return OkStatus();
  }

  // --- the agent's thread ---

  void Loop() {
    bool stop_asked = false;
    while (true) {
      RunInputs();
      if (stopping_ && !std::exchange(stop_asked, true)) BeginStop();
      MonotonicTime next = time_.Now() + (stop_asked ? kStopLook : kLookMax);
      for (auto at = pods_.begin(); at != pods_.end();) {
        next = std::min(next, Advance(at->first, *at->second));
        at = at->second->record.force && at->second->finished ? Forget(at) : std::next(at);
      }
      if (stop_asked && std::all_of(pods_.begin(), pods_.end(), [](const auto& pod) { return pod.second->finished; }))
        break;
      WaitUntil(next);
    }
    for (auto& [key, pod] : pods_) pod->volumes.Remove();
    pods_.clear();
  }

  void RunInputs() {
    std::deque<std::function<void()>> inputs;
    {
      const MutexLock lock(inputs_mutex_);
      inputs.swap(inputs_);
    }
    for (const auto& input : inputs) input();
  }

  void WaitUntil(MonotonicTime next) {
    std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
    for (const auto& [key, pod] : pods_) {
      for (const auto& process : pod->processes) {
        if (process.has_value()) waits.push_back({process->descriptor(), POLLIN, 0});
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - time_.Now()).count();
    poll(waits.data(), waits.size(),
         static_cast<int>(std::clamp<int64_t>(left, 0, std::chrono::milliseconds(kLookMax).count())));
    uint64_t count = 0;
    if (read(wake_.get(), &count, sizeof count) < 0) return;  // another descriptor woke us
  }

  void BeginStop() {
    for (auto& [key, pod] : pods_) {
      pod->record.deleting = true;
      pod->record.delete_deadline = std::min(pod->record.delete_deadline, stop_deadline_);
      pod->record.end_by = stop_deadline_;
    }
  }

  void OnSignal(const WatchSignal& signal) {
    switch (signal.kind) {
      case WatchSignal::Kind::kAdded:
      case WatchSignal::Kind::kModified:
        return OnPod(signal.object);
      case WatchSignal::Kind::kDeleted:
        return OnPodGone(signal.object);
      case WatchSignal::Kind::kBookmark:
        last_version_ = kube::ResourceVersion(signal.object);
        return;
      case WatchSignal::Kind::kEnded:
        (void)StartWatch(last_version_);
        return;
      case WatchSignal::Kind::kError:
      case WatchSignal::Kind::kBroken:
        return Relist();
    }
  }

  // After a gap in the watch: what is no longer listed is gone.
  void Relist() {
    const StatusOr<kube::ListResult> list = api_.List(kube::kPods, {});
    if (!list.ok()) return;
    std::map<std::string, const Json*, std::less<>> present;
    for (const Json& pod : list->items) present[std::string(kube::Uid(pod))] = &pod;
    for (auto& [key, pod] : pods_) {
      if (!present.contains(kube::Uid(pod->object))) pod->record.force = true;
    }
    for (const Json& pod : list->items) OnPod(pod);
    last_version_ = list->resource_version;
    (void)StartWatch(last_version_);
  }

  void OnPod(const Json& object) {
    last_version_ = kube::ResourceVersion(object);
    const ObjectKey key = kube::KeyOf(object);
    auto found = pods_.find(key);
    if (found != pods_.end() && kube::Uid(found->second->object) != kube::Uid(object)) {
      // Another pod of the same name before we heard of the end of the first; its processes end with its state.
      Forget(found);
      found = pods_.end();
    }
    if (found == pods_.end()) {
      const std::string_view phase = kube::StringAt(object, {"status", "phase"});
      if (stopping_ || phase == "Succeeded" || phase == "Failed") return;
      if (!kube::At(object, {"spec", "schedulingGates"}).empty() || kube::IsBeingDeleted(object)) return;
      Adopt(key, object);
      return;
    }
    PodState& pod = *found->second;
    pod.object = object;
    if (kube::IsBeingDeleted(object)) {
      const auto grace = std::chrono::seconds(kube::IntegerAt(object, {"metadata", "deletionGracePeriodSeconds"}));
      pod.record.delete_deadline =
          std::min(pod.record.delete_deadline, pod.record.deleting ? pod.record.delete_deadline : time_.Now() + grace);
      if (pod.record.deleting) pod.record.delete_deadline = std::min(pod.record.delete_deadline, time_.Now() + grace);
      pod.record.deleting = true;
    }
  }

  void OnPodGone(const Json& object) {
    last_version_ = kube::ResourceVersion(object);
    const auto found = pods_.find(kube::KeyOf(object));
    if (found != pods_.end() && kube::Uid(found->second->object) == kube::Uid(object))
      found->second->record.force = true;
  }

  void Adopt(const ObjectKey& key, const Json& object) {
    if (const std::string_view node = kube::StringAt(object, {"spec", "nodeName"}); node.empty()) {
      if (!api_.Bind(key, options_.node_name).ok()) return;  // changed meanwhile: the watch brings it again
    } else if (node != options_.node_name) {
      return;
    }
    auto pod = std::make_unique<PodState>();
    pod->object = api_.Get(kube::kPods, key).value_or(object);
    pod->record.specs = ContainersOf(object);
    const size_t count = pod->record.specs.size();
    pod->record.containers.resize(count);
    pod->record.start_time = time_.WallNow();
    pod->processes.resize(count);
    pod->limits.resize(count);
    pod->next_probe.resize(count);
    pod->probing.resize(count);
    std::error_code error;
    std::filesystem::remove_all(PodDirectory(options_.run_directory, key), error);
    const StatusOr<std::string> ip = addresses_->AddressOf(key);
    if (ip.ok()) pod->record.ip = *ip;
    addresses_->SetInUse(key, true);
    pods_[key] = std::move(pod);
  }

  using PodMap = std::map<ObjectKey, std::unique_ptr<PodState>>;
  PodMap::iterator Forget(PodMap::iterator at) {
    addresses_->SetInUse(at->first, false);
    at->second->volumes.Remove();
    RemoveLimit(*at->second);
    return pods_.erase(at);
  }

  // Brings one pod as far as it can get now; returns when to look again.
  MonotonicTime Advance(const ObjectKey& key, PodState& pod) {
    const MonotonicTime now = time_.Now();
    CollectExits(key, pod);
    if (pod.volumes_made) {
      if (const Status renewed = pod.volumes.RenewTokens(api_, time_.WallNow());
          !renewed.ok() && !pod.record.deleting && !pod.record.force) {
        log::Warn("cannot renew a pod's token", {{"pod", key.ToString()}, {"status", renewed}});
      }
    }
    const PodPlan plan = PlanPod(pod.record, now);
    for (const ContainerAction& action : plan.actions) Execute(key, pod, action);
    SubmitProbes(key, pod, now);
    WriteStatus(key, pod);
    if (plan.finished && plan.actions.empty() && !pod.finished) Finish(key, pod);
    if (pod.finished && pod.record.deleting && !pod.record.force) FinishDeletion(key, pod);
    return plan.actions.empty() ? plan.next_look : now;
  }

  std::filesystem::path TerminationLog(const ObjectKey& key, const PodState& pod, size_t index) const {
    return PodDirectory(options_.run_directory, key) / (pod.record.specs[index].name + ".termination");
  }

  // What a container that has ended left there: of a long message its end, as in Kubernetes.
  std::string MessageOf(const ObjectKey& key, const PodState& pod, size_t index) const {
    constexpr uint64_t kBytesMax = 4096;
    const StatusOr<std::string> message = ReadLogTail(TerminationLog(key, pod, index), std::nullopt, kBytesMax);
    return message.ok() ? *message : "";
  }

  void CollectExits(const ObjectKey& key, PodState& pod) {
    for (size_t i = 0; i < pod.processes.size(); ++i) {
      int exit_code = 0;
      if (!pod.processes[i].has_value() || !pod.processes[i]->Poll(exit_code)) continue;
      const bool out_of_memory = pod.limits[i].RanOutOfMemory();
      pod.processes[i].reset();
      pod.limits[i].Remove();
      OnExit(pod.record, i, exit_code, time_.Now(), time_.WallNow());
      if (pod.record.containers[i].last.has_value()) pod.record.containers[i].last->message = MessageOf(key, pod, i);
      if (out_of_memory && pod.record.containers[i].last.has_value())
        pod.record.containers[i].last->reason = "OOMKilled";
    }
  }

  void Execute(const ObjectKey& key, PodState& pod, const ContainerAction& action) {
    ContainerRecord& record = pod.record.containers[action.container];
    std::optional<Process>& process = pod.processes[action.container];
    switch (action.kind) {
      case ContainerAction::Kind::kStart: {
        const Status started = StartContainer(key, pod, action.container);
        if (started.ok()) {
          OnStarted(pod.record, action.container, time_.Now(), time_.WallNow());
          pod.next_probe[action.container] = time_.Now() + ProbeDelay(pod.record.specs[action.container]);
        } else {
          OnStartFailed(pod.record, action.container, started, time_.Now(), time_.WallNow());
          if (record.failed_starts == 1)
            RecordPodWarning(api_, pod.object, options_.node_name, "Failed", std::string(Message(started)),
                             time_.WallNow());
        }
        return;
      }
      case ContainerAction::Kind::kTerminate:
        record.term_sent = true;
        record.term_sent_at = time_.Now();
        if (process.has_value()) process->Terminate();
        return;
      case ContainerAction::Kind::kKill:
        record.kill_sent = true;
        if (process.has_value()) process->Kill();
        return;
    }
  }

  static Duration ProbeDelay(const ContainerSpec& spec) {
    return std::chrono::seconds(spec.readiness.has_value() ? spec.readiness->initial_delay_seconds : 0);
  }

  const Json& ContainerJson(const PodState& pod, size_t index) const {
    const size_t inits = kube::At(pod.object, {"spec", "initContainers"}).size();
    return index < inits ? kube::At(pod.object, {"spec", "initContainers"})[index]
                         : kube::At(pod.object, {"spec", "containers"})[index - inits];
  }

  StatusOr<Launch> LaunchOf(const ObjectKey& key, PodState& pod, size_t index) {
    const auto resolve = [this](const ObjectKey& other) { return addresses_->AddressOf(other); };
    return MakeLaunch({pod.object, ContainerJson(pod, index), pod.record.ip, pod.volumes.directories(), resolve,
                       TerminationLog(key, pod, index)});
  }

  Status LimitPod(PodState& pod) {
    const std::optional<double> cores = options_.cores.Of(std::string(kube::Label(pod.object, contract::kLabelRole)),
                                                          std::string(kube::Label(pod.object, contract::kLabelIndex)));
    if (!cores || pod.pod_limits) return OkStatus();
    ASSIGN_OR_RETURN(PodLimits made, PodLimits::Make(*cores, RandomHex(8)));
    pod.pod_limits = std::move(made);
    return OkStatus();
  }

  // The shim could say these two only in a log that, in the second case, is not there.
  static Status CheckWorkingDirectory(const std::filesystem::path& directory) {
    if (access(directory.c_str(), X_OK) == 0) return OkStatus();
    return Error(StatusCode::kNotFound, "cannot start in workingDir " + directory.string() + ": " + ErrnoText(errno) +
                                            "; make the directory, or name another");
  }

  static Status CheckLog(const std::filesystem::path& file) {
    const FileDescriptor log(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (log.valid()) return OkStatus();
    return Error(StatusCode::kUnavailable, "cannot make the log file " + file.string() + ": " + ErrnoText(errno) +
                                               "; choose another run directory with --run-directory");
  }

  static void RemoveLimit(PodState& pod) {
    if (pod.pod_limits) pod.pod_limits->Remove();
    pod.pod_limits.reset();
  }

  Status StartContainer(const ObjectKey& key, PodState& pod, size_t index) {
    if (pod.record.ip.empty()) {
      ASSIGN_OR_RETURN(pod.record.ip, addresses_->AddressOf(key));
      addresses_->SetInUse(key, true);
    }
    if (!pod.volumes_made) {
      ASSIGN_OR_RETURN(pod.volumes, PodVolumes::Make(pod.object, volumes_root_, options_.run_directory / "claims", api_,
                                                     time_.WallNow()));
      pod.volumes_made = true;
    }
    RETURN_IF_ERROR(LimitPod(pod));
    ASSIGN_OR_RETURN(Launch launch, LaunchOf(key, pod, index));
    ProcessOptions process;
    ASSIGN_OR_RETURN(process.program, ProgramOf(launch, ContainerJson(pod, index), options_.program_directories));
    const size_t words = std::min<size_t>(1, launch.command.size());
    process.arguments.assign(launch.command.begin() + static_cast<std::ptrdiff_t>(words), launch.command.end());
    process.arguments.insert(process.arguments.end(), launch.arguments.begin(), launch.arguments.end());
    process.environment = EnvironmentOf(key.name, launch, options_.program_directories, environment_);
    process.directory = launch.directory.empty() ? PodDirectory(options_.run_directory, key) : launch.directory;
    process.shim_command = options_.shim_command;
    process.container_id = RandomHex(8);
    const std::string& name = pod.record.specs[index].name;
    process.log_file = LogFile(PodDirectory(options_.run_directory, key), name, pod.record.containers[index].restarts);
    process.log_bytes_max = options_.log_bytes_max;
    std::error_code error;
    std::filesystem::create_directories(process.log_file.parent_path(), error);
    if (error)
      return Error(StatusCode::kUnavailable,
                   "cannot make " + process.log_file.parent_path().string() + ": " + error.message());
    std::filesystem::remove(TerminationLog(key, pod, index), error);  // of the run before
    RETURN_IF_ERROR(CheckWorkingDirectory(process.directory));
    RETURN_IF_ERROR(CheckLog(process.log_file));
    pod.limits[index] = ContainerLimits::Make(kube::At(ContainerJson(pod, index), {"resources", "limits"}),
                                              process.container_id, {}, pod.pod_limits ? &*pod.pod_limits : nullptr);
    process.cgroup_files = pod.limits[index].files();
    StatusOr<Process> started = Process::Start(process);
    if (!started.ok()) return started.status();
    pod.processes[index].emplace(std::move(*started));
    return OkStatus();
  }

  void SubmitProbes(const ObjectKey& key, PodState& pod, MonotonicTime now) {
    for (size_t i = 0; i < pod.record.specs.size(); ++i) {
      const std::optional<Probe>& probe = pod.record.specs[i].readiness;
      if (!probe.has_value() || pod.record.containers[i].state != ContainerRecord::State::kRunning) continue;
      if (pod.probing[i] || now < pod.next_probe[i]) continue;
      // Until it is ready for the first time a container is looked at more often than a busy one needs.
      const Duration period = pod.record.containers[i].probe_ok ? Duration(std::chrono::seconds(probe->period_seconds))
                                                                : Duration(std::chrono::milliseconds(100));
      pod.next_probe[i] = now + period;
      ProbeRequest request{*probe, pod.record.ip, {}, {}, {}};
      if (probe->kind == Probe::Kind::kExec && !PrepareExec(key, pod, i, request)) continue;
      const int run = pod.record.containers[i].restarts;
      request.on_result = [this, key, i, run, uid = std::string(kube::Uid(pod.object))](bool success) {
        Post([this, key, i, run, uid, success] { OnProbeResult(key, uid, i, run, success); });
      };
      pod.probing[i] = prober_->Submit(std::move(request));
    }
  }

  bool PrepareExec(const ObjectKey& key, PodState& pod, size_t index, ProbeRequest& request) {
    const StatusOr<Launch> launch = LaunchOf(key, pod, index);
    if (!launch.ok() || request.probe.command.empty()) return false;
    const StatusOr<std::filesystem::path> program =
        FindProgram(request.probe.command.front(), options_.program_directories, SearchPath(), ProgramBase(*launch));
    if (!program.ok()) return false;
    request.command = request.probe.command;
    request.command.front() = program->string();
    request.environment = EnvironmentOf(key.name, *launch, options_.program_directories, environment_);
    return true;
  }

  void OnProbeResult(const ObjectKey& key, const std::string& uid, size_t container, int run, bool success) {
    const auto found = pods_.find(key);
    if (found == pods_.end() || kube::Uid(found->second->object) != uid) return;
    found->second->probing[container] = false;
    if (found->second->record.containers[container].restarts == run) OnProbe(found->second->record, container, success);
  }

  void WriteStatus(const ObjectKey& key, PodState& pod) {
    if (pod.record.force) return;
    Json status = StatusOf(pod.record, pod.object, time_.WallNow());
    if (status == pod.written_status) return;
    const Json object{{"metadata", {{"name", key.name}, {"namespace", key.name_space}, {"uid", kube::Uid(pod.object)}}},
                      {"status", status}};
    const StatusOr<Json> written = api_.Update(kube::kPods, object, "status");
    if (!written.ok()) return;  // gone or replaced: the watch says so
    pod.object["status"] = status;
    pod.written_status = std::move(status);
  }

  void Finish(const ObjectKey& key, PodState& pod) {
    pod.finished = true;
    RemoveLimit(pod);
    pod.volumes.Remove();
    pod.volumes_made = false;
    addresses_->SetInUse(key, false);
  }

  // The node's word that nothing of the pod runs any more: the object goes when its finalizers allow.
  void FinishDeletion(const ObjectKey& key, PodState& pod) {
    if (!kube::IsBeingDeleted(pod.object)) return;  // the agent itself is stopping
    if (kube::IntegerAt(pod.object, {"metadata", "deletionGracePeriodSeconds"}) == 0 &&
        deletions_finished_.contains(std::string(kube::Uid(pod.object))))
      return;
    if (deletions_finished_.size() > 10000) deletions_finished_.clear();
    deletions_finished_.insert(std::string(kube::Uid(pod.object)));
    (void)api_.Delete(
        kube::kPods, key,
        {.uid = std::string(kube::Uid(pod.object)), .grace_period_seconds = 0});  // gone already is as good
  }

  // Constant once started.
  NodeAgentOptions options_;
  MemoryApi& api_;
  const TimeSource& time_;
  const std::unique_ptr<AddressBook> addresses_;
  std::filesystem::path volumes_root_;
  std::unique_ptr<TemporaryDirectory> temporary_;  // where the run directory's path is too long for sockets
  const FileDescriptor wake_;
  const Variables environment_ = ThisEnvironment();
  std::unique_ptr<Prober> prober_;

  Mutex inputs_mutex_;
  std::deque<std::function<void()>> inputs_ ABSL_GUARDED_BY(inputs_mutex_);  // of a pod one or two per change and probe

  std::atomic<bool> stopping_ = false;
  MonotonicTime stop_deadline_{};  // set before stopping_

  // The agent's thread only.
  PodMap pods_;
  std::string last_version_;
  std::set<std::string> deletions_finished_;  // uids whose final delete was sent
  std::unique_ptr<kube::Watch> watch_;

  std::thread thread_;
};

}  // namespace

std::filesystem::path PodDirectory(const std::filesystem::path& run_directory, const ObjectKey& pod) {
  return run_directory / "pods" / pod.name_space / pod.name;
}

StatusOr<std::unique_ptr<NodeAgent>> NodeAgent::Start(const NodeAgentOptions& options, MemoryApi& api,
                                                      const TimeSource& time) {
  NodeAgentOptions complete = options;
  if (complete.shim_command.empty())
    return Error(StatusCode::kInvalidArgument,
                 "the node agent needs a shim command, for example {\"/proc/self/exe\", \"pod-shim\"}");
  if (complete.node_name.empty()) complete.node_name = DefaultNodeName();
  ASSIGN_OR_RETURN(std::unique_ptr<AddressBook> addresses, AddressBook::Open());
  auto agent = std::make_unique<Agent>(std::move(complete), api, time, std::move(addresses));
  RETURN_IF_ERROR(agent->Begin());
  return agent;
}

}  // namespace attune::local
