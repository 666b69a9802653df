// Pull and push between two processes over loopback TCP (dim 64, 256 keys per call), beside a bare socket loop that
// moves the same bytes; then the fixed frame header beside a protobuf message of as many numbers.
//   transport_bench [SECONDS_PER_MEASUREMENT]
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "attune/v1/coordinator.pb.h"
#include "base/log.h"
#include "base/random.h"
#include "ps/runtime/server_runtime.h"
#include "ps/transport/frame.h"

namespace attune::ps {
namespace {

constexpr size_t kBatch = 256, kDim = 64;
constexpr uint64_t kKeySpace = 100'000;
constexpr size_t kKeyBytes = 64 + kBatch * sizeof(Key), kRowBytes = kBatch * kDim * sizeof(float);

double seconds_per_measurement = 2;

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); }

// Calls `issue` (which starts a batch) with `in_flight` batches under way and `finish` (which ends the oldest).
double KeysPerSecond(size_t in_flight, const std::function<void(size_t slot)>& issue,
                     const std::function<void(size_t slot)>& finish) {
  size_t begun = 0, ended = 0;
  const double start = Now();
  while (Now() - start < seconds_per_measurement) {
    while (begun - ended < in_flight) issue(begun++ % in_flight);
    finish(ended++ % in_flight);
  }
  const double rate = static_cast<double>(ended * kBatch) / (Now() - start);
  while (ended < begun) finish(ended++ % in_flight);
  return rate;
}

void WriteAll(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (n <= 0) ::_exit(0);  // the other side is through; nothing to flush twice
    bytes += n;
    size -= static_cast<size_t>(n);
  }
}
void ReadAll(int fd, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(fd, bytes, size, 0);
    if (n <= 0) ::_exit(0);  // the other side is through; nothing to flush twice
    bytes += n;
    size -= static_cast<size_t>(n);
  }
}
void Tune(int fd) {
  const int yes = 1, buffer = 4 << 20;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
}

// A process that reads `request` bytes and answers with `answer` bytes, for ever.
double BareLoop(size_t request, size_t answer, size_t in_flight) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener, 1) != 0) std::exit(1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::accept(listener, nullptr, nullptr);
    Tune(fd);
    std::vector<char> in(request), out(answer);
    for (;;) {
      ReadAll(fd, in.data(), request);
      WriteAll(fd, out.data(), answer);
    }
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  Tune(fd);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) std::exit(1);
  std::vector<char> out(request), in(answer);
  const double rate = KeysPerSecond(
      in_flight, [&](size_t) { WriteAll(fd, out.data(), request); }, [&](size_t) { ReadAll(fd, in.data(), answer); });
  ::close(fd);
  ::close(listener);
  ::waitpid(child, nullptr, 0);
  return rate;
}

// The server process: prints its coordinator's address into the pipe and serves until the pipe closes.
[[noreturn]] void Serve(int address_writer, int end_reader) {
  log::SetLevel(log::Level::kWarn);
  static const SystemTime time;
  ServerRuntime::Options options{.job_uid = "bench"};
  options.coordinator_here.emplace();
  options.coordinator_here->core.job_uid = "bench";
  auto server = ServerRuntime::Start(options, time);
  if (!server.ok()) std::exit(1);
  const std::string line = (*server)->coordinator_address() + "\n";
  (void)!::write(address_writer, line.data(), line.size());
  char byte;
  (void)!::read(end_reader, &byte, 1);
  std::exit(0);
}

