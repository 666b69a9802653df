#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "bench/cpu_seconds.h"
#include "bench/transport/candidates.h"
#include "ps/runtime/server/server_runtime.h"

namespace attune::ps::bench {
namespace {

void Complain(const Status& status) { std::fprintf(stderr, "transport_bench: %s\n", attune::ToString(status).c_str()); }

// The server process: writes its coordinator's address into one pipe and serves until the other one closes.
[[noreturn]] void Serve(const Path& path, int writer, int reader) {
  log::SetLevel(log::Level::kWarn);
  static const SystemTime time;
  ServerRuntime::Options options{
      .job_uid = "uid", .tls_directory = path.tls_directory, .shared_memory = path.shared_memory};
  options.coordinator_here.emplace();
  options.coordinator_here->core.job_uid = "uid";
  auto server = ServerRuntime::Start(options, time);
  if (!server.ok()) {
    Complain(server.status());
    std::_Exit(1);
  }
  const std::string line = (*server)->coordinator_address() + "\n";
  (void)!::write(writer, line.data(), line.size());
  char byte;
  (void)!::read(reader, &byte, 1);
  std::_Exit(0);
}

// A server in a process of its own and a session with it.
class Job {
 public:
  explicit Job(const Path& path) {
    int to_us[2], to_server[2];
    if (::pipe(to_us) != 0 || ::pipe(to_server) != 0) return;
    server_ = ::fork();
    if (server_ == 0) {
      ::close(to_server[1]);
      Serve(path, to_us[1], to_server[0]);
    }
    ::close(to_server[0]);
    ::close(to_us[1]);
    until_ = to_server[1];
    char buffer[256];
    const ssize_t n = ::read(to_us[0], buffer, sizeof buffer);
    ::close(to_us[0]);
    if (n <= 1) return;
    auto session = Session::Connect({.job = "bench",
                                     .job_uid = "uid",
                                     .coordinator = std::string(buffer, static_cast<size_t>(n) - 1),
                                     .tls_directory = path.tls_directory,
                                     .shared_memory = path.shared_memory,
                                     .drain_on_sigterm = false});
    if (session.ok()) {
      session_ = *std::move(session);
    } else {
      Complain(session.status());
    }
  }
  ~Job() {
    session_.reset();
    ::close(until_);
    if (server_ > 0) ::waitpid(server_, nullptr, 0);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Session* session() { return session_.get(); }
  pid_t server() const { return server_; }

 private:
  pid_t server_ = 0;
  int until_ = -1;
  std::unique_ptr<Session> session_;
};

// Rows exist before anything is measured.
Status CreateRows(const Settings& settings, const Table& table, size_t dim) {
  std::vector<Key> keys(4096);
  const std::vector<float> zeros(keys.size() * dim);
  for (Key first = 0; first < settings.keys; first += keys.size()) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = first + i;
    RETURN_IF_ERROR(table.Push(keys, zeros));
  }
  return OkStatus();
}

}  // namespace

std::vector<Result> MeasureAttune(const Settings& settings, const Path& path, size_t dim) {
  Job job(path);
  if (job.session() == nullptr) return {};
  const auto table = job.session()->OpenTable("bench", {.dim = static_cast<uint32_t>(dim), .optimizer = Sgd{}});
  if (!table.ok()) return Complain(table.status()), std::vector<Result>();
  if (const Status status = CreateRows(settings, *table, dim); !status.ok())
    return Complain(status), std::vector<Result>();
  std::vector<std::vector<float>> rows(kInFlightMax, std::vector<float>(settings.batch * dim, 1e-6F));
  std::vector<Future> futures(kInFlightMax);
  const auto must = [](const Status& status) {
    if (status.ok()) return;
    Complain(status);
    std::_Exit(1);
  };
  const Candidate candidate{.transport = path.name,
                            .server = job.server(),
                            .issue =
                                [&](const Case& of, size_t slot, const std::vector<Key>& keys) {
                                  // Waiting for each call is what a program does that knows nothing of futures.
                                  if (of.in_flight == 1)
                                    return must(of.push ? table->Push(keys, rows[0]) : table->Pull(keys, rows[0]));
                                  futures[slot] =
                                      of.push ? table->PushAsync(keys, rows[slot]) : table->PullAsync(keys, rows[slot]);
                                },
                            .finish =
                                [&](const Case& of, size_t slot) {
                                  if (of.in_flight > 1) must(futures[slot].Wait());
                                }};
  return Measure(settings, candidate, Cases(settings, dim));
}

IdleCores MeasureIdle(const Settings&) {
  Job job({.name = "idle", .tls_directory = "", .shared_memory = true});
  if (job.session() == nullptr) return {};
  if (const auto table = job.session()->OpenTable("bench", {.dim = 64, .optimizer = Sgd{}}); table.ok()) {
    (void)table->Push(std::vector<Key>{1}, std::vector<float>(64));
  }
  constexpr double kSeconds = 3;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double server = ProcessCpuSeconds(job.server()), worker = ProcessCpuSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  return {.server = (ProcessCpuSeconds(job.server()) - server) / kSeconds,
          .worker = (ProcessCpuSeconds() - worker) / kSeconds};
}

}  // namespace attune::ps::bench
