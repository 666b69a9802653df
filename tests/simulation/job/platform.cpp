#include "tests/simulation/job/platform.h"

#include <algorithm>
#include <utility>

#include "operator/controller/pods.h"
#include "operator/controller/timestamp.h"
#include "operator/kube/events.h"
#include "proto/contract.h"

namespace attune::ps::simulation {
namespace {

using controller::OperatorsView;
using kube::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kNamespace[] = "default";
constexpr char kJobName[] = "j";
const kube::ObjectKey kJobKey{kNamespace, kJobName};
constexpr uint64_t kNodesMade = 64;

std::string NodeName(uint64_t number) { return "node-" + std::to_string(number % kNodesMade); }

// Many operators' processes in one run, each with a thread that writes Events: nobody here reads them.
class NoEvents final : public kube::Api {
 public:
  StatusOr<Json> Get(const kube::ResourceType&, const kube::ObjectKey&, const kube::CallOptions&) override {
    return Refused();
  }
  StatusOr<kube::ListResult> List(const kube::ResourceType&, const kube::ListOptions&,
                                  const kube::CallOptions&) override {
    return Refused();
  }
  StatusOr<Json> Create(const kube::ResourceType&, const Json& object, const kube::CallOptions&) override {
    return object;
  }
  StatusOr<Json> Update(const kube::ResourceType&, const Json& object, const std::string&,
                        const kube::CallOptions&) override {
    return object;
  }
  StatusOr<Json> Patch(const kube::ResourceType&, const kube::ObjectKey&, kube::PatchType, const Json& patch,
                       const std::string&, const kube::CallOptions&) override {
    return patch;
  }
  StatusOr<Json> Apply(const kube::ResourceType&, const Json& object, const kube::ApplyOptions&,
                       const kube::CallOptions&) override {
    return object;
  }
  attune::Status Delete(const kube::ResourceType&, const kube::ObjectKey&, const kube::DeleteOptions&,
                        const kube::CallOptions&) override {
    return OkStatus();
  }
  StatusOr<Json> GetSubresource(const kube::ResourceType&, const kube::ObjectKey&, const std::string&,
                                const kube::CallOptions&) override {
    return Refused();
  }
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const kube::ResourceType&, const kube::WatchOptions&,
                                                    std::function<void(kube::WatchSignal)>) override {
    return Refused();
  }
  attune::Status ReadLog(const kube::ObjectKey&, const kube::LogOptions&, const std::function<bool(std::string_view)>&,
                         const kube::CallOptions&) override {
    return Refused();
  }

