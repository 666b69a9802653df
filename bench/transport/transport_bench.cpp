// Remote pull and push between two processes: plain TCP, TLS and shared memory side by side, beside a bare blocking
// socket loop that moves the same bytes and really gathers or adds the rows; then what an idle job costs.
//   transport_bench [--seconds S] [--dim D] [--batch N] [--keys N] [--only tcp,tls,memory,bare,idle]
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "base/log.h"
#include "base/random.h"
#include "ps/runtime/server_runtime.h"
#include "tests/ps/transport/certificates.h"

namespace attune::ps {
namespace {

struct Settings {
  double seconds = 2;
  size_t dim = 64;
  size_t batch = 256;
  uint64_t keys = 1'000'000;
  std::string only = "bare,tcp,tls,memory,idle";
  bool Wants(const char* what) const {
    return ("," + only + ",").find("," + std::string(what) + ",") != std::string::npos;
  }
};
Settings settings;

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); }

enum Distribution { kUniform, kZipf };

// Batches drawn beforehand, so that drawing is not measured. Zipf with exponent 1.1, scattered over the keys.
std::vector<std::vector<Key>> Batches(Distribution distribution) {
  constexpr size_t kBatches = 256;
  Random random(distribution == kUniform ? 1 : 2);
  std::vector<double> sums;
  if (distribution == kZipf) {
    double sum = 0;
    for (uint64_t rank = 1; rank <= settings.keys; ++rank) {
      sums.push_back(sum += 1 / std::pow(static_cast<double>(rank), 1.1));
    }
  }
  std::vector<std::vector<Key>> batches(kBatches);
  for (std::vector<Key>& batch : batches) {
    while (batch.size() < settings.batch) {
      uint64_t key = random.Below(settings.keys);
      if (distribution == kZipf) {
        const auto rank = std::ranges::lower_bound(sums, random.Uniform() * sums.back()) - sums.begin();
        key = SplitMix64(static_cast<uint64_t>(rank)) % settings.keys;
      }
      if (std::ranges::find(batch, key) == batch.end()) batch.push_back(key);
    }
  }
  return batches;
}

struct Rates {
  double keys_per_second = 0;
  double p50_us = 0, p99_us = 0;
  double calls = 0;                       // warm-up included
  double worker_cpu = 0, server_cpu = 0;  // seconds, likewise
};

// Calls `issue` (which starts a batch) with `in_flight` batches under way and `finish` (which ends the oldest).
Rates Measure(size_t in_flight, const std::function<void(size_t slot)>& issue,
              const std::function<void(size_t slot)>& finish) {
  std::vector<double> begun_at(in_flight), latencies;
  size_t begun = 0, ended = 0;
  double start = Now(), from = start;
  const double warm = settings.seconds / 4;
  size_t counted = 0;
  while (Now() - start < settings.seconds + warm) {
    if (counted == 0 && Now() - start >= warm) {
      from = Now();
      counted = ended;
      latencies.clear();
    }
    while (begun - ended < in_flight) {
      begun_at[begun % in_flight] = Now();
      issue(begun++ % in_flight);
    }
    finish(ended % in_flight);
    latencies.push_back(Now() - begun_at[ended % in_flight]);
    ++ended;
  }
  Rates rates{.keys_per_second = static_cast<double>((ended - counted) * settings.batch) / (Now() - from)};
  while (ended < begun) finish(ended++ % in_flight);
  rates.calls = static_cast<double>(ended);
  std::ranges::sort(latencies);
  rates.p50_us = latencies[latencies.size() / 2] * 1e6;
  rates.p99_us = latencies[latencies.size() * 99 / 100] * 1e6;
  return rates;
}

