#include "operator/local/nodes/node_agent.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "base/log.h"
#include "operator/kube/watch/reflector.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/local/nodes/addresses.h"
#include "operator/local/nodes/agent_inputs.h"
#include "operator/local/nodes/container_log.h"
#include "operator/local/nodes/node_objects.h"
#include "operator/local/nodes/pod_processes.h"
#include "operator/local/nodes/prober.h"
#include "operator/local/nodes/run_directories.h"
#include "operator/local/pods/pod_plan.h"
#include "operator/local/pods/pod_status.h"

namespace attune::local {
namespace {

using kube::Json;
using kube::ObjectKey;

constexpr std::chrono::milliseconds kLookMax{500};  // longest time between two looks at everything
constexpr std::chrono::milliseconds kStopLook{20};
constexpr std::chrono::seconds kResizeRetry{1};  // of one that was refused, or for which there was no room

struct PodState {
  Json object;
  PodRecord record;
  std::unique_ptr<PodProcesses> processes;
  std::vector<MonotonicTime> next_probe;  // as record.containers
  std::vector<bool> probing;
  MonotonicTime next_resize{};  // of the spec below; another one is looked at at once
  int64_t resized_generation = 0;
  Json written_status;
  bool finished = false;
  bool final_delete_sent = false;
};

class Agent final : public NodeAgent {
 public:
  Agent(NodeAgentOptions options, MemoryApi& api, const TimeSource& time, std::unique_ptr<AddressBook> addresses,
        RunDirectories directories)
      : options_(std::move(options)),
        api_(api),
        time_(time),
        addresses_(std::move(addresses)),
        directories_(std::move(directories)) {}

  Status Begin() {
    RETURN_IF_ERROR(RegisterNode(api_, options_.node_name));
    api_.SetLogSource(
        [this](const Json& pod, const kube::LogOptions& log, const auto& on_text, const kube::CallOptions& call) {
          return ReadContainerLog(
              api_, directories_.OfPod(kube::KeyOf(pod)), pod, log, on_text, time_.Now() + call.timeout,
              [this] { return stopping_.load(); }, time_);
        });
    reflector_ = std::make_unique<kube::Reflector>(api_, kube::kPods, kube::ReflectorOptions{}, cache_, time_);
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
    inputs_.Wake();
    thread_.join();
    reflector_.reset();
    prober_.reset();
  }

 private:
  void Loop() {
    bool stop_asked = false;
    while (true) {
      inputs_.Run();
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
    for (auto& [key, pod] : pods_) pod->processes->Release();
    pods_.clear();
  }

  void WaitUntil(MonotonicTime next) {
    std::vector<int> descriptors;
    for (const auto& [key, pod] : pods_) pod->processes->AddDescriptors(descriptors);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - time_.Now());
    inputs_.Sleep(descriptors, std::clamp(left, std::chrono::milliseconds(0), kLookMax));
  }

  void BeginStop() {
    for (auto& [key, pod] : pods_) {
      pod->record.deleting = true;
      pod->record.delete_deadline = std::min(pod->record.delete_deadline, stop_deadline_);
      pod->record.end_by = stop_deadline_;
    }
  }

  void OnChange(const kube::CacheChange& change) {
    if (change.after != nullptr) return OnPod(*change.after);
    OnPodGone(*change.before);
  }

  void OnPod(const Json& object) {
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
    pod->record.resources = ResourcesOf(pod->object, count);
    pod->record.start_time = time_.WallNow();
    pod->next_probe.resize(count);
    pod->probing.resize(count);
    const StatusOr<std::string> ip = addresses_->AddressOf(key);
    if (ip.ok()) pod->record.ip = *ip;
    pod->processes = std::make_unique<PodProcesses>(platform_, key, count);
    pods_[key] = std::move(pod);
  }

  using PodMap = std::map<ObjectKey, std::unique_ptr<PodState>>;
  PodMap::iterator Forget(PodMap::iterator at) {
    at->second->processes->Release();
    return pods_.erase(at);
  }

  // Brings one pod as far as it can get now; returns when to look again.
  MonotonicTime Advance(const ObjectKey& key, PodState& pod) {
    const MonotonicTime now = time_.Now();
    CollectExits(pod);
    if (const Status renewed = pod.processes->RenewTokens();
        !renewed.ok() && !pod.record.deleting && !pod.record.force) {
      log::Warn("cannot renew a pod's token", {{"pod", key.ToString()}, {"status", renewed}});
    }
    const PodPlan plan = PlanPod(pod.record, now);
    for (const ContainerAction& action : plan.actions) Execute(pod, action);
    Resize(key, pod, now);
    SubmitProbes(key, pod, now);
    WriteStatus(key, pod);
    if (plan.finished && plan.actions.empty() && !pod.finished) Finish(pod);
    if (pod.finished && pod.record.deleting && !pod.record.force) FinishDeletion(key, pod);
    return plan.actions.empty() ? plan.next_look : now;
  }

  void CollectExits(PodState& pod) {
    for (size_t i = 0; i < pod.record.containers.size(); ++i) {
      const std::optional<PodProcesses::Exit> exit = pod.processes->TakeExit(i);
      if (!exit) continue;
      OnExit(pod.record, i, exit->code, time_.Now(), time_.WallNow());
      OnContainerChange(pod.record.resources, i);
      std::optional<Termination>& last = pod.record.containers[i].last;
      if (!last) continue;
      last->message = exit->message;
      if (exit->out_of_memory) last->reason = "OOMKilled";
    }
  }

