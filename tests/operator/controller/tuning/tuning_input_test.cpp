#include "operator/controller/tuning/tuning_input.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

namespace attune::controller::tuning_input_test {
namespace {

telemetry::PodSample Pod(const std::string& name, MonotonicTime at) {
  telemetry::PodSample pod;
  pod.pod = name;
  pod.connected = true;
  pod.heard_at = pod.reported_at = at;
  pod.window.set_sequence(1);
  pod.window.set_duration_seconds(2);
  pod.usage.set_window_seconds(2);
  pod.usage.set_cpu_seconds(3);
  pod.usage.set_cpu_limit_cores(2);
  pod.usage.set_memory_bytes(300);
  pod.usage.set_memory_limit_bytes(1000);
  return pod;
}

telemetry::PodSample Worker(const std::string& name, MonotonicTime at, uint64_t steps, double staleness,
                            uint64_t measured) {
  telemetry::PodSample pod = Pod(name, at);
  v1::WorkerWindow& worker = *pod.window.mutable_worker();
  worker.set_steps(steps);
  worker.mutable_step_seconds()->set_p50(0.1);
  worker.mutable_step_seconds()->set_mean(0.25);
  worker.set_pull_wait_seconds(0.8);
  worker.set_push_wait_seconds(0.4);
  worker.set_staleness_mean(staleness);
  worker.set_staleness_count(measured);
  return pod;
}

ObservedPod RunningWorker(std::optional<int64_t> millicores) {
  ObservedPod pod{.name = "a-worker-0", .uid = "u", .index = 0, .phase = PodPhase::kRunning};
  pod.container.state = RoleContainer::State::kRunning;
  pod.resize.asked.cpu.limit = millicores;
  return pod;
}

TuningInput InputOf(const std::vector<telemetry::PodSample>& pods, Now now) {
  Observed observed;
  observed.sample.pods = pods;
  const ServersView servers = ViewServers(observed, PlanOptions{}, now);
  return MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now);
}

TEST(TuningInput, StalenessIsWeighedByStepsAndOnlyWhereItWasMeasured) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  const TuningInput input = InputOf({Worker("w0", now.monotonic, 30, 2.0, 5), Worker("w1", now.monotonic, 10, 6.0, 900),
                                     Worker("w2", now.monotonic, 50, 0.0, 0)},
                                    now);
  ASSERT_TRUE(input.staleness.has_value());
  EXPECT_DOUBLE_EQ(*input.staleness, 3.0);
}

TEST(TuningInput, NobodyWhoMeasuredStalenessMeansThatItIsUnknown) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  EXPECT_FALSE(InputOf({Worker("w0", now.monotonic, 30, 0, 0)}, now).staleness.has_value());
  const MonotonicTime old = now.monotonic - std::chrono::seconds(60);
  EXPECT_FALSE(InputOf({Worker("w0", old, 30, 2, 5)}, now).staleness.has_value()) << "old reports say nothing";
}

TEST(TuningInput, FiguresOfNodesAreSharesOfTheirLimits) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  telemetry::PodSample server = Pod("s0", now.monotonic);
  server.window.mutable_server()->set_pulls(60);
  server.window.mutable_server()->set_pushes(40);
  const TuningInput input = InputOf({server, Worker("w0", now.monotonic, 8, 1, 1)}, now);
  ASSERT_EQ(input.server_figures.size(), 1u);
  ASSERT_EQ(input.worker_figures.size(), 1u);
  EXPECT_DOUBLE_EQ(input.server_figures[0].cpu, 0.75);
  EXPECT_DOUBLE_EQ(input.server_figures[0].memory, 0.3);
  EXPECT_DOUBLE_EQ(input.server_figures[0].requests, 50);
  EXPECT_DOUBLE_EQ(input.worker_figures[0].step_seconds, 0.25);
  EXPECT_DOUBLE_EQ(input.worker_figures[0].wait_share, 0.6);
  EXPECT_DOUBLE_EQ(input.worker_figures[0].at_work.value_or(-1), 0.4);
}