 private:
  static attune::Status Refused() { return Error(StatusCode::kUnimplemented, "only Events"); }
};

// By the thread of the recorder of Events, too.
class StandingClock final : public TimeSource {
 public:
  MonotonicTime Now() const override { return MonotonicTime(seconds(1)); }
  WallTime WallNow() const override { return WallTime(seconds(1'700'000'000)); }
};

}  // namespace

class Platform::Clock final : public TimeSource {
 public:
  explicit Clock(const World& world) : world_(world) {}
  MonotonicTime Now() const override { return world_.now() + seconds(1); }
  WallTime WallNow() const override {
    return WallTime(seconds(1'700'000'000)) + (world_.now() - MonotonicTime{});
  }

 private:
  const World& world_;
};

class Platform::Sidecars final : public telemetry::Service {
 public:
  explicit Sidecars(Platform& platform) : platform_(platform) {}
  std::string address() const override { return "127.0.0.1:1"; }
  bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) override {
    return platform_.Send(pod_uid, directive, key);
  }
  uint64_t implausible_reports() const override { return 0; }

 private:
  Platform& platform_;
};

// One process of it: what it keeps in memory.
struct Platform::Operator {
  explicit Operator(Platform& platform)
      : store(telemetry::JobStore::Create([](const telemetry::JobId&) { return telemetry::JobKnown::kYes; })),
        view(platform.real_),
        events(no_events, standing_clock, "simulation"),
        executor(platform.api_, *platform.clock_, view.caches(), *store, *platform.sidecars_, events,
                 platform.options_) {
    for (size_t kind = 0; kind < OperatorsView::kKinds; ++kind) view.Show(kind, view.Look(kind));
  }
  NoEvents no_events;
  StandingClock standing_clock;
  std::unique_ptr<telemetry::JobStore> store;
  OperatorsView view;
  kube::EventRecorder events;
  controller::Executor executor;
};

Platform::Platform(World& world, Processes& processes, const PlatformParameters& parameters, const Json& job)
    : world_(world),
      processes_(processes),
      parameters_(parameters),
      clock_(std::make_unique<Clock>(world)),
      real_(*clock_, {.own_thread = false}),
      api_(real_, [this](Duration time) { busy_until_ = std::max(busy_until_, world_.now()) + time; }),
      sidecars_(std::make_unique<Sidecars>(*this)) {
  real_.SetLogSource([](const Json&, const kube::LogOptions&, const std::function<bool(std::string_view)>& on_text,
                        const kube::CallOptions&) {
    on_text("the end of its log\n");
    return OkStatus();
  });
  options_.job_policies = true;
  options_.telemetry_address = "127.0.0.1:1";
  api_.SetJudge([this](const controller::ApiCall& call) { return Judge(call); });
  const StatusOr<Json> created = real_.Create(kube::kTrainingJobs, job);
  if (!created.ok()) world_.Violation("the job cannot be created: " + attune::ToString(created.status()));
  if (created.ok()) job_uid_ = kube::Uid(*created);
  for (uint64_t node = 0; node < kNodesMade; ++node) {  // machines are there before pods come to them
    (void)real_.Create(kube::kNodes,
                       {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", NodeName(node)}}}});
  }
  BeginOperator();
  Tick();
}

Platform::~Platform() = default;

// --- the API server

std::optional<controller::Fault> Platform::Judge(const controller::ApiCall& call) {
  const bool writes = call.verb != "get" && call.verb != "log";
  if (writes && world_.keeps_history()) world_.Tell("operator: " + call.ToString());
  if (writes) {
    if (call.kind == "Pod") {
      Changed(kPods);
    } else if (call.kind == kube::kTrainingJobs.kind) {
      Changed(kJobs);
    } else {
      for (size_t kind : {size_t{2}, size_t{3}}) Changed(kind);
    }
  }
  if (world_.now() < api_away_until_) {
    world_.Count("calls to an API server that is away");
    return controller::Fault{.status = Error(StatusCode::kUnavailable, "no connection")};
  }
  if (calm_) return std::nullopt;
  const std::optional<controller::Fault> fault = controller::DrawFault(world_.random(), parameters_.faults);
  if (!fault) return std::nullopt;
  world_.Count(fault->operator_dies ? "operators that died in a call" : "calls that failed");
  if (world_.keeps_history()) {
    world_.Tell("operator: " + call.ToString() + " fails: " + attune::ToString(fault->status) +
                (fault->carried_out ? ", carried out" : ""));
  }
  return fault;
}

// Something of this kind is, or will be in a moment, other than the caches show.
void Platform::Changed(size_t kind) {
  if (kind == kPods && !std::exchange(looking_, true)) {
    world_.After(FromMilliseconds(1 + world_.random().Uniform() * 20), [this] {
      looking_ = false;
      LookAtPods();
    });
  }
  if (std::exchange(showing_[kind], true)) return;
  world_.After(FromMilliseconds(0.1 + world_.random().Uniform() * parameters_.watch_delay_milliseconds), [this, kind] {
    showing_[kind] = false;
    ShowLater(kind);
  });
}

void Platform::ShowLater(size_t kind) {
  if (operator_ == nullptr) return;
  const bool stale = world_.now() < stale_until_ && !calm_;
  if (stale) world_.Count("stale looks");
  const auto past = std::make_shared<OperatorsView::Past>(operator_->view.Look(kind));
  world_.After(stale ? stale_by_ : Duration(1000), [this, kind, past, life = life_] {
    if (operator_ == nullptr || life != life_) return;
    operator_->view.Show(kind, std::move(*past));
    Wake(milliseconds(1));
  });
}

attune::Status Platform::PatchPodStatus(const Pod& pod, const Json& status) {
  const attune::Status done =
      real_.Patch(kube::kPods, {kNamespace, pod.name}, kube::PatchType::kMerge,
                  {{"metadata", {{"uid", pod.uid}}}, {"status", status}}, "status")
          .status();
  Changed(kPods);
  return done;
}

void Platform::PatchSpec(const Json& spec) {
  (void)real_.Patch(kube::kTrainingJobs, kJobKey, kube::PatchType::kMerge, {{"spec", spec}});
  Changed(kJobs);
}

void Platform::DeletePod(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr) return;
  (void)real_.Delete(kube::kPods, {kNamespace, pod->name}, {.uid = uid});
  Changed(kPods);
}

void Platform::NodeReady(const std::string& uid, bool ready) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || pod->node.empty()) return;
  const Json condition = {{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}};
  (void)real_.Patch(kube::kNodes, {"", pod->node}, kube::PatchType::kMerge,
                    {{"status", {{"conditions", Json::array({condition})}}}}, "status");
  Changed(kNodes);
}

api::TrainingJobStatus Platform::JobStatus() {
  const StatusOr<Json> job = real_.Get(kube::kTrainingJobs, kJobKey);
  return job.ok() ? api::ParseTrainingJob(*job).job.status : api::TrainingJobStatus();
}

size_t Platform::PodsLeft() const {
  const auto pods = const_cast<local::MemoryApi&>(real_).List(kube::kPods, {.name_space = kNamespace});
  return pods.ok() ? pods->items.size() : 0;
}

// --- the operator

void Platform::BeginOperator() {
  ++life_;
  operator_ = std::make_unique<Operator>(*this);
  operator_->store->OnNews([this](const std::string&, const std::string&) { Wake(milliseconds(1)); });
  for (const auto& [uid, pod] : pods_) ConnectLater(uid);
  Wake(milliseconds(1));
}

void Platform::EndOperator(Duration away) {
  if (operator_ == nullptr) return;
  world_.Tell("the operator ends");
  ++life_;
  operator_.reset();
  open_.clear();
  for (auto& [uid, pod] : pods_) pod.connected = false;
  world_.After(away, [this] {
    world_.Tell("another operator begins");
    if (operator_ == nullptr) BeginOperator();
  });
}

void Platform::StopOperator(Duration away) {
  world_.Count("operators that ended");
  EndOperator(away);
}

void Platform::PauseOperator(Duration away) {
  world_.Count("operators that were stopped");
  world_.Tell("the operator is stopped");
  paused_until_ = std::max(paused_until_, world_.now() + away);
}

void Platform::ApiServerAway(Duration away) {
  world_.Count("times that the API server was away");
  world_.Tell("the API server is away");
  api_away_until_ = world_.now() + away;
}

void Platform::StaleCaches(Duration how_old, Duration while_time) {
  world_.Tell("the operator's caches lag behind");
  stale_by_ = how_old;
  stale_until_ = world_.now() + while_time;
}

void Platform::Calm() {
  calm_ = true;
  paused_until_ = api_away_until_ = stale_until_ = world_.now();
  for (size_t kind = 0; kind < OperatorsView::kKinds; ++kind) Changed(kind);
}

void Platform::Wake(Duration delay) {
  const MonotonicTime at = std::max({world_.now() + delay, busy_until_, paused_until_});
  world_.WakeAt(wake_, at, [this] { Round(); });
}

void Platform::Round() {
  if (operator_ == nullptr || in_round_) return;
  if (world_.now() < std::max(busy_until_, paused_until_)) return Wake(milliseconds(1));
  in_round_ = true;
  std::optional<Duration> again = milliseconds(100);
  bool died = false;
  world_.Count("rounds of the operator");
  try {
    const auto next = operator_->executor.Reconcile(kJobKey);
    if (next.ok()) again = *next;
  } catch (const controller::OperatorDied&) {
    died = true;
  }
  in_round_ = false;
  if (died) {
    constexpr double kAwayMax = 4000;
    return EndOperator(FromMilliseconds(200 + world_.random().Uniform() * kAwayMax));
  }
  if (again) Wake(*again);
}

// As a thread of the process does it, and the watches, which list again from time to time.
void Platform::Tick() {
  if (operator_ != nullptr && world_.now() >= paused_until_) operator_->executor.Tick();
  world_.After(milliseconds(500), [this] { Tick(); });
}

// --- nodes

Pod* Platform::PodOf(size_t process, bool is_server) {
  for (auto& [uid, pod] : pods_) {
    if (pod.process == process && pod.is_server == is_server) return &pod;
  }
  return nullptr;
}

const Pod* Platform::Find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

std::vector<const Pod*> Platform::Pods() const {
  std::vector<const Pod*> pods;
  for (const auto& [uid, pod] : pods_) pods.push_back(&pod);
  std::ranges::sort(pods, [](const Pod* a, const Pod* b) {  // uids are drawn anew in each run
    return std::pair(a->name, a->process.value_or(0)) < std::pair(b->name, b->process.value_or(0));
  });
  return pods;
}

void Platform::LookAtPods() {
  const auto list = real_.List(kube::kPods, {.name_space = kNamespace});
  if (!list.ok()) return;
  std::set<std::string, std::less<>> present;
  for (const Json& object : list->items) {
    present.insert(std::string(kube::Uid(object)));
    Take(object);
  }
  std::vector<const Pod*> gone;
  for (const Pod* pod : Pods()) {
    if (!present.contains(pod->uid)) gone.push_back(pod);
  }
  for (const Pod* pod : gone) {  // removed by force, or before it ran: what runs is ended
    if (pod->cut_off) continue;  // its machine learns that when it is back
    if (pod->runs()) processes_.Kill(*pod);
    if (const auto found = pods_.find(pod->uid); found != pods_.end()) {
      Disconnect(found->second);
      pods_.erase(found);
    }
  }
}

void Platform::Take(const Json& object) {
  const std::string uid(kube::Uid(object));
  auto [found, is_new] = pods_.try_emplace(uid);
  Pod& pod = found->second;
  if (is_new) {
    pod.name = kube::Name(object);
    pod.uid = uid;
    const std::string role(kube::Label(object, contract::kLabelRole));
    pod.is_server = role == contract::kRoleServer;
    pod.index = static_cast<uint32_t>(std::stoul(std::string(kube::Label(object, contract::kLabelIndex))));
    for (const Json& container : kube::At(object, {"spec", "containers"})) {
      if (kube::StringAt(container, {"name"}) != role || !container.contains("args")) continue;
      for (const Json& argument : container["args"]) pod.arguments.push_back(argument.get<std::string>());
    }
    world_.Tell("pod " + pod.name + " is created");
    world_.Count("pods");
    world_.After(FromMilliseconds(20 + world_.random().Uniform() * parameters_.start_milliseconds),
                 [this, uid] { Begin(uid); });
  }
  if (kube::IsBeingDeleted(object) && !pod.asked_to_end && !pod.cut_off) {
    pod.asked_to_end = true;
    End(uid, kube::IntegerAt(object, {"metadata", "deletionGracePeriodSeconds"}, 30));
  }
}

void Platform::Begin(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.asked_to_end || found->second.process) return;
  Pod& pod = found->second;
  pod.node = NodeName(nodes_++);
  if (!real_.Bind({kNamespace, pod.name}, pod.node).ok()) return;
  pod.process = processes_.Start(pod);
  world_.After(FromMilliseconds(world_.random().Uniform() * 300), [this, uid] { TellRuns(uid); });
  ConnectLater(uid);
  world_.After(FromMilliseconds(world_.random().Uniform() * 1000), [this, uid] { Report(uid); });
}

void Platform::TellRuns(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || !pod->runs() || pod->cut_off) return;
  const std::string role = pod->is_server ? contract::kRoleServer : contract::kRoleWorker;
  const Json running = {{"running", {{"startedAt", controller::ToRfc3339(clock_->WallNow())}}}};
  (void)PatchPodStatus(*pod, {{"phase", "Running"},
                              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                              {"containerStatuses", Json::array({{{"name", role}, {"state", running}}})}});
}

void Platform::TellEnd(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || pod->cut_off) return;
  WriteEnd(*pod, pod->exit_code);
  if (pod->asked_to_end) ConfirmGone(uid);
}

