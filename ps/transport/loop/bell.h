// What ends the sleep of the thread that drives a loop: a descriptor that becomes readable, and is only written to
// while that thread sleeps or is about to.
//
// Any thread rings; the thread that drives says when it sleeps. The limit of descriptors is not for the loop to handle:
// without one for the bell the process ends with a message.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/os/file_descriptor.h"

namespace attune::ps {

class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ATTUNE_CHECK(fd_.valid()) << "no file descriptors left for an event loop; raise the limit (ulimit -n)";
  }

  void Ring() {
    const uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }
  void RingIfAsleep() {
    if (asleep_.exchange(false)) Ring();
  }
  // From now on it is rung: what was made known before is to be looked at once more before the sleep.
  void BeginSleep() { asleep_ = true; }
  void EndSleep() { asleep_ = false; }

  int fd() const { return fd_.get(); }
  // It is not readable until it is rung again.
  void Clear() {
    uint64_t rung;
    (void)!::read(fd_.get(), &rung, sizeof rung);
  }

 private:
  const FileDescriptor fd_;
  std::atomic<bool> asleep_ = false;
};

}  // namespace attune::ps
