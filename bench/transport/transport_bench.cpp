// Remote pull and push between two processes: plain TCP, TLS and shared memory side by side, beside a bare blocking
// socket loop that moves the same bytes and really gathers or adds the rows; then what an idle job costs. Goals are
// printed beside the figures they are for.
//   transport_bench --help
#include <CLI/CLI.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "bench/transport/candidates.h"
#include "tests/ps/transport/certificates.h"

namespace attune::ps::bench {
namespace {

// In million keys/s, for dim 64 on two cores where the bare loop does 1.6 to 1.7 with one call in flight, 9.0 (pull)
// and 9.2 (push) with eight. 0: none.
struct Goal {
  const char* transport;
  bool push;
  size_t in_flight;
  double keys;
};
constexpr Goal kGoals[] = {{"tcp", false, 1, 1.6},    {"tcp", true, 1, 1.5},   {"tcp", false, 8, 7.0},
                           {"tcp", true, 8, 6.5},     {"tls", false, 8, 3.5},  {"tls", true, 8, 3.5},
                           {"memory", false, 1, 8.0}, {"memory", true, 1, 6.5}};
constexpr size_t kGoalDim = 64;

double GoalOf(const Result& result) {
  for (const Goal& goal : kGoals) {
    if (result.of.dim == kGoalDim && !result.of.zipf && result.of.push == goal.push &&
        result.of.in_flight == goal.in_flight && std::string(result.transport) == goal.transport) {
      return goal.keys;
    }
  }
  return 0;
}

// Runs in a process of its own, because gRPC does not survive a fork; what it returns comes back through a pipe.
template <typename T>
std::vector<T> InChild(const std::function<std::vector<T>()>& run) {
  int pipe[2];
  if (::pipe(pipe) != 0) return {};
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    const std::vector<T> results = run();
    (void)!::write(pipe[1], results.data(), results.size() * sizeof(T));
    std::_Exit(0);
  }
  ::close(pipe[1]);
  std::vector<T> results;
  for (T result; ::read(pipe[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result);) {
    results.push_back(result);
  }
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return results;
}

void Print(const std::vector<Result>& results, const std::vector<Result>& bare) {
  for (const Result& result : results) {
    std::printf("%-7s %-4s %-8s dim %3zu  %zu in flight  %6.2f (%5.2f .. %5.2f)", result.transport,
                result.of.push ? "push" : "pull", result.of.zipf ? "zipf" : "uniform", result.of.dim,
                result.of.in_flight, result.keys_per_second / 1e6, result.slowest / 1e6, result.fastest / 1e6);
    const auto same = std::ranges::find(bare, result.of, &Result::of);
    if (same != bare.end()) std::printf("  %5.2f of bare", result.keys_per_second / same->keys_per_second);
    std::printf("  p50 %5.0f p99 %6.0f us  CPU per call %5.1f + %5.1f us", result.p50_us, result.p99_us,
                result.worker_us, result.server_us);
    if (const double goal = GoalOf(result); goal > 0) {
      std::printf("  goal %.1f %s", goal, result.keys_per_second >= goal * 1e6 ? "met" : "MISSED");
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

int Run(const Settings& settings) {
  log::SetLevel(log::Level::kWarn);
  std::printf(
      "remote pull and push, 2 processes, %zu keys per call, %llu rows: million keys/s (median, slowest .. fastest), "
      "share of the bare loop, time of a call, CPU of worker + server per call\n",
      settings.batch, static_cast<unsigned long long>(settings.keys));
  const auto wants = [&](const char* what) {
    return std::ranges::find(settings.transports, what) != settings.transports.end();
  };
  const auto certificates = std::filesystem::temp_directory_path() / ("attune-bench-" + std::to_string(::getpid()));
  if (wants("tls")) TestAuthority().Write(certificates, {});
  bool complete = true;
  for (const size_t dim : settings.dims) {
    std::vector<Result> bare;
    if (wants("bare")) {
      bare = InChild<Result>([&] { return MeasureBare(settings, dim); });
      Print(bare, bare);
    }
    for (const Path& path :
         {Path{.name = "tcp", .tls_directory = ""}, Path{.name = "tls", .tls_directory = certificates},
          Path{.name = "memory", .tls_directory = "", .shared_memory = true}}) {
      if (!wants(path.name.c_str())) continue;
      const std::vector<Result> results = InChild<Result>([&] { return MeasureAttune(settings, path, dim); });
      complete = complete && !results.empty();
      Print(results, bare);
    }
  }
  if (wants("idle")) {
    const auto idle = InChild<IdleCores>([&] { return std::vector{MeasureIdle(settings)}; });
    if (!idle.empty()) {
      std::printf("idle    server %.4f cores, worker %.4f cores  goal 0.02 %s\n", idle[0].server, idle[0].worker,
                  std::max(idle[0].server, idle[0].worker) < 0.02 ? "met" : "MISSED");
    }
  }
  std::filesystem::remove_all(certificates);
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace attune::ps::bench

int main(int argc, char** argv) {
  attune::ps::bench::Settings settings;
  CLI::App app("Remote pull and push between two processes, beside a bare socket loop");
  app.add_option("--seconds", settings.seconds, "Length of one measurement")->capture_default_str();
  app.add_option("--repetitions", settings.repetitions, "Measurements of each case")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--dims", settings.dims, "Values per row")->delimiter(',')->capture_default_str();
  app.add_option("--batch", settings.batch, "Keys per call")->capture_default_str();
  app.add_option("--keys", settings.keys, "Rows of the table")->capture_default_str();
  app.add_option("--in-flight", settings.in_flight, "Calls in flight")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, attune::ps::bench::kInFlightMax))
      ->capture_default_str();
  const auto choice = [&app](const char* flag, std::vector<std::string>& chosen, const char* help) {
    const std::vector<std::string> all = chosen;
    app.add_option(flag, chosen, help)->delimiter(',')->check(CLI::IsMember(all))->capture_default_str();
  };
  choice("--only", settings.transports, "What to measure");
  choice("--distributions", settings.distributions, "Of the keys");
  choice("--operations", settings.operations, "Calls");
  CLI11_PARSE(app, argc, argv);
  return attune::ps::bench::Run(settings);
}