TEST(TuningInput, ThreadsAreWhatWorkersOfferAndThePaceWhatTheSpecSays) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  telemetry::PodSample four = Worker("w0", now.monotonic, 8, 1, 1), two = Worker("w1", now.monotonic, 8, 1, 1);
  four.window.mutable_worker()->set_threads(4);
  four.window.mutable_worker()->set_threads_max(8);
  two.window.mutable_worker()->set_threads(2);
  two.window.mutable_worker()->set_threads_max(6);
  Observed observed;
  observed.sample.pods = {four, two};
  observed.job.spec.synchronization = api::ToManifest(SyncMode::Ssp(3));
  const auto input = [&] {
    const ServersView servers = ViewServers(observed, PlanOptions{}, now);
    return MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now);
  };
  EXPECT_EQ(input().threads_max, 6) << "what all of them take";
  EXPECT_EQ(input().wanted.threads, 2);
  EXPECT_EQ(input().wanted.slack, 3);
  EXPECT_FALSE(input().switches_modes);
  observed.job.spec.worker_threads = 5;
  EXPECT_EQ(input().wanted.threads, 5);
  observed.job.status.abilities = api::Abilities{.synchronization_modes = true};
  EXPECT_TRUE(input().switches_modes);
  observed.sample.pods = {Worker("w0", now.monotonic, 8, 1, 1)};
  EXPECT_EQ(input().threads_max, 0) << "this program offers none";
}

// A worker computes when it waits neither for rows nor for the pace; a server serves, as one thread, within its limit.
TEST(TuningInput, HowMuchOfTheTimeProcessesAreAtWork) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  telemetry::PodSample worker = Worker("w0", now.monotonic, 8, 1, 1), idle = Worker("w1", now.monotonic, 0, 1, 1);
  worker.window.mutable_worker()->set_pace_wait_seconds(0.4);
  telemetry::PodSample server = Pod("s0", now.monotonic);
  server.window.mutable_server()->set_pulls(1);
  struct Row {
    const char* name;
    double cpu_seconds, limit, expected;
    std::optional<double> serving_seconds = {};  // of the half of a second that the process's window had
  };
  const Row rows[] = {{"half of one core", 0.5, 2, 0.5},
                      {"more than one", 1.5, 2, 1},
                      {"half of its share", 0.1, 0.2, 0.5},
                      {"it runs the coordinator, too", 0.19, 0.2, 0.25, 0.025}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    server.usage.set_window_seconds(1);
    server.usage.set_cpu_seconds(row.cpu_seconds);
    server.usage.set_cpu_limit_cores(row.limit);
    if (row.serving_seconds) {
      server.window.set_duration_seconds(0.5);
      server.window.mutable_server()->set_serving_cpu_seconds(*row.serving_seconds);
    }
    const TuningInput input = InputOf({server, worker, idle}, now);
    EXPECT_DOUBLE_EQ(input.server_figures.at(0).at_work.value_or(-1), row.expected);
    EXPECT_NEAR(input.worker_figures.at(0).at_work.value_or(-1), 0.2, 1e-9);
    EXPECT_FALSE(input.worker_figures.at(1).at_work) << "it makes no steps";
  }
}

TEST(TuningInput, PodsCanMoveWhereTheJobHasPodsOnTwoMachines) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  Observed observed;
  observed.pods = {RunningWorker(std::nullopt), RunningWorker(std::nullopt)};
  const auto can_move = [&] {
    const ServersView servers = ViewServers(observed, PlanOptions{}, now);
    return MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now).can_move_pods;
  };
  EXPECT_FALSE(can_move()) << "they are not placed yet";
  observed.pods[0].node = observed.pods[1].node = "node-1";
  EXPECT_FALSE(can_move());
  observed.pods[1].node = "node-2";
  EXPECT_TRUE(can_move());
  observed.job.spec.placement.workers = api::WorkerPlacement::kSpread;
  EXPECT_FALSE(can_move()) << "it would be taken back";
  observed.job.spec.placement.workers = api::WorkerPlacement::kAny;
  observed.pods[1].deletion_time = WallTime{};
  EXPECT_FALSE(can_move()) << "it leaves";
}

