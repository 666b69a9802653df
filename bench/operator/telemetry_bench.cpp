// The operator's end of telemetry with many sidecars: memory, CPU, and whether every report arrived. The service runs
// in a process of its own; the senders are the sidecar's own stream, a connection each, with a report a second.
//   bench_telemetry --streams 10000
//   bench_telemetry --serve        the operator's end alone, for sidecars that another program starts
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/os/file.h"
#include "bench/cpu_seconds.h"
#include "operator/local/api/memory_api.h"
#include "operator/telemetry/service.h"
#include "proto/contract.h"
#include "sidecar/operator_stream.h"

namespace attune::bench {
namespace {

using std::chrono::milliseconds;

struct Options {
  int streams = 10'000, pods_per_job = 20, seconds = 30;
  std::string tls;  // a directory with tls.crt, tls.key and ca.crt; "": not encrypted
};

constexpr char kNamespace[] = "bench";
constexpr uint64_t kFileBytesMax = 1 << 20;
constexpr int kOpenedAtOnce = 25;  // of streams, in each twentieth of a second
constexpr Duration kTick = milliseconds(50);
constexpr int kTicksPerReport = 20;
constexpr auto kGiveUpAfter = std::chrono::minutes(10);

std::string Read(const std::string& file) {
  auto text = ReadFile(file, kFileBytesMax);
  ATTUNE_CHECK(text.ok()) << text.status();
  return *std::move(text);
}

// --- the operator's end, in the child process

// What has arrived, asked for by a byte on the pipe.
std::string Arrived(const telemetry::JobStore& store, const Options& options, const telemetry::Service& service) {
  const SystemTime time;
  int connected = 0, fresh = 0;
  for (int job = 0; job * options.pods_per_job < options.streams; ++job) {
    const std::string name = "job-" + std::to_string(job);
    for (const telemetry::PodSample& pod : store.Sample({kNamespace, name, name}, time.Now()).pods) {
      connected += pod.connected ? 1 : 0;
      fresh += time.Now() - pod.reported_at < std::chrono::seconds(3) ? 1 : 0;
    }
  }
  std::ostringstream text;
  text << connected << " " << fresh << " " << store.dropped_reports() + service.implausible_reports() << "\n";
  return text.str();
}

// Writes its address to `answers`, and what has arrived for each byte of `questions`; ends when `questions` does.
[[noreturn]] void Serve(const Options& options, int questions, int answers) {
  SystemTime time;
  local::MemoryApi api(time);
  const auto store = telemetry::JobStore::Create([](const telemetry::JobId&) { return telemetry::JobKnown::kYes; });
  telemetry::ServiceOptions service_options{.listen = "127.0.0.1:0", .authenticate = false, .certificate = {}};
  if (!options.tls.empty()) {
    service_options.certificate = {.chain = Read(options.tls + "/tls.crt"),
                                   .private_key = Read(options.tls + "/tls.key")};
  }
  const auto service = telemetry::Service::Start(service_options, api, *store);
  ATTUNE_CHECK(service.ok()) << service.status();
  const auto say = [&](const std::string& text) {
    ATTUNE_CHECK(::write(answers, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  say((*service)->address() + "\n");
  for (char question = 0; ::read(questions, &question, 1) == 1;) say(Arrived(*store, options, **service));
  ::_exit(0);
}

class Child {
 public:
  explicit Child(const Options& options) {
    std::array<int, 2> down, up;
    ATTUNE_CHECK(::pipe2(down.data(), O_CLOEXEC) == 0 && ::pipe2(up.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    ATTUNE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(down[1]);
      ::close(up[0]);
      Serve(options, down[0], up[1]);
    }
    ::close(down[0]);
    ::close(up[1]);
    questions_ = down[1];
    answers_ = up[0];
    address_ = Line();
  }
  ~Child() {
    ::close(questions_);  // it ends by itself
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  const std::string& address() const { return address_; }
  struct Counts {
    int connected = 0, fresh = 0;
    uint64_t left_out = 0;
  };
  Counts Ask() {
    ATTUNE_CHECK(::write(questions_, "?", 1) == 1);
    std::istringstream line(Line());
    Counts counts;
    line >> counts.connected >> counts.fresh >> counts.left_out;
    return counts;
  }
  double Megabytes(const char* field) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(field)) return std::stod(line.substr(line.find(':') + 1)) * 1024 / 1e6;
    }
    return 0;
  }
  double CpuSeconds() const { return ProcessCpuSeconds(pid_); }

 private:
  std::string Line() const {
    std::string line;
    for (char c = 0; ::read(answers_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  pid_t pid_ = 0;
  int questions_ = -1, answers_ = -1;
  std::string address_;
};

// --- a sidecar

class Sender {
 public:
  Sender(int number, const Options& options, const sidecar::OperatorStreamOptions& to) {
    const int index = number % options.pods_per_job;
    const std::string job = "job-" + std::to_string(number / options.pods_per_job);
    v1::SidecarHello& hello = *hello_.mutable_hello();
    hello.set_protocol_version(contract::kProtocolVersion);
    hello.set_namespace_(kNamespace);
    hello.set_job(job);
    hello.set_job_uid(job);
    hello.set_role("worker");
    hello.set_index(static_cast<uint32_t>(index));
    hello.set_pod(job + "-worker-" + std::to_string(index));
    hello.set_pod_uid(hello.pod());
    stream_ = sidecar::OperatorStream::Create(to, [this](uint64_t, sidecar::RelayInput input) {
      if (std::holds_alternative<sidecar::MessageSent>(input)) may_send_ = true;
      if (std::holds_alternative<sidecar::OperatorSaid>(input)) accepted_ = true;
      if (std::holds_alternative<sidecar::StreamEnded>(input)) ended_ = true;
    });
  }

  // By one thread.
  void Open() {
    accepted_ = may_send_ = ended_ = false;
    stream_->Open();
    stream_->Send(hello_);
  }
  // Of a worker that trains. False: the report before is not sent yet.
  bool Report() {
    if (!accepted_ || !may_send_.exchange(false)) return false;
    v1::PodReport& report = *report_.mutable_report();
    v1::WindowReport& window = *report.mutable_window();
    window.set_sequence(++sequence_);
    window.set_duration_seconds(1);
    window.set_end_unix_seconds(Seconds(SystemTime().WallNow().time_since_epoch()));
    v1::WorkerWindow& worker = *window.mutable_worker();
    worker.set_clock(sequence_ * 100);
    worker.set_steps(100);
    worker.set_samples(100'000);
    for (v1::Quantiles* quantiles : {worker.mutable_step_seconds(), worker.mutable_compute_seconds()}) {
      quantiles->set_p50(0.01);
      quantiles->set_p90(0.011);
      quantiles->set_p99(0.012);
      quantiles->set_max(0.013);
      quantiles->set_mean(0.01);
      quantiles->set_count(100);
    }
    worker.set_loss_mean(1.5);
    worker.set_loss_count(100);
    worker.set_sample_unit("words");
    report.mutable_usage()->set_cpu_seconds(1);
    report.mutable_usage()->set_window_seconds(1);
    report.mutable_usage()->set_memory_bytes(200'000'000);
    stream_->Send(report_);
    return true;
  }
  bool accepted() const { return accepted_; }
  bool ended() const { return ended_; }

 private:
  v1::SidecarMessage hello_, report_;
  uint64_t sequence_ = 0;
  std::atomic<bool> accepted_ = false, may_send_ = false, ended_ = false;
  std::unique_ptr<sidecar::OperatorStream> stream_;  // last: it posts until it is gone
};

// --- the run

void RaiseDescriptors() {
  rlimit limit;
  ATTUNE_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  ATTUNE_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), child_(options) {
    sidecar::OperatorStreamOptions to{.target = child_.address(), .token_file = "", .authority = ""};
    if (!options.tls.empty()) to.authority = Read(options.tls + "/ca.crt");
    for (int i = 0; i < options.streams; ++i) senders_.push_back(std::make_unique<Sender>(i, options, to));
  }

  void Run() {
    const double before = child_.Megabytes("VmRSS");
    const auto begun = std::chrono::steady_clock::now();
    ConnectAll(begun);
    const double connected_after = Seconds(std::chrono::steady_clock::now() - begun);
    const double cpu = child_.CpuSeconds();
    sent_ = 0;
    late_ = 0;
    for (int tick = 0; tick < options_.seconds * kTicksPerReport; ++tick) Tick(tick);
    const double cores = (child_.CpuSeconds() - cpu) / options_.seconds;
    const Child::Counts counts = child_.Ask();
    const double megabytes = child_.Megabytes("VmRSS");
    std::printf(
        "%d streams, %s: connected after %.0f s; %.0f MB (peak %.0f), %.0f without streams, %.1f KB a stream; "
        "%.2f core at %.0f reports/s (%.0f us a report)\n",
        options_.streams, options_.tls.empty() ? "not encrypted" : "TLS", connected_after, megabytes,
        child_.Megabytes("VmHWM"), before, (megabytes - before) * 1e3 / options_.streams, cores,
        static_cast<double>(sent_) / options_.seconds, cores * options_.seconds * 1e6 / static_cast<double>(sent_));
    std::printf(
        "as the operator sees it: %d connected, %d with a report of the last 3 s, %llu reports left out; "
        "%llu reports later than a second, %d streams opened again\n",
        counts.connected, counts.fresh, static_cast<unsigned long long>(counts.left_out),
        static_cast<unsigned long long>(late_), reopened_);
    const double goal = 500;
    std::printf("memory of the operator's end with 10,000 streams: goal 500 MB %s\n",
                options_.streams < 10'000 ? "not tried" : (megabytes < goal ? "met" : "MISSED"));
  }

 private:
  void ConnectAll(std::chrono::steady_clock::time_point begun) {
    size_t opened = 0;
    for (int tick = 0;; ++tick) {
      for (int i = 0; i < kOpenedAtOnce && opened < senders_.size(); ++i) senders_[opened++]->Open();
      Tick(tick);
      size_t accepted = 0;
      for (const auto& sender : senders_) accepted += sender->accepted() ? 1 : 0;
      if (tick % kTicksPerReport == 0)
        std::fprintf(stderr, "%zu of %zu streams are accepted\n", accepted, senders_.size());
      if (accepted == senders_.size()) return;
      ATTUNE_CHECK(std::chrono::steady_clock::now() - begun < kGiveUpAfter) << accepted << " streams are accepted";
    }
  }

  // A twentieth of all send; those whose stream has ended open another.
  void Tick(int tick) {
    const auto next = std::chrono::steady_clock::now() + kTick;
    for (size_t i = static_cast<size_t>(tick % kTicksPerReport); i < senders_.size(); i += kTicksPerReport) {
      Sender& sender = *senders_[i];
      if (sender.ended()) {
        ++reopened_;
        sender.Open();
      } else if (sender.accepted()) {
        ++(sender.Report() ? sent_ : late_);
      }
    }
    std::this_thread::sleep_until(next);
  }

  const Options& options_;
  Child child_;
  std::vector<std::unique_ptr<Sender>> senders_;
  uint64_t sent_ = 0, late_ = 0;
  int reopened_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The operator's end of telemetry with many sidecars: memory, CPU, and whether every report arrived.",
               "bench_telemetry");
  app.add_option("--streams", options.streams, "Sidecars")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--pods-per-job", options.pods_per_job, "Sidecars of each job")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "Length of the measurement")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--tls", options.tls,
                 "Directory with tls.crt, tls.key and ca.crt for 127.0.0.1; absent: not encrypted");
  bool serve = false;
  app.add_flag("--serve", serve, "Print the address of the operator's end and serve until the input ends");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseDescriptors();
  if (serve) Serve(options, STDIN_FILENO, STDOUT_FILENO);
  Bench(options).Run();
  return 0;
}

}  // namespace
}  // namespace attune::bench

int main(int argc, char** argv) { return attune::bench::Main(argc, argv); }