void Platform::WriteEnd(const Pod& pod, int exit_code) {
  const std::string role = pod.is_server ? contract::kRoleServer : contract::kRoleWorker;
  const Json end = {
      {"running", nullptr},
      {"terminated", {{"exitCode", exit_code}, {"finishedAt", controller::ToRfc3339(clock_->WallNow())}}}};
  (void)PatchPodStatus(pod, {{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                             {"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})},
                             {"containerStatuses", Json::array({{{"name", role}, {"state", end}}})}});
}

void Platform::OnEnd(size_t process, bool is_server, int exit_code) {
  Pod* pod = PodOf(process, is_server);
  if (pod == nullptr || pod->ended) return;
  pod->ended = true;
  pod->exit_code = exit_code;
  world_.After(FromMilliseconds(world_.random().Uniform() * 300), [this, uid = pod->uid] {
    if (const auto found = pods_.find(uid); found != pods_.end()) Disconnect(found->second);
  });
  const bool late = !calm_ && world_.random().Chance(parameters_.late_word_chance);
  if (late) world_.Count("ends told late");
  world_.After(FromMilliseconds(20 + world_.random().Uniform() * (late ? 20000 : 500)),
               [this, uid = pod->uid] { TellEnd(uid); });
}

// Asked first, killed after the grace.
void Platform::End(const std::string& uid, int64_t grace_seconds) {
  world_.After(FromMilliseconds(world_.random().Uniform() * 200), [this, uid] {
    const Pod* pod = Find(uid);
    if (pod == nullptr || pod->cut_off) return;
    if (!pod->process || pod->ended) return ConfirmGone(uid);
    processes_.AskToEnd(*pod);
  });
  world_.After(seconds(grace_seconds) + milliseconds(300), [this, uid] {
    const Pod* pod = Find(uid);
    if (pod != nullptr && pod->runs() && !pod->cut_off) processes_.Kill(*pod);
  });
}

void Platform::ConfirmGone(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr) return;
  (void)real_.Delete(kube::kPods, {kNamespace, pod->name}, {.uid = uid, .grace_period_seconds = 0});
  Changed(kPods);
}

void Platform::CutOff(const std::string& uid, bool cut_off) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.cut_off == cut_off) return;
  found->second.cut_off = cut_off;
  if (cut_off) {
    world_.After(FromMilliseconds(world_.random().Uniform() * 2000), [this, uid] {
      if (const auto pod = pods_.find(uid); pod != pods_.end() && pod->second.cut_off) Disconnect(pod->second);
    });
    return;
  }
  if (found->second.ended) TellEnd(uid);
  ConnectLater(uid);
  Changed(kPods);
}

