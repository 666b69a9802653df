#include "sidecar/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/os/file.h"

namespace attune::sidecar {

StatusOr<std::unique_ptr<Inbox>> Inbox::Create() {
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Error(StatusCode::kResourceExhausted, "making an eventfd: " + ErrnoText(errno));
  return std::unique_ptr<Inbox>(new Inbox(std::move(wake)));
}

void Inbox::TakeWakeUps() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof(count));
}

void Inbox::Wake() {
  const uint64_t one = 1;
  // A full counter wakes as well; nothing else can go wrong here.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

void Inbox::Put(uint64_t generation, RelayInput input) {
  {
    const MutexLock lock(mutex_);
    items_.push_back({generation, std::move(input)});
  }
  Wake();
}

std::deque<Inbox::Item> Inbox::TakeAll() {
  const MutexLock lock(mutex_);
  return std::exchange(items_, {});
}

}  // namespace attune::sidecar