void Print(const char* transport, const char* operation, const char* distribution, size_t in_flight,
           const Rates& rates) {
  std::printf("%-8s %-5s %-8s %zu in flight  %8.2f M keys/s   p50 %7.0f us  p99 %7.0f us", transport, operation,
              distribution, in_flight, rates.keys_per_second / 1e6, rates.p50_us, rates.p99_us);
  // What it would cost on cores of its own: tells transports apart also on a busy machine.
  if (rates.server_cpu > 0) {
    std::printf("   CPU per call: worker %5.1f us, server %5.1f us", rates.worker_cpu / rates.calls * 1e6,
                rates.server_cpu / rates.calls * 1e6);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// --- a bare loop

bool WriteAll(int fd, const void* from, size_t size) {
  for (const char* at = static_cast<const char*>(from); size > 0;) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}
bool ReadAll(int fd, void* to, size_t size) {
  for (char* at = static_cast<char*>(to); size > 0;) {
    const ssize_t n = ::recv(fd, at, size, 0);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}
void Tune(int fd) {
  const int yes = 1, buffer = 4 << 20;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
}

// The other process: reads keys (and gradients), touches its slab, answers.
[[noreturn]] void ServeBare(int listener, bool push) {
  std::vector<float> slab(settings.keys * settings.dim, 1.0F);
  const int fd = ::accept(listener, nullptr, nullptr);
  Tune(fd);
  std::vector<Key> keys(settings.batch);
  std::vector<float> rows(settings.batch * settings.dim);
  uint64_t done = 1;
  for (;;) {
    if (!ReadAll(fd, keys.data(), keys.size() * sizeof(Key))) ::_exit(0);
    if (push && !ReadAll(fd, rows.data(), rows.size() * sizeof(float))) ::_exit(0);
    for (size_t i = 0; i < keys.size(); ++i) {
      float* const row = &slab[keys[i] * settings.dim];
      float* const other = &rows[i * settings.dim];
      if (push) {
        for (size_t j = 0; j < settings.dim; ++j) row[j] += other[j];
      } else {
        std::memcpy(other, row, settings.dim * sizeof(float));
      }
    }
    const bool answered =
        push ? WriteAll(fd, &done, sizeof done) : WriteAll(fd, rows.data(), rows.size() * sizeof(float));
    if (!answered) ::_exit(0);
  }
}

Rates MeasureBare(bool push, size_t in_flight, const std::vector<std::vector<Key>>& batches) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener, 1) != 0) std::exit(1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const pid_t child = ::fork();
  if (child == 0) ServeBare(listener, push);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  Tune(fd);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) std::exit(1);
  std::vector<float> rows(settings.batch * settings.dim, 1e-3F);
  uint64_t done = 0;
  size_t next = 0;
  const Rates rates = Measure(
      in_flight,
      [&](size_t) {
        const std::vector<Key>& keys = batches[next++ % batches.size()];
        (void)WriteAll(fd, keys.data(), keys.size() * sizeof(Key));
        if (push) (void)WriteAll(fd, rows.data(), rows.size() * sizeof(float));
      },
      [&](size_t) {
        (void)(push ? ReadAll(fd, &done, sizeof done) : ReadAll(fd, rows.data(), rows.size() * sizeof(float)));
      });
  ::close(fd);
  ::close(listener);
  ::waitpid(child, nullptr, 0);
  return rates;
}

// --- Attune

struct Path {
  std::string name;
  std::string tls_directory;
  bool shared_memory = false;
};

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// The server process: prints its coordinator's address into the pipe and serves until the other pipe closes; then
// prints the seconds of CPU it has used between the two bytes it is sent.
[[noreturn]] void Serve(const Path& path, int writer, int reader) {
  log::SetLevel(log::Level::kWarn);
  static const SystemTime time;
  ServerRuntime::Options options{
      .job_uid = "uid", .tls_directory = path.tls_directory, .shared_memory = path.shared_memory};
  options.coordinator_here.emplace();
  options.coordinator_here->core.job_uid = "uid";
  auto server = ServerRuntime::Start(options, time);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", attune::ToString(server.status()).c_str());
    std::exit(1);
  }
  const std::string line = (*server)->coordinator_address() + "\n";
  (void)!::write(writer, line.data(), line.size());
  char byte;
  while (::read(reader, &byte, 1) == 1) {
    const double used = CpuSeconds();
    (void)!::write(writer, &used, sizeof used);
  }
  std::_Exit(0);
}

double ServerCpuSeconds(int writer, int reader) {
  double used = 0;
  (void)!::write(writer, "?", 1);
  (void)!::read(reader, &used, sizeof used);
  return used;
}

void MeasureIdle(int writer, int reader) {
  const auto server_used = [&] { return ServerCpuSeconds(writer, reader); };
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double start = Now(), server = server_used(), worker = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double took = Now() - start;
  std::printf("idle     server %.4f cores, worker %.4f cores\n", (server_used() - server) / took,
              (CpuSeconds() - worker) / took);
}