void Platform::CutSidecar(const std::string& uid, Duration time) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.runs()) return;
  found->second.sidecar_back = world_.now() + time;
  Disconnect(found->second);
  if (ends_on_one_sign_) WriteEnd(found->second, 137);
  world_.After(time, [this, uid] { ConnectLater(uid); });
}

// --- sidecars

bool Platform::Reaches(const Pod& pod) const { return operator_ != nullptr && pod.runs() && !pod.cut_off; }

v1::SidecarHello Platform::HelloOf(const Pod& pod) const {
  v1::SidecarHello hello;
  hello.set_namespace_(kNamespace);
  hello.set_job(kJobName);
  hello.set_job_uid(job_uid_);
  hello.set_pod(pod.name);
  hello.set_pod_uid(pod.uid);
  hello.set_role(pod.is_server ? contract::kRoleServer : contract::kRoleWorker);
  hello.set_index(pod.index);
  return hello;
}

void Platform::ConnectLater(const std::string& uid) {
  world_.After(FromMilliseconds(50 + world_.random().Uniform() * 2000), [this, uid] {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.connected || !Reaches(found->second)) return;
    if (world_.now() < found->second.sidecar_back) return;
    found->second.connected = operator_->store->Connected(HelloOf(found->second), clock_->Now()).ok();
  });
}

