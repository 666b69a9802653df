#include "base/os/signal_watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/mutex.h"
#include "base/os/file_descriptor.h"

namespace attune {
namespace {

// Handlers may only write(2): one slot per watcher, read in the handler without locks. Slots are never freed.
constexpr int kWatchersMax = 64;
struct Slot {
  std::atomic<int> pipe_writer{-1};
  std::atomic<uint64_t> signals{0};  // bit per signal number
};
Slot slots[kWatchersMax];

void OnSignal(int number) {
  const int saved_errno = errno;
  const auto byte = static_cast<unsigned char>(number);
  for (Slot& slot : slots) {
    const int fd = slot.pipe_writer.load(std::memory_order_acquire);
    if (fd >= 0 && ((slot.signals.load(std::memory_order_relaxed) >> number) & 1) != 0) {
      [[maybe_unused]] const ssize_t n = ::write(fd, &byte, 1);
    }
  }
  errno = saved_errno;
}

struct Previous {
  int count = 0;
  struct sigaction action {};
};
Mutex registry_mutex;
Previous previous[64] ABSL_GUARDED_BY(registry_mutex);  // by signal number

void Acquire(int number) {
  const MutexLock lock(registry_mutex);
  if (previous[number].count++ > 0) return;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(number, &action, &previous[number].action);
}

void Release(int number) {
  const MutexLock lock(registry_mutex);
  if (--previous[number].count == 0) ::sigaction(number, &previous[number].action, nullptr);
}

class PipeWatcher final : public SignalWatcher {
 public:
  PipeWatcher(std::vector<int> signals, std::function<void(int)> on_signal, Slot& slot, FileDescriptor reader,
              FileDescriptor writer)
      : signals_(std::move(signals)),
        on_signal_(std::move(on_signal)),
        slot_(slot),
        reader_(std::move(reader)),
        writer_(std::move(writer)) {
    thread_ = std::thread([this] { Run(); });
    for (const int number : signals_) Acquire(number);
  }

  ~PipeWatcher() override {
    for (const int number : signals_) Release(number);
    // The writing end stays open until the thread has read the end mark, so that a handler in progress writes
    // somewhere.
    const unsigned char end = 0;
    [[maybe_unused]] const ssize_t n = ::write(writer_.get(), &end, 1);
    thread_.join();
    slot_.signals.store(0, std::memory_order_relaxed);
    slot_.pipe_writer.store(-1, std::memory_order_release);
  }

 private:
  void Run() {
    for (;;) {
      unsigned char number = 0;
      const ssize_t n = ::read(reader_.get(), &number, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || number == 0) return;
      on_signal_(number);
    }
  }

  const std::vector<int> signals_;
  const std::function<void(int)> on_signal_;
  Slot& slot_;
  const FileDescriptor reader_, writer_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<SignalWatcher> SignalWatcher::Install(std::vector<int> signals, std::function<void(int)> on_signal) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  FileDescriptor reader(ends[0]), writer(ends[1]);
  ::fcntl(writer.get(), F_SETFL, O_NONBLOCK);  // a handler must not block; one byte is as good as many
  uint64_t bits = 0;
  for (const int number : signals) bits |= uint64_t{1} << number;
  for (Slot& slot : slots) {
    int expected = -1;
    if (slot.pipe_writer.compare_exchange_strong(expected, writer.get())) {
      slot.signals.store(bits, std::memory_order_release);
      return std::make_unique<PipeWatcher>(std::move(signals), std::move(on_signal), slot, std::move(reader),
                                           std::move(writer));
    }
  }
  return nullptr;
}

}  // namespace attune
