#include "tests/simulation/job/platform.h"

#include <algorithm>
#include <utility>

#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/timestamp.h"
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

// The same in every run of a seed: the name of a job's Secret is drawn by the operator, and foreseen by nothing.
std::string Describe(const controller::ApiCall& call) {
  if (call.kind == "Secret") return call.verb + " Secret";
  if (call.subresource != "status") return call.ToString();
  const Json& status = kube::At(call.body, {"status"});
  return call.ToString() + (status.value("begun", false) ? " (begun; " : " (") +
         std::string(kube::StringAt(status, {"coordinator"})) + " term " +
         std::to_string(kube::IntegerAt(status, {"coordinatorTerm"})) + ")";
}

std::string NodeName(uint64_t number) { return "node-" + std::to_string(number % kNodesMade); }

}  // namespace

// Many operators' processes in one run, each with a thread that writes Events: no process here reads them.
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

class Platform::Clock final : public TimeSource {
 public:
  explicit Clock(const World& world) : world_(world) {}
  MonotonicTime Now() const override { return world_.now() + seconds(1); }
  WallTime WallNow() const override { return WallTime(seconds(1'700'000'000)) + (world_.now() - MonotonicTime{}); }

 private:
  const World& world_;
};

class Platform::Sidecars final : public telemetry::Service {
 public:
  Sidecars(Platform& platform, Operator& asks) : platform_(platform), asks_(asks) {}
  std::string address() const override { return "127.0.0.1:1"; }
  bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) override {
    return platform_.Send(asks_, pod_uid, directive, key);
  }
  uint64_t implausible_reports() const override { return 0; }

 private:
  Platform& platform_;
  Operator& asks_;
};

// One process of it: what it keeps in memory, and what stands in its way.
class Platform::Operator {
 public:
  Operator(Platform& platform, uint64_t number_of_all)
      : number(number_of_all),
        store(telemetry::JobStore::Create([](const telemetry::JobId&) { return telemetry::JobKnown::kYes; })),
        view(platform.real_),
        sidecars(platform, *this),
        events(no_events, standing_clock, "simulation"),
        executor(platform.api_, *platform.clock_, view.caches(), *store, sidecars, events, platform.options_) {
    for (size_t kind = 0; kind < OperatorsView::kKinds; ++kind) view.Show(kind, view.Look(kind));
  }
  MonotonicTime free_at() const { return std::max(busy_until, paused_until); }

  const uint64_t number;
  NoEvents no_events;
  StandingClock standing_clock;
  std::unique_ptr<telemetry::JobStore> store;
  OperatorsView view;
  Sidecars sidecars;
  kube::EventRecorder events;
  controller::Executor executor;
  MonotonicTime busy_until{}, paused_until{}, stale_until{};
  Duration stale_by{};
  std::map<std::string, std::set<std::string>> open;  // keys of directives without an answer, by pod uid
};

Platform::Platform(World& world, Processes& processes, const PlatformParameters& parameters, const Json& job)
    : world_(world),
      processes_(processes),
      parameters_(parameters),
      clock_(std::make_unique<Clock>(world)),
      real_(*clock_, {.new_uid = [this] { return NewUid(); }, .own_thread = false}),
      api_(real_, [this](Duration time) { acting_->busy_until = std::max(acting_->busy_until, world_.now()) + time; }) {
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
  const bool writes = call.verb != "get" && call.verb != "list" && call.verb != "log";
  const std::string text = Describe(call);
  for (const char letter : text) world_.Digest(static_cast<unsigned char>(letter));
  if (writes) world_.Trace("operator: " + text);
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
    world_.Trace("operator: " + text + " fails: " + attune::ToString(fault->status) +
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
  for (const auto& [number, each] : operators_) {
    const bool stale = world_.now() < each->stale_until && !calm_;
    if (stale) world_.Count("stale looks");
    const auto past = std::make_shared<OperatorsView::Past>(each->view.Look(kind));
    world_.After(stale ? each->stale_by : Duration(1000), [this, kind, past, number] {
      Operator* const shown = Find(number);
      if (shown == nullptr) return;
      shown->view.Show(kind, std::move(*past));
      Wake(*shown, milliseconds(1));
    });
  }
}

attune::Status Platform::PatchPodStatus(const Pod& pod, const Json& status) {
  const attune::Status done = real_
                                  .Patch(kube::kPods, {kNamespace, pod.name}, kube::PatchType::kMerge,
                                         {{"metadata", {{"uid", pod.uid}}}, {"status", status}}, "status")
                                  .status();
  Changed(kPods);
  return done;
}

void Platform::PatchSpec(const Json& spec) {
  (void)real_.Patch(kube::kTrainingJobs, kJobKey, kube::PatchType::kMerge, {{"spec", spec}});
  Changed(kJobs);
}

void Platform::AskForRestart(const std::string& request) {
  const Json annotations = {{api::kAnnotationRestart, request}};
  (void)real_.Patch(kube::kTrainingJobs, kJobKey, kube::PatchType::kMerge,
                    {{"metadata", {{"annotations", annotations}}}});
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

// Drawn at random they would order pods differently in each run of a seed.
std::string Platform::NewUid() {
  std::string digits = std::to_string(++uids_);
  return "uid-" + std::string(6 - std::min<size_t>(6, digits.size()), '0') + digits;
}

api::TrainingJobStatus Platform::JobStatus() {
  const StatusOr<Json> job = real_.Get(kube::kTrainingJobs, kJobKey);
  return job.ok() ? api::ParseTrainingJob(*job).job.status : api::TrainingJobStatus();
}

size_t Platform::PodsLeft() const {
  const auto pods = const_cast<local::MemoryApi&>(real_).List(kube::kPods, {.name_space = kNamespace});
  return pods.ok() ? pods->items.size() : 0;
}

// --- operators

Platform::Operator* Platform::Find(uint64_t number) {
  const auto found = operators_.find(number);
  return found == operators_.end() ? nullptr : found->second.get();
}

// There is one.
Platform::Operator& Platform::AnyOperator() {
  const size_t place = operators_.size() == 1 ? 0 : world_.random().Below(operators_.size());
  return *std::next(operators_.begin(), static_cast<std::ptrdiff_t>(place))->second;
}

void Platform::BeginOperator() {
  const uint64_t number = ++operators_begun_;
  Operator& begun = *(operators_[number] = std::make_unique<Operator>(*this, number));
  begun.store->OnNews([this, &begun](const std::string&, const std::string&) { Wake(begun, milliseconds(1)); });
  for (const auto& [uid, pod] : pods_) ConnectLater(uid);
  Wake(begun, milliseconds(1));
}

void Platform::EndOperator(Operator& which, std::optional<Duration> next_begins_in) {
  world_.Trace("operator " + std::to_string(which.number) + " ends");
  for (auto& [uid, pod] : pods_) {
    if (pod.operator_heard_by != which.number) continue;
    pod.operator_heard_by = 0;
    if (operators_.size() > 1) ConnectLater(uid);
  }
  operators_.erase(which.number);
  if (!next_begins_in) return;
  world_.After(*next_begins_in, [this] {
    world_.Trace("another operator begins");
    if (operators_.empty()) BeginOperator();
  });
}

void Platform::StopOperator(Duration away) {
  if (operators_.empty()) return;
  world_.Count("operators that ended");
  EndOperator(AnyOperator(), away);
}

void Platform::PauseOperator(Duration away) {
  if (operators_.empty()) return;
  world_.Count("operators that were stopped");
  Operator& stopped = AnyOperator();
  world_.Trace("operator " + std::to_string(stopped.number) + " is stopped");
  stopped.paused_until = std::max(stopped.paused_until, world_.now() + away);
}

// As when its Deployment is replaced while the old machine does not answer: nothing elects one of the two.
void Platform::SecondOperator(Duration time) {
  if (operators_.size() != 1) return;
  world_.Count("times that two operators were at work");
  world_.Trace("a second operator begins");
  BeginOperator();
  for (auto& [uid, pod] : pods_) {
    if (!world_.random().Chance(0.5)) continue;
    Disconnect(pod);
    ConnectLater(uid);
  }
  world_.After(time, [this] {
    if (operators_.size() > 1) EndOperator(AnyOperator(), std::nullopt);
  });
}

void Platform::ApiServerAway(Duration away) {
  world_.Count("times that the API server was away");
  world_.Trace("the API server is away");
  api_away_until_ = world_.now() + away;
}

void Platform::StaleCaches(Duration how_old, Duration while_time) {
  if (operators_.empty()) return;
  Operator& lags = AnyOperator();
  world_.Trace("the caches of operator " + std::to_string(lags.number) + " lag behind");
  lags.stale_by = how_old;
  lags.stale_until = world_.now() + while_time;
}

void Platform::Calm() {
  calm_ = true;
  api_away_until_ = world_.now();
  while (operators_.size() > 1) EndOperator(AnyOperator(), std::nullopt);
  for (const auto& [number, each] : operators_) each->paused_until = each->stale_until = world_.now();
  for (size_t kind = 0; kind < OperatorsView::kKinds; ++kind) Changed(kind);
}

void Platform::Wake(Operator& which, Duration delay) {
  const MonotonicTime at = std::max(world_.now() + delay, which.free_at());
  world_.WakeAt(wakes_[which.number], at, [this, number = which.number] {
    if (Operator* const woken = Find(number)) Round(*woken);
  });
}

void Platform::Round(Operator& which) {
  if (acting_ != nullptr) return;
  if (world_.now() < which.free_at()) return Wake(which, milliseconds(1));
  acting_ = &which;
  std::optional<Duration> again = milliseconds(100);
  bool died = false;
  world_.Count("rounds of the operator");
  try {
    const auto next = which.executor.Reconcile(kJobKey);
    if (next.ok()) again = *next;
  } catch (const controller::OperatorDied&) {
    died = true;
  }
  acting_ = nullptr;
  if (died) {
    constexpr double kAwayMax = 4000;
    return EndOperator(which, FromMilliseconds(200 + world_.random().Uniform() * kAwayMax));
  }
  if (again) Wake(which, *again);
}

// As a thread of the process does it, and the watches, which list again from time to time.
void Platform::Tick() {
  for (const auto& [number, each] : operators_) {
    if (world_.now() >= each->paused_until) each->executor.Tick();
  }
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
  std::ranges::stable_sort(pods, {}, [](const Pod* pod) { return pod->name; });
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
    pod.attempt = std::atoll(std::string(kube::Annotation(object, controller::kAnnotationAttempt)).c_str());
    for (const Json& container : kube::At(object, {"spec", "containers"})) {
      if (kube::StringAt(container, {"name"}) != role || !container.contains("args")) continue;
      for (const Json& argument : container["args"]) pod.arguments.push_back(argument.get<std::string>());
    }
    world_.Trace("pod " + pod.name + " is created");
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
  world_.After(FromMilliseconds(world_.random().Uniform() * 300), [this, uid] { ReportRuns(uid); });
  ConnectLater(uid);
  world_.After(FromMilliseconds(world_.random().Uniform() * 1000), [this, uid] { Report(uid); });
}

void Platform::ReportRuns(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || !pod->runs() || pod->cut_off) return;
  const std::string role = pod->is_server ? contract::kRoleServer : contract::kRoleWorker;
  const Json running = {{"running", {{"startedAt", controller::ToRfc3339(clock_->WallNow())}}}};
  (void)PatchPodStatus(*pod, {{"phase", "Running"},
                              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                              {"containerStatuses", Json::array({{{"name", role}, {"state", running}}})}});
}

void Platform::ReportEnd(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || pod->cut_off) return;
  WriteEnd(*pod, pod->exit_code);
  if (pod->asked_to_end) ConfirmGone(uid);
}

void Platform::WriteEnd(const Pod& pod, int exit_code) {
  const std::string role = pod.is_server ? contract::kRoleServer : contract::kRoleWorker;
  const Json end = {
      {"running", nullptr},
      {"terminated",
       {{"exitCode", exit_code}, {"message", pod.message}, {"finishedAt", controller::ToRfc3339(clock_->WallNow())}}}};
  (void)PatchPodStatus(pod, {{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                             {"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})},
                             {"containerStatuses", Json::array({{{"name", role}, {"state", end}}})}});
}

void Platform::OnEnd(size_t process, bool is_server, int exit_code, const std::string& message) {
  Pod* pod = PodOf(process, is_server);
  if (pod == nullptr || pod->ended) return;
  pod->ended = true;
  pod->exit_code = exit_code;
  pod->message = message;
  world_.After(FromMilliseconds(world_.random().Uniform() * 300), [this, uid = pod->uid] {
    if (const auto found = pods_.find(uid); found != pods_.end()) Disconnect(found->second);
  });
  const bool late = !calm_ && world_.random().Chance(parameters_.late_report_chance);
  if (late) world_.Count("ends reported late");
  world_.After(FromMilliseconds(20 + world_.random().Uniform() * (late ? 20000 : 500)),
               [this, uid = pod->uid] { ReportEnd(uid); });
}

// Asked first, killed after the grace. The node's agent does both by itself, also while its machine is cut off.
void Platform::End(const std::string& uid, int64_t grace_seconds) {
  world_.After(FromMilliseconds(world_.random().Uniform() * 200), [this, uid] {
    const Pod* pod = Find(uid);
    if (pod == nullptr) return;
    if (!pod->runs()) return ConfirmGone(uid);
    processes_.AskToEnd(*pod);
  });
  world_.After(seconds(grace_seconds) + milliseconds(300), [this, uid] {
    const Pod* pod = Find(uid);
    if (pod != nullptr && pod->runs()) processes_.Kill(*pod);
  });
}

void Platform::ConfirmGone(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (pod == nullptr || pod->cut_off) return;  // it says so when its machine is back
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
  if (found->second.ended) {
    ReportEnd(uid);
  } else {
    ReportRuns(uid);  // it may have started while that was not observed
  }
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
    if (found == pods_.end() || operators_.empty()) return;
    Pod& pod = found->second;
    if (pod.operator_heard_by != 0 || !Reaches(pod) || world_.now() < pod.sidecar_back) return;
    Operator& hears = AnyOperator();
    if (hears.store->Connected(HelloOf(pod), clock_->Now()).ok()) pod.operator_heard_by = hears.number;
  });
}

void Platform::Disconnect(Pod& pod) {
  Operator* const hears = Find(std::exchange(pod.operator_heard_by, 0));
  if (hears == nullptr) return;
  for (const std::string& key : std::exchange(hears->open[pod.uid], {})) {
    hears->store->Answered(
        HelloOf(pod), key,
        {.outcome = telemetry::DirectiveAnswer::Outcome::kLost, .message = "", .at = clock_->Now(), .refusals = 0});
  }
  hears->store->Disconnected(HelloOf(pod), clock_->Now());
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
  if (HeardBy(pod) == nullptr) return;
  processes_.Fill(pod, window);
  world_.After(FromMilliseconds(world_.random().Uniform() * 30),
               [this, report, hello = HelloOf(pod), number = pod.operator_heard_by] {
                 if (Operator* const hears = Find(number)) (void)hears->store->Report(hello, report, clock_->Now());
               });
}

bool Platform::Send(Operator& sender, const std::string& pod_uid, const v1::Directive& directive,
                    const std::string& key) {
  const auto found = pods_.find(pod_uid);
  if (found == pods_.end() || found->second.operator_heard_by != sender.number) return false;
  if (!calm_ && world_.random().Chance(parameters_.faults.dies)) {
    world_.Count("operators that died in a call");
    throw controller::OperatorDied{};
  }
  if (world_.keeps_history()) world_.Trace("operator: to " + found->second.name + ": " + key);
  if (!key.empty()) sender.open[pod_uid].insert(key);
  world_.After(FromMilliseconds(1 + world_.random().Uniform() * 30),
               [this, pod_uid, directive, key, number = sender.number] {
                 const Pod* pod = Find(pod_uid);
                 if (pod == nullptr || pod->operator_heard_by != number || HeardBy(*pod) == nullptr) return;
                 processes_.Direct(*pod, directive,
                                   [this, pod_uid, key, number](const attune::Status& status, const std::string& text) {
                                     Answered(number, pod_uid, key, status, text);
                                   });
               });
  return true;
}

void Platform::Answered(uint64_t asked_by, const std::string& pod_uid, const std::string& key,
                        const attune::Status& status, const std::string& text) {
  world_.After(FromMilliseconds(1 + world_.random().Uniform() * 30), [this, asked_by, pod_uid, key, status, text] {
    const Pod* pod = Find(pod_uid);
    Operator* const asked = Find(asked_by);
    if (pod == nullptr || asked == nullptr || pod->operator_heard_by != asked_by) return;
    if (asked->open[pod_uid].erase(key) == 0) return;
    using Outcome = telemetry::DirectiveAnswer::Outcome;
    const std::string message = status.ok() ? text : std::string(attune::Message(status));
    if (world_.keeps_history()) world_.Trace("operator: " + pod->name + " answers " + key + ": " + message);
    asked->store->Answered(HelloOf(*pod), key,
                           {.outcome = status.ok() ? Outcome::kDone : Outcome::kRefused,
                            .message = message,
                            .at = clock_->Now(),
                            .refusals = 0});
  });
}

}  // namespace attune::ps::simulation
