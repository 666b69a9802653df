#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench/transport/candidates.h"

namespace attune::ps::bench {
namespace {

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

// Rows in huge pages, as a store has them.
float* MapRows(size_t count) {
  void* const memory =
      ::mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  (void)::madvise(memory, count * sizeof(float), MADV_HUGEPAGE);
  float* const rows = static_cast<float*>(memory);
  std::fill(rows, rows + count, 1.0F);
  return rows;
}

// Which rows come is known, so the memory is asked for ahead.
void Prefetch(const float* row, size_t dim) {
  for (size_t j = 0; j < dim; j += 64 / sizeof(float)) __builtin_prefetch(row + j, 1);
}

// The other process: reads what is wanted and the keys (and gradients), touches its slab, answers.
[[noreturn]] void Serve(const Settings& settings, size_t dim, int listener) {
  float* const slab = MapRows(settings.keys * dim);
  const int fd = ::accept(listener, nullptr, nullptr);
  Tune(fd);
  std::vector<Key> request(1 + settings.batch);  // what is wanted, then the keys
  std::vector<float> rows(settings.batch * dim);
  for (;;) {
    if (!ReadAll(fd, request.data(), request.size() * sizeof(Key))) ::_exit(0);
    const bool push = request[0] != 0;
    if (push && !ReadAll(fd, rows.data(), rows.size() * sizeof(float))) ::_exit(0);
    constexpr size_t kAhead = 8;
    for (size_t i = 0; i < settings.batch; ++i) {
      if (i + kAhead < settings.batch) Prefetch(&slab[request[1 + i + kAhead] * dim], dim);
      float* const row = &slab[request[1 + i] * dim];
      float* const other = &rows[i * dim];
      if (push) {
        for (size_t j = 0; j < dim; ++j) row[j] += other[j];
      } else {
        std::memcpy(other, row, dim * sizeof(float));
      }
    }
    if (!(push ? WriteAll(fd, request.data(), sizeof(Key)) : WriteAll(fd, rows.data(), rows.size() * sizeof(float)))) {
      ::_exit(0);
    }
  }
}

}  // namespace

std::vector<Result> MeasureBare(const Settings& settings, size_t dim) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener, 1) != 0) return {};
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const pid_t child = ::fork();
  if (child == 0) Serve(settings, dim, listener);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  Tune(fd);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) return {};
  std::vector<float> rows(settings.batch * dim, 1e-6F);
  std::vector<Key> request(1 + settings.batch);
  const Candidate candidate{
      .transport = "bare",
      .server = child,
      .issue =
          [&](const Case& of, size_t, const std::vector<Key>& keys) {
            request[0] = of.push ? 1 : 0;
            std::ranges::copy(keys, request.begin() + 1);
            (void)WriteAll(fd, request.data(), request.size() * sizeof(Key));
            if (of.push) (void)WriteAll(fd, rows.data(), rows.size() * sizeof(float));
          },
      .finish =
          [&](const Case& of, size_t) {
            Key done = 0;
            (void)(of.push ? ReadAll(fd, &done, sizeof done) : ReadAll(fd, rows.data(), rows.size() * sizeof(float)));
          }};
  std::vector<Result> results = Measure(settings, candidate, Cases(settings, dim));
  ::close(fd);
  ::close(listener);
  ::waitpid(child, nullptr, 0);
  return results;
}

}  // namespace attune::ps::bench