int RunAttune(const Path& path, bool measure) {
  int to_us[2], to_server[2];
  if (::pipe(to_us) != 0 || ::pipe(to_server) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(to_server[1]);
    Serve(path, to_us[1], to_server[0]);
  }
  char buffer[256];
  const ssize_t n = ::read(to_us[0], buffer, sizeof buffer);
  if (n <= 1) return 1;
  auto session = Session::Connect({.job = "bench",
                                   .job_uid = "uid",
                                   .coordinator = std::string(buffer, static_cast<size_t>(n) - 1),
                                   .tls_directory = path.tls_directory,
                                   .shared_memory = path.shared_memory,
                                   .drain_on_sigterm = false});
  if (!session.ok()) return std::fprintf(stderr, "%s\n", attune::ToString(session.status()).c_str()), 1;
  const auto table = (*session)->OpenTable("bench", {.dim = static_cast<uint32_t>(settings.dim), .optimizer = Sgd{}});
  if (!table.ok()) return 1;
  std::vector<Key> all(4096);
  const std::vector<float> zeros(all.size() * settings.dim);
  for (Key first = 0; first < settings.keys; first += all.size()) {  // rows exist before anything is measured
    for (size_t i = 0; i < all.size(); ++i) all[i] = first + i;
    if (const Status status = table->Push(all, zeros); !status.ok()) {
      return std::fprintf(stderr, "%s\n", attune::ToString(status).c_str()), 1;
    }
  }
  std::vector<std::vector<float>> rows(8, std::vector<float>(settings.batch * settings.dim, 1e-6F));
  std::vector<Future> futures(8);
  const auto finish = [&](size_t slot) {
    if (const Status status = futures[slot].Wait(); !status.ok()) {
      std::fprintf(stderr, "%s\n", attune::ToString(status).c_str());
      std::exit(1);
    }
  };
  for (const Distribution distribution : {kUniform, kZipf}) {
    if (!measure) break;
    const std::vector<std::vector<Key>> batches = Batches(distribution);
    for (const bool push : {false, true}) {
      for (const size_t in_flight : {size_t{1}, size_t{8}}) {
        size_t next = 0;
        const double worker_before = CpuSeconds(), server_before = ServerCpuSeconds(to_server[1], to_us[0]);
        Rates rates = Measure(
            in_flight,
            [&](size_t slot) {
              const std::vector<Key>& keys = batches[next++ % batches.size()];
              futures[slot] = push ? table->PushAsync(keys, rows[slot]) : table->PullAsync(keys, rows[slot]);
            },
            finish);
        rates.worker_cpu = CpuSeconds() - worker_before;
        rates.server_cpu = ServerCpuSeconds(to_server[1], to_us[0]) - server_before;
        Print(path.name.c_str(), push ? "push" : "pull", distribution == kUniform ? "uniform" : "zipf", in_flight,
              rates);
      }
    }
  }
  if (!measure) MeasureIdle(to_server[1], to_us[0]);
  session->reset();
  ::close(to_server[1]);
  ::waitpid(child, nullptr, 0);
  return 0;
}

// Each transport in a process of its own: gRPC does not survive a fork.
int InChild(const std::function<int()>& run) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const int code = run();
    std::fflush(stdout);
    std::_Exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int Run() {
  log::SetLevel(log::Level::kWarn);
  std::printf("dim %zu, %zu keys per call, %llu rows\n", settings.dim, settings.batch,
              static_cast<unsigned long long>(settings.keys));
  if (settings.Wants("bare")) {
    const std::vector<std::vector<Key>> batches = Batches(kUniform);
    for (const bool push : {false, true}) {
      for (const size_t in_flight : {size_t{1}, size_t{8}}) {
        Print("bare", push ? "push" : "pull", "uniform", in_flight, MeasureBare(push, in_flight, batches));
      }
    }
  }
  int worst = 0;
  const auto run = [&](const Path& path, bool measure) {
    worst = std::max(worst, InChild([&] { return RunAttune(path, measure); }));
  };
  if (settings.Wants("tcp")) run({.name = "tcp"}, true);
  if (settings.Wants("tls")) {
    const auto directory = std::filesystem::temp_directory_path() / ("attune-bench-" + std::to_string(::getpid()));
    TestAuthority().Write(directory, {});
    run({.name = "tls", .tls_directory = directory}, true);
    std::filesystem::remove_all(directory);
  }
  if (settings.Wants("memory")) run({.name = "memory", .shared_memory = true}, true);
  if (settings.Wants("idle")) run({.name = "idle", .shared_memory = true}, false);
  return worst;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  using attune::ps::settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const char* const value = argv[i + 1];
    if (flag == "--seconds") settings.seconds = std::strtod(value, nullptr);
    if (flag == "--dim") settings.dim = std::strtoul(value, nullptr, 10);
    if (flag == "--batch") settings.batch = std::strtoul(value, nullptr, 10);
    if (flag == "--keys") settings.keys = std::strtoull(value, nullptr, 10);
    if (flag == "--only") settings.only = value;
  }
  return attune::ps::Run();
}