TEST(TuningInput, TheLimitOfCpuIsAKnobWhereTheSpecGivesARangeAndPodsHaveALimit) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  struct Row {
    const char* name;
    std::function<void(Observed&)> change;
    std::optional<int32_t> expected;
  };
  const auto limit_of_template = [](Observed& observed) {
    observed.job.spec.workers.pod_template = kube::Json::parse(
        R"({"spec": {"containers": [{"name": "worker", "resources": {"limits": {"cpu": "750m"}}}]}})");
  };
  const Row rows[] = {
      {"no range", [&](Observed& observed) { limit_of_template(observed); }, std::nullopt},
      {"a range, and a template that says nothing: pods begin with one core",
       [](Observed& observed) { observed.job.spec.workers.resources.cpu.max = 4000; }, 1000},
      {"pods that request and have no limit",
       [](Observed& observed) {
         observed.job.spec.workers.pod_template = kube::Json::parse(
             R"({"spec": {"containers": [{"name": "worker", "resources": {"requests": {"cpu": "750m"}}}]}})");
         observed.job.spec.workers.resources.cpu.max = 4000;
       },
       std::nullopt},
      {"the template's limit",
       [&](Observed& observed) {
         limit_of_template(observed);
         observed.job.spec.workers.resources.cpu.max = 4000;
       },
       750},
      {"the target counts before the template",
       [&](Observed& observed) {
         limit_of_template(observed);
         observed.job.spec.workers.resources.cpu = {.min = 100, .max = 4000, .target = 1250};
       },
       1250},
      {"a pod that was made without a limit, whatever the spec says now",
       [&](Observed& observed) {
         observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
         observed.pods = {RunningWorker({})};
       },
       std::nullopt},
      {"a pod on its way to the limit",
       [&](Observed& observed) {
         observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
         observed.pods = {RunningWorker(500)};
       },
       1250},
      {"a cluster that cannot resize",
       [&](Observed& observed) {
         observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
         observed.pods = {RunningWorker(500)};
         observed.blocked = {{"ResizePod a-worker-0", kReasonResizeNotSupported, "update the cluster"}};
       },
       std::nullopt},
      {"an operator that may not",
       [&](Observed& observed) {
         observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
         observed.pods = {RunningWorker(500)};
         observed.blocked = {{"ResizePod a-worker-0", kReasonForbidden, "give it this right"}};
       },
       std::nullopt},
      {"another act that is refused",
       [&](Observed& observed) {
         observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
         observed.pods = {RunningWorker(500)};
         observed.blocked = {{"CreatePod a-worker-1", kReasonForbidden, "give it this right"}};
       },
       1250},
  };
  for (const Row& row : rows) {
    Observed observed;
    observed.job.spec.workers.replicas = 1;
    row.change(observed);
    const ServersView servers = ViewServers(observed, PlanOptions{}, now);
    const TuningInput input =
        MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now);
    EXPECT_EQ(input.wanted.worker_millicores, row.expected) << row.name;
    EXPECT_EQ(input.wanted.server_millicores, std::nullopt) << row.name;
    EXPECT_EQ(input.high.worker_millicores, row.expected ? std::optional(4000) : std::nullopt) << row.name;
  }
}