  void Execute(PodState& pod, const ContainerAction& action) {
    ContainerRecord& record = pod.record.containers[action.container];
    switch (action.kind) {
      case ContainerAction::Kind::kStart:
        return StartContainer(pod, action.container);
      case ContainerAction::Kind::kTerminate:
        record.term_sent = true;
        record.term_sent_at = time_.Now();
        return pod.processes->Terminate(action.container);
      case ContainerAction::Kind::kKill:
        record.kill_sent = true;
        return pod.processes->Kill(action.container);
    }
  }

  void StartContainer(PodState& pod, size_t index) {
    const Status started = pod.processes->Start(pod.object, pod.record, index);
    if (started.ok()) {
      OnStarted(pod.record, index, time_.Now(), time_.WallNow());
      OnContainerChange(pod.record.resources, index);
      pod.next_probe[index] = time_.Now() + ProbeDelay(pod.record.specs[index]);
      return;
    }
    OnStartFailed(pod.record, index, started, time_.Now(), time_.WallNow());
    if (pod.record.containers[index].failed_starts == 1)
      RecordPodWarning(api_, pod.object, options_.node_name, "Failed", std::string(Message(started)), time_.WallNow());
  }

  // What pods may ask for here, and what all but this one were accepted with.
  NodeRoom RoomBeside(const ObjectKey& key) const {
    NodeRoom room{static_cast<double>(capacity_.cores), static_cast<double>(capacity_.memory_bytes), 0, 0};
    for (const auto& [other, pod] : pods_) {
      if (other == key || pod->finished) continue;
      room.cores_of_others += PodRequest(pod->record.specs, pod->record.resources.accepted, "cpu");
      room.memory_of_others += PodRequest(pod->record.specs, pod->record.resources.accepted, "memory");
    }
    return room;
  }

  // A pod that is being deleted keeps what it has.
  void Resize(const ObjectKey& key, PodState& pod, MonotonicTime now) {
    if (pod.record.deleting || pod.record.force || pod.finished) return;
    const int64_t generation = kube::Generation(pod.object);
    if (generation == pod.resized_generation && now < pod.next_resize) return;
    if (!pod.processes->Resize(pod.object, pod.record, [&] { return RoomBeside(key); })) return;
    pod.resized_generation = generation;
    pod.next_resize = now + kResizeRetry;
  }

  static Duration ProbeDelay(const ContainerSpec& spec) {
    return std::chrono::seconds(spec.readiness.has_value() ? spec.readiness->initial_delay_seconds : 0);
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
      if (probe->kind == Probe::Kind::kExec && !pod.processes->PrepareExec(pod.object, pod.record, i, request))
        continue;
      const int run = pod.record.containers[i].restarts;
      request.on_result = [this, key, i, run, uid = std::string(kube::Uid(pod.object))](bool success) {
        inputs_.Post([this, key, i, run, uid, success] { OnProbeResult(key, uid, i, run, success); });
      };
      pod.probing[i] = prober_->Submit(std::move(request));
    }
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

  static void Finish(PodState& pod) {
    pod.finished = true;
    pod.processes->Release();
  }

  // The node's word that nothing of the pod runs any more: the object goes when its finalizers allow.
  void FinishDeletion(const ObjectKey& key, PodState& pod) {
    if (!kube::IsBeingDeleted(pod.object)) return;  // the agent itself is stopping
    const bool is_marked = kube::IntegerAt(pod.object, {"metadata", "deletionGracePeriodSeconds"}) == 0;
    if (std::exchange(pod.final_delete_sent, true) && is_marked) return;
    (void)api_.Delete(
        kube::kPods, key,
        {.uid = std::string(kube::Uid(pod.object)), .grace_period_seconds = 0});  // gone already is as good
  }

  // Constant once started.
  NodeAgentOptions options_;
  MemoryApi& api_;
  const TimeSource& time_;
  const std::unique_ptr<AddressBook> addresses_;
  const RunDirectories directories_;
  const PodPlatform platform_{options_, directories_, api_, *addresses_, time_, ThisEnvironment()};
  const NodeCapacity capacity_ = CapacityOfThisMachine();
  std::unique_ptr<Prober> prober_;

  AgentInputs inputs_;
  std::atomic<bool> stopping_ = false;
  MonotonicTime stop_deadline_{};  // set before stopping_

  // The agent's thread only.
  PodMap pods_;

  std::thread thread_;
  // Its thread hands what has changed to the agent's.
  kube::WatchCache cache_{{.project = {}, .index_label = {}, .on_change = [this](const kube::CacheChange& change) {
                             inputs_.Post([this, change] { OnChange(change); });
                           }}};
  std::unique_ptr<kube::Reflector> reflector_;
};

}  // namespace

StatusOr<std::unique_ptr<NodeAgent>> NodeAgent::Start(const NodeAgentOptions& options, MemoryApi& api,
                                                      const TimeSource& time) {
  NodeAgentOptions complete = options;
  if (complete.shim_command.empty())
    return Error(StatusCode::kInvalidArgument,
                 "the node agent needs a shim command, for example {\"/proc/self/exe\", \"pod-shim\"}");
  if (complete.node_name.empty()) complete.node_name = DefaultNodeName();
  ASSIGN_OR_RETURN(std::unique_ptr<AddressBook> addresses, AddressBook::Open());
  ASSIGN_OR_RETURN(RunDirectories directories, RunDirectories::Make(options.run_directory));
  auto agent = std::make_unique<Agent>(std::move(complete), api, time, std::move(addresses), std::move(directories));
  RETURN_IF_ERROR(agent->Begin());
  return agent;
}

}  // namespace attune::local
