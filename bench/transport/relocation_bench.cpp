// Rows relocated per second between two worker processes that both train: each in turn localizes all rows, batch after
// batch, while a thread of either process pulls and pushes random batches. Rows carry Adagrad's state.
//   relocation_bench --help
#include <CLI/CLI.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "base/log.h"
#include "base/random.h"
#include "ps/runtime/server/server_runtime.h"

namespace attune::ps {
namespace {

constexpr uint32_t kDim = 64;
constexpr size_t kStepKeys = 256;
constexpr double kGoal = 1e6;  // rows/s

struct Settings {
  uint64_t rows = 400'000;
  size_t batch = 4096;
  size_t in_flight = 4;
  int rounds = 3;  // the first one, from the server, is not counted
};

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void Die(const Status& status) {
  std::fprintf(stderr, "relocation_bench: %s\n", attune::ToString(status).c_str());
  std::_Exit(1);
}
void Must(const Status& status) {
  if (!status.ok()) Die(status);
}

[[noreturn]] void Serve(int writer, int reader) {
  log::SetLevel(log::Level::kWarn);
  static const SystemTime time;
  ServerRuntime::Options options{.job_uid = "uid"};
  options.coordinator_here.emplace();
  options.coordinator_here->core.job_uid = "uid";
  auto server = ServerRuntime::Start(options, time);
  if (!server.ok()) Die(server.status());
  const std::string line = (*server)->coordinator_address() + "\n";
  (void)!::write(writer, line.data(), line.size());
  char byte;
  (void)!::read(reader, &byte, 1);
  std::_Exit(0);
}

// What a worker says of its sweep over all rows.
struct Sweep {
  double seconds = 0, steps_per_second = 0;
};

// A worker process: trains until its pipe closes; each byte it is sent asks for one sweep.
[[noreturn]] void Work(const Settings& settings, const std::string& coordinator, uint32_t index, int reader,
                       int writer) {
  log::SetLevel(log::Level::kWarn);
  auto session = Session::Connect({.job = "bench",
                                   .job_uid = "uid",
                                   .index = index,
                                   .coordinator = coordinator,
                                   .row_bytes_max = uint64_t{4} << 30,
                                   .drain_on_sigterm = false});
  if (!session.ok()) Die(session.status());
  const auto table = (*session)->OpenTable("rows", {.dim = kDim, .optimizer = Adagrad{}});
  if (!table.ok()) Die(table.status());
  std::vector<Key> keys(settings.batch);
  const auto fill = [&](uint64_t first) {
    keys.clear();
    for (uint64_t row = first; row < std::min(settings.rows, first + settings.batch); ++row) keys.push_back(row);
  };
  const std::vector<float> zeros(settings.batch * kDim);
  for (uint64_t first = 0; index == 0 && first < settings.rows; first += settings.batch) {
    fill(first);
    Must(table->Push(keys, std::span(zeros).first(keys.size() * kDim)));
  }
  std::atomic<uint64_t> steps = 0;
  std::thread training([&] {
    Random random(index + 1);
    std::vector<Key> batch(kStepKeys);
    std::vector<float> rows(kStepKeys * kDim);
    for (;; ++steps) {
      for (Key& key : batch) key = random.Below(settings.rows);
      Must(table->Pull(batch, rows));
      Must(table->Push(batch, rows));
    }
  });
  char byte = 0;
  (void)!::write(writer, &byte, 1);  // ready
  while (::read(reader, &byte, 1) == 1) {
    const double start = Now();
    const uint64_t steps_before = steps;
    std::deque<LocalizeFuture> under_way;
    for (uint64_t first = 0; first < settings.rows; first += settings.batch) {
      fill(first);
      under_way.push_back(table->Localize(keys));
      if (under_way.size() < settings.in_flight) continue;
      Must(under_way.front().Wait());
      under_way.pop_front();
    }
    for (const LocalizeFuture& future : under_way) Must(future.Wait());
    const double seconds = Now() - start;
    const Sweep sweep{.seconds = seconds, .steps_per_second = static_cast<double>(steps - steps_before) / seconds};
    (void)!::write(writer, &sweep, sizeof sweep);
  }
  std::_Exit(0);
}

struct Child {
  pid_t process = 0;
  int to = -1, from = -1;
};
Child Fork(const std::function<void(int reader, int writer)>& run) {
  int to[2], from[2];
  if (::pipe(to) != 0 || ::pipe(from) != 0) std::exit(1);
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(to[1]);
    ::close(from[0]);
    run(to[0], from[1]);
  }
  ::close(to[0]);
  ::close(from[1]);
  return {.process = process, .to = to[1], .from = from[0]};
}

int Run(const Settings& settings) {
  std::vector<Child> children;
  children.push_back(Fork([](int reader, int writer) { Serve(writer, reader); }));
  char address[256];
  const ssize_t n = ::read(children[0].from, address, sizeof address);
  if (n <= 1) return 1;
  for (uint32_t index = 0; index < 2; ++index) {
    children.push_back(Fork([&](int reader, int writer) {
      for (const Child& other : children) ::close(other.to);
      Work(settings, std::string(address, static_cast<size_t>(n) - 1), index, reader, writer);
    }));
    char ready = 0;
    if (::read(children.back().from, &ready, 1) != 1) return 1;
  }
  bool complete = true;
  std::vector<double> rates;
  for (int round = 0; round < settings.rounds; ++round) {
    for (size_t worker = 1; worker <= 2 && complete; ++worker) {
      Sweep sweep;
      (void)!::write(children[worker].to, "l", 1);
      complete = ::read(children[worker].from, &sweep, sizeof sweep) == static_cast<ssize_t>(sizeof sweep);
      if (!complete) break;
      const double rate = static_cast<double>(settings.rows) / sweep.seconds;
      const bool from_server = rates.empty() && round == 0 && worker == 1;
      if (!from_server) rates.push_back(rate);
      std::printf("%s -> worker %zu: %.2f M rows/s; %.0f steps/s of its training meanwhile\n",
                  from_server   ? "server  "
                  : worker == 1 ? "worker 2"
                                : "worker 1",
                  worker, rate / 1e6, sweep.steps_per_second);
      std::fflush(stdout);
    }
  }
  std::ranges::sort(rates);
  if (!rates.empty()) {
    const double median = rates[rates.size() / 2];
    std::printf(
        "relocated between two processes, dim %u with Adagrad's state, %zu rows per call, %zu calls in flight: "
        "%.2f (%.2f .. %.2f) M rows/s  goal %.0f %s\n",
        kDim, settings.batch, settings.in_flight, median / 1e6, rates.front() / 1e6, rates.back() / 1e6, kGoal / 1e6,
        median >= kGoal ? "met" : "MISSED");
  }
  for (size_t i = children.size(); i-- > 0;) {
    ::close(children[i].to);
    ::waitpid(children[i].process, nullptr, 0);
  }
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  attune::ps::Settings settings;
  CLI::App app("Rows relocated per second between two worker processes that both train");
  app.add_option("--rows", settings.rows, "Rows of the table")->capture_default_str();
  app.add_option("--batch", settings.batch, "Rows per call")->capture_default_str();
  app.add_option("--in-flight", settings.in_flight, "Calls in flight")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Rounds; the first, from the server, is not counted")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return attune::ps::Run(settings);
}
