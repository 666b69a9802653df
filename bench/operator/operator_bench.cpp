// The operator with many jobs: how long until all run, what it asks of the API server, what it takes of memory and CPU,
// and how soon it acts after a policy has changed and after its own start. The API server is in this process and so is
// what plays the kubelets, so times and CPU contain both: they are above what the operator alone takes.
//   bench_operator --jobs 1000 --workers 9
#include <malloc.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "bench/cpu_seconds.h"
#include "operator/api/training_job.h"
#include "operator/controller/execute/operator.h"
#include "operator/controller/observe/observed.h"
#include "operator/kube/measured_api.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/api/rules/kinds.h"
#include "proto/contract.h"

namespace attune::bench {
namespace {

using kube::Json;

constexpr char kNamespace[] = "bench";
constexpr Duration kGiveUpAfter = std::chrono::minutes(30);
constexpr Duration kWatchTime = std::chrono::hours(10);  // longer than all of it

Json Job(int number, int workers) {
  const Json container = {{"name", "worker"},
                          {"image", "x"},
                          {"command", Json::array({"train"})},
                          {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
  return {
      {"apiVersion", "attune.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "job-" + std::to_string(number)}, {"namespace", kNamespace}}},
      {"spec",
       {{"goal", {{"epochs", 1}}},
        {"servers", {{"replicas", 1}}},
        {"workers", {{"replicas", workers}, {"template", {{"spec", {{"containers", Json::array({container})}}}}}}}}}};
}

// As many jobs and pods as this bench makes; of Events the usual number, of which the oldest vanish.
std::vector<local::KindInfo> RoomyKinds() {
  std::vector<local::KindInfo> kinds = local::BuiltInKinds();
  kinds.push_back(local::TrainingJobKind());
  for (local::KindInfo& kind : kinds) {
    if (kind.type != kube::kEvents) kind.objects_max = 1'000'000;
  }
  return kinds;
}

// Read by hand: a whole job is dear to parse, and this is asked of each after each of its changes.
bool IsReady(const Json& job) {
  const Json& conditions = kube::At(job, {"status", "conditions"});
  return conditions.is_array() && std::ranges::any_of(conditions, [](const Json& condition) {
           return kube::StringAt(condition, {"type"}) == api::kReady && kube::StringAt(condition, {"status"}) == "True";
         });
}

// What the bench asks of all jobs, kept up to date by a watch: with ten thousand of them a list takes half a second.
class Jobs {
 public:
  explicit Jobs(kube::Api& api) {
    kube::WatchOptions options;
    options.server_timeout = kWatchTime;
    auto watch = api.StartWatch(kube::kTrainingJobs, options, [this](kube::WatchSignal signal) { OnSignal(signal); });
    ATTUNE_CHECK(watch.ok());
    watch_ = *std::move(watch);
  }

  int ready() const {
    return Count([](const Seen& job) { return job.ready; });
  }
  int WithWorkers(int64_t workers) const {
    return Count([&](const Seen& job) { return job.workers == workers; });
  }

 private:
  struct Seen {
    bool ready = false;
    int64_t workers = 0;
  };

  void OnSignal(const kube::WatchSignal& signal) {
    using enum kube::WatchSignal::Kind;
    ATTUNE_CHECK(signal.kind != kError && signal.kind != kEnded) << "the bench lost sight of its jobs";
    if (signal.kind != kAdded && signal.kind != kModified) return;
    const MutexLock lock(mutex_);
    jobs_[std::string(kube::Name(signal.object))] = {
        .ready = IsReady(signal.object), .workers = kube::IntegerAt(signal.object, {"spec", "workers", "replicas"})};
  }
  int Count(const std::function<bool(const Seen&)>& condition) const {
    const MutexLock lock(mutex_);
    return static_cast<int>(std::ranges::count_if(jobs_, [&](const auto& entry) { return condition(entry.second); }));
  }

  mutable Mutex mutex_;
  std::map<std::string, Seen> jobs_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<kube::Watch> watch_;
};

// How many calls there were, by what they did to what.
class CallCounts {
 public:
  void Count(const kube::FinishedCall& call) {
    const MutexLock lock(mutex_);
    ++counts_[std::string(call.verb) + " " + std::string(call.resource)];
  }
  std::map<std::string, int> counts() const {  // "patch trainingjobs/status"
    const MutexLock lock(mutex_);
    return counts_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

// Marks every pod as running as soon as it is there.
class Kubelets {
 public:
  explicit Kubelets(kube::Api& api) : api_(api), thread_([this] { Run(); }) {
    const auto list = api_.List(kube::kPods, {}, {});
    ATTUNE_CHECK(list.ok());
    kube::WatchOptions options;
    options.resource_version = list->resource_version;
    options.server_timeout = kWatchTime;
    auto watch = api_.StartWatch(kube::kPods, options, [this](kube::WatchSignal signal) {
      using enum kube::WatchSignal::Kind;
      ATTUNE_CHECK(signal.kind != kError && signal.kind != kEnded) << "the kubelets lost sight of their pods";
      if (signal.kind != kAdded) return;
      const MutexLock lock(mutex_);
      created_.push_back(std::move(signal.object));
      changed_.NotifyAll();
    });
    ATTUNE_CHECK(watch.ok());
    watch_ = *std::move(watch);
  }
  ~Kubelets() {
    watch_.reset();
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

 private:
  void Run() {
    while (true) {
      std::deque<Json> pods;
      {
        const MutexLock lock(mutex_);
        changed_.WaitFor(mutex_, std::chrono::milliseconds(100),
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !created_.empty(); });
        if (stopping_) return;
        pods.swap(created_);
      }
      for (const Json& pod : pods) Start(pod);
    }
  }
  void Start(const Json& pod) {
    const std::string role(kube::Label(pod, contract::kLabelRole));
    const Json status = {
        {"phase", "Running"},
        {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
        {"containerStatuses", Json::array({{{"name", role}, {"state", {{"running", Json::object()}}}}})}};
    [[maybe_unused]] const auto started =
        api_.Patch(kube::kPods, kube::KeyOf(pod), kube::PatchType::kMerge, {{"status", status}}, "status", {});
  }

  kube::Api& api_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Json> created_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<kube::Watch> watch_;
  std::thread thread_;
};

// Bytes that are allocated.
double HeapBytes() { return static_cast<double>(mallinfo2().uordblks); }

class Bench {
 public:
  Bench(int jobs, int workers) : jobs_(jobs), workers_(workers) { Start(); }
  ~Bench() {
    operator_.reset();
    kubelets_.reset();
  }

  void Run() {
    AllRun();
    MemoryOfPods();
    Idle();
    PolicyChanges();
    Restart();
  }

 private:
  void Start() {
    controller::OperatorOptions options;
    options.telemetry_listen = "127.0.0.1:0";
    options.begin_unheard_after = Duration::zero();  // these servers have no sidecars
    auto started = controller::Operator::Start(options, counted_, time_);
    ATTUNE_CHECK(started.ok());
    operator_ = *std::move(started);
    ATTUNE_CHECK(operator_->Lead().ok());
  }

  // Seconds until then.
  double Await(const char* what, const std::function<bool()>& condition) {
    const MonotonicTime begin = time_.Now();
    while (!condition()) {
      if (time_.Now() - begin > kGiveUpAfter) {
        std::printf("%s: not within %.0f s\n", what, Seconds(kGiveUpAfter));
        std::exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return Seconds(time_.Now() - begin);
  }
  static void Report(const char* what, double value, const char* unit, const char* goal, bool met) {
    std::printf("%-62s %10.2f %-14s goal %s: %s\n", what, value, unit, goal, met ? "met" : "MISSED");
    std::fflush(stdout);
  }

  void AllRun() {
    const double cpu = ProcessCpuSeconds();
    const MonotonicTime begin = time_.Now();
    for (int i = 0; i < jobs_; ++i) ATTUNE_CHECK(api_.Create(kube::kTrainingJobs, Job(i, workers_), {}).ok());
    Await("all jobs ready", [&] { return seen_.ready() == jobs_; });
    const double seconds = Seconds(time_.Now() - begin);
    Report("all jobs ready after", seconds, "s", "<= 90 (1,000 x 10 pods)", seconds <= 90);
    const double acts = static_cast<double>(jobs_) * (workers_ + 1) / (ProcessCpuSeconds() - cpu);
    Report("pods made, per second of this process' CPU", acts, "pods/s", ">= 100", acts >= 100);
    int calls = 0;
    for (const auto& [what, count] : calls_.counts()) {
      calls += what.starts_with("watch") || what.starts_with("list") ? 0 : count;
      if (count >= jobs_ / 2) std::printf("    %-40s %.2f a job\n", what.c_str(), 1.0 * count / jobs_);
    }
    Report("API requests a job until it is ready", 1.0 * calls / jobs_, "", "<= 40", calls <= 40 * jobs_);
  }

  void MemoryOfPods() {
    const auto pods = api_.List(kube::kPods, {.name_space = kNamespace}, {});
    ATTUNE_CHECK(pods.ok());
    kube::WatchCache cache({.project = [](Json pod) { return controller::ProjectPod(pod); },
                            .index_label = contract::kLabelJob,
                            .on_change = {}});
    const double before = HeapBytes();
    cache.Take({kube::WatchEvent::Kind::kReplaced, std::vector<Json>(pods->items)});
    const double each = (HeapBytes() - before) / static_cast<double>(pods->items.size()) / 1024;
    Report("memory of a cached pod", each, "KiB", "<= 8", each <= 8);
  }

  void Idle() {
    std::this_thread::sleep_for(std::chrono::seconds(15));  // what was due is done
    const double cpu = ProcessCpuSeconds();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    const double cores = (ProcessCpuSeconds() - cpu) / 20;
    Report("CPU of an idle operator", cores, "cores", "< 0.05", cores < 0.05);
  }

  void PolicyChanges() {
    Json policy = {{"apiVersion", "attune.dev/v1alpha1"},
                   {"kind", "ClusterTuningPolicy"},
                   {"metadata", {{"name", "fewer"}}},
                   {"spec", {{"knobs", {{"workers", {{"max", workers_ - 1}}}}}, {"onViolation", "ShrinkNow"}}}};
    ATTUNE_CHECK(api_.Create(kube::kClusterTuningPolicies, policy, {}).ok());
    const double seconds = Await("the policy in effect", [&] { return seen_.WithWorkers(workers_ - 1) == jobs_; });
    Report("a policy is in effect on all jobs after", seconds, "s", "< 5 (1,000 jobs)", seconds < 5);
    ATTUNE_CHECK(api_.Delete(kube::kClusterTuningPolicies, {"", "fewer"}, {}, {}).ok());
  }

  void Restart() {
    operator_.reset();
    const kube::ObjectKey lost{kNamespace, "job-0-worker-0"};
    const auto before = api_.Get(kube::kPods, lost, {});
    ATTUNE_CHECK(before.ok());
    const Json end = {
        {"phase", "Failed"},
        {"containerStatuses",
         Json::array({{{"name", "worker"}, {"state", {{"running", nullptr}, {"terminated", {{"exitCode", 1}}}}}}})}};
    ATTUNE_CHECK(api_.Patch(kube::kPods, lost, kube::PatchType::kMerge, {{"status", end}}, "status", {}).ok());
    const std::string version(kube::ResourceVersion(*api_.Get(kube::kPods, lost, {})));
    const MonotonicTime begin = time_.Now();
    Start();
    Await("the first act", [&] {
      const auto now = api_.Get(kube::kPods, lost, {});
      return !now.ok() || kube::ResourceVersion(*now) != version;
    });
    const double seconds = Seconds(time_.Now() - begin);
    Report("start of the operator to its first act", seconds, "s", "< 5 (1,000 jobs)", seconds < 5);
  }

  const int jobs_, workers_;
  SystemTime time_;
  local::MemoryApi api_{time_, {.kinds = RoomyKinds(), .history_max = 1 << 15}};
  CallCounts calls_;
  kube::MeasuredApi counted_{api_, time_, [this](const kube::FinishedCall& call) { calls_.Count(call); }};
  Jobs seen_{api_};
  std::unique_ptr<Kubelets> kubelets_ = std::make_unique<Kubelets>(api_);
  std::unique_ptr<controller::Operator> operator_;
};

int Main(int argc, char** argv) {
  CLI::App app{"The operator with many jobs, against an API server in this process."};
  int jobs = 1000, workers = 9;
  app.add_option("--jobs", jobs)->capture_default_str()->check(CLI::Range(1, 10'000));
  app.add_option("--workers", workers, "of each job, beside one server")
      ->capture_default_str()
      ->check(CLI::Range(2, 9));
  CLI11_PARSE(app, argc, argv);
  log::SetLevel(log::Level::kError);
  std::printf("%d jobs of %d pods\n", jobs, workers + 1);
  Bench(jobs, workers).Run();
  return 0;
}

}  // namespace
}  // namespace attune::bench

int main(int argc, char** argv) { return attune::bench::Main(argc, argv); }