void Platform::Disconnect(Pod& pod) {
  if (!std::exchange(pod.connected, false) || operator_ == nullptr) return;
  for (const std::string& key : std::exchange(open_[pod.uid], {})) {
    operator_->store->Answered(
        HelloOf(pod), key,
        {.outcome = telemetry::DirectiveAnswer::Outcome::kLost, .message = "", .at = clock_->Now(), .refusals = 0});
  }
  operator_->store->Disconnected(HelloOf(pod), clock_->Now());
}

void Platform::Report(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.ended) return;
  SendReport(found->second);
  world_.After(seconds(1), [this, uid] { Report(uid); });
}

void Platform::ReportSoon(size_t process) {
  if (Pod* pod = PodOf(process, true)) SendReport(*pod);
}

void Platform::SendReport(Pod& pod) {
  if (!pod.runs()) return;
  v1::PodReport report;
  v1::WindowReport& window = *report.mutable_window();
  window.set_sequence(++pod.windows);
  window.set_duration_seconds(Seconds(world_.now() - pod.reported_at));
  pod.reported_at = world_.now();
  if (!pod.connected || !Reaches(pod)) return;
  processes_.Fill(pod, window);
  world_.After(FromMilliseconds(world_.random().Uniform() * 30), [this, report, hello = HelloOf(pod), life = life_] {
    if (operator_ != nullptr && life == life_) (void)operator_->store->Report(hello, report, clock_->Now());
  });
}