void MeasureHeaders() {
  constexpr int kRounds = 2'000'000;
  uint64_t sink = 0;
  double start = Now();
  for (int i = 0; i < kRounds; ++i) {
    const auto frame =
        EncodeFrame(PushAck{SequenceNumber(static_cast<uint64_t>(i)), MapVersion(7), Positions{0, 256, {}}});
    wire::FrameHeader header = frame->header;
    asm volatile("" : : "r"(&header) : "memory");
    if (CheckHeader(header).ok()) sink += std::get<PushAck>(*DecodeFrame(header, nullptr, {})).positions.count;
  }
  const double fixed = (Now() - start) / kRounds * 1e9;
  start = Now();
  std::string bytes;
  v1::Heartbeat in, out;
  for (int i = 0; i < kRounds; ++i) {
    in.set_number(static_cast<uint64_t>(i));
    in.set_map_version(uint64_t{7} << 32);
    in.set_clock(256);
    in.set_loss_samples(4096);
    in.set_samples(65536);
    in.set_acked_below(static_cast<uint64_t>(i) + 1);
    in.SerializeToString(&bytes);
    out.ParseFromString(bytes);
    sink += out.samples();
  }
  const double protobuf = (Now() - start) / kRounds * 1e9;
  std::printf("\nframe header, encode and decode (checksum %lu)\n", static_cast<unsigned long>(sink & 1));
  std::printf("  fixed layout, all of EncodeFrame, CheckHeader and DecodeFrame  %6.1f ns\n", fixed);
  std::printf("  protobuf, six numbers, reused messages                         %6.1f ns   %.2fx\n", protobuf,
              protobuf / fixed);
}

int Run() {
  log::SetLevel(log::Level::kWarn);
  int address_pipe[2], end_pipe[2];
  if (::pipe(address_pipe) != 0 || ::pipe(end_pipe) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end_pipe[1]);
    Serve(address_pipe[1], end_pipe[0]);
  }
  std::printf("%-28s %14s %14s %8s\n", "dim 64, 256 keys per call", "attune keys/s", "bare keys/s", "ratio");
  double bare[2][2];
  for (const size_t in_flight : {size_t{1}, size_t{8}}) {
    bare[0][in_flight == 8] = BareLoop(kKeyBytes, 64 + kRowBytes, in_flight);
    bare[1][in_flight == 8] = BareLoop(kKeyBytes + kRowBytes, 64, in_flight);
  }
  char buffer[256];
  const ssize_t n = ::read(address_pipe[0], buffer, sizeof buffer);
  if (n <= 1) return 1;
  auto session = Session::Connect({.job = "bench",
                                   .job_uid = "bench",
                                   .coordinator = std::string(buffer, static_cast<size_t>(n) - 1),
                                   .drain_on_sigterm = false});
  if (!session.ok()) return std::fprintf(stderr, "%s\n", ToString(session.status()).c_str()), 1;
  const auto table = (*session)->OpenTable("bench", {.dim = kDim, .optimizer = Sgd{}});
  if (!table.ok()) return 1;
  Random random(1);
  std::vector<std::vector<Key>> keys(8, std::vector<Key>(kBatch));
  std::vector<std::vector<float>> rows(8, std::vector<float>(kBatch * kDim, 1e-3F));
  std::vector<Future> futures(8);
  const auto draw = [&](size_t slot) {
    for (Key& key : keys[slot]) key = random.Below(kKeySpace);
  };
  std::vector<Key> all(4096);
  for (Key first = 0; first < kKeySpace; first += all.size()) {  // rows exist before anything is measured
    for (size_t i = 0; i < all.size(); ++i) all[i] = first + i;
    if (!table->Push(all, std::vector<float>(all.size() * kDim)).ok()) return 1;
  }
  const auto finish = [&](size_t slot) {
    if (const Status status = futures[slot].Wait(); !status.ok())
      std::fprintf(stderr, "%s\n", ToString(status).c_str());
  };
  for (const size_t in_flight : {size_t{1}, size_t{8}}) {
    const double pull = KeysPerSecond(
        in_flight,
        [&](size_t slot) {
          draw(slot);
          futures[slot] = table->PullAsync(keys[slot], rows[slot]);
        },
        finish);
    const double push = KeysPerSecond(
        in_flight,
        [&](size_t slot) {
          draw(slot);
          futures[slot] = table->PushAsync(keys[slot], rows[slot]);
        },
        finish);
    const double bare_pull = bare[0][in_flight == 8], bare_push = bare[1][in_flight == 8];
    std::printf("pull, %zu in flight            %14.0f %14.0f %8.2f\n", in_flight, pull, bare_pull, pull / bare_pull);
    std::printf("push, %zu in flight            %14.0f %14.0f %8.2f\n", in_flight, push, bare_push, push / bare_push);
  }
  session->reset();
  ::close(end_pipe[1]);
  ::waitpid(child, nullptr, 0);
  MeasureHeaders();
  return 0;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  if (argc > 1) attune::ps::seconds_per_measurement = std::strtod(argv[1], nullptr);
  return attune::ps::Run();
}