TEST(TuningInput, AJobIsSettledWhenItsPodsHaveTheirCpuAsFarAsTheClusterReportsIt) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  const auto given = [](int64_t millicores) {
    return ContainerFigures{.cpu = {.request = millicores, .limit = millicores}, .memory = {}};
  };
  struct Row {
    const char* name;
    int64_t asked;
    std::optional<ContainerFigures> actual;
    ResizeState state;
    bool settled;
  };
  const Row rows[] = {
      {"given", 1250, given(1250), ResizeState::kNone, true},
      {"not asked for yet", 500, given(500), ResizeState::kNone, false},
      {"asked for, not given", 1250, given(500), ResizeState::kInProgress, false},
      {"asked for, and never on this machine", 1250, given(500), ResizeState::kInfeasible, false},
      {"a cluster that reports no figures in force", 1250, std::nullopt, ResizeState::kNone, true},
  };
  for (const Row& row : rows) {
    Observed observed;
    observed.job.name = "a";
    observed.job.spec.servers.replicas = observed.job.spec.workers.replicas = 1;
    observed.job.spec.workers.resources.cpu = {.max = 4000, .target = 1250};
    observed.job.status.coordinator = "a-server-0";
    ObservedPod server = RunningWorker({}), worker = RunningWorker(row.asked);
    server.name = "a-server-0";
    server.uid = "s";
    server.role = RoleName::kServer;
    server.ready = worker.ready = true;
    worker.resize.actual = row.actual;
    worker.resize.state = row.state;
    observed.pods = {server, worker};
    observed.sample.pods = {Worker("a-worker-0", now.monotonic, 8, 1, 1)};
    observed.sample.job.emplace().set_servers(1);
    const ServersView servers = ViewServers(observed, PlanOptions{}, now);
    const TuningInput input =
        MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now);
    EXPECT_EQ(input.settled, row.settled) << row.name;
    EXPECT_EQ(input.infeasible.has_value(), row.state == ResizeState::kInfeasible) << row.name;
    EXPECT_EQ(input.infeasible ? input.infeasible->millicores : 1250, 1250) << row.name;
  }
}

TEST(TuningInput, MemoryIsThatOfPodsWithALimitOfTheirOwnAsTheirSidecarsReadIt) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  Observed observed;
  observed.job.spec.workers.resources.memory.max = 5000;
  ObservedPod limited = RunningWorker({}), unlimited = RunningWorker({}), silent = RunningWorker({});
  limited.resize.asked.memory.limit = silent.resize.asked.memory.limit = 900;  // a resize is in progress
  unlimited.name = "a-worker-1";
  silent.name = "a-worker-2";
  observed.pods = {limited, unlimited, silent};
  observed.sample.pods = {Worker("a-worker-0", now.monotonic, 8, 1, 1), Worker("a-worker-1", now.monotonic, 8, 1, 1),
                          Worker("a-worker-2", now.monotonic - std::chrono::minutes(1), 8, 1, 1)};
  const ServersView servers = ViewServers(observed, PlanOptions{}, now);
  const TuningInput input = MakeTuningInput(observed, servers, ViewWorkers(observed, servers, PlanOptions{}, now), now);
  ASSERT_EQ(input.pod_memory.size(), 1u);
  EXPECT_EQ(input.pod_memory[0].pod, "a-worker-0");
  EXPECT_EQ(input.pod_memory[0].used, 300);
  EXPECT_EQ(input.pod_memory[0].limit, 1000) << "in force";
  EXPECT_EQ(input.pod_memory[0].max, 5000);
}

TEST(TuningInput, ANodeWithoutLimitsHasNoShares) {
  const Now now{.monotonic = MonotonicTime{} + std::chrono::seconds(100)};
  telemetry::PodSample worker = Worker("w0", now.monotonic, 8, 1, 1);
  worker.usage.set_cpu_limit_cores(0);
  worker.usage.set_memory_limit_bytes(0);
  const TuningInput input = InputOf({worker}, now);
  EXPECT_DOUBLE_EQ(input.worker_figures.at(0).cpu, 0);
  EXPECT_DOUBLE_EQ(input.worker_figures.at(0).memory, 0);
  EXPECT_FALSE(input.worker_memory.has_value());
}

}  // namespace
}  // namespace attune::controller::tuning_input_test