bool Platform::Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) {
  const auto found = pods_.find(pod_uid);
  if (found == pods_.end() || !found->second.connected) return false;
  if (!calm_ && world_.random().Chance(parameters_.faults.dies)) {
    world_.Count("operators that died in a call");
    throw controller::OperatorDied{};
  }
  if (world_.keeps_history()) world_.Tell("operator: to " + found->second.name + ": " + key);
  if (!key.empty()) open_[pod_uid].insert(key);
  world_.After(FromMilliseconds(1 + world_.random().Uniform() * 30), [this, pod_uid, directive, key, life = life_] {
    const Pod* pod = Find(pod_uid);
    if (pod == nullptr || life != life_ || !pod->connected || !Reaches(*pod)) return;
    processes_.Direct(*pod, directive, [this, pod_uid, key, life](const attune::Status& status,
                                                                  const std::string& text) {
      if (life == life_) Answered(pod_uid, key, status, text);
    });
  });
  return true;
}

void Platform::Answered(const std::string& pod_uid, const std::string& key, const attune::Status& status,
                        const std::string& text) {
  world_.After(FromMilliseconds(1 + world_.random().Uniform() * 30), [this, pod_uid, key, status, text, life = life_] {
    const Pod* pod = Find(pod_uid);
    if (pod == nullptr || life != life_ || !pod->connected || open_[pod_uid].erase(key) == 0) return;
    using Outcome = telemetry::DirectiveAnswer::Outcome;
    const std::string message = status.ok() ? text : std::string(attune::Message(status));
    if (world_.keeps_history()) world_.Tell("operator: " + pod->name + " answers " + key + ": " + message);
    operator_->store->Answered(HelloOf(*pod), key,
                               {.outcome = status.ok() ? Outcome::kDone : Outcome::kRefused,
                                .message = message,
                                .at = clock_->Now(),
                                .refusals = 0});
  });
}

}  // namespace attune::ps::simulation
