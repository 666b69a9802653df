// The descriptors that a loop looks at, and what it calls when one is ready; its bell is one of them.
//
// Of the loop; not thread-safe. It must outlive its watches.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/os/file_descriptor.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/loop/bell.h"

namespace attune::ps {

class FileWatches {
 public:
  // `bell` must outlive it.
  explicit FileWatches(Bell& bell);

  std::unique_ptr<EventLoop::Watch> New(int fd, EventLoop::Ready ready);
  // Waits until one is ready, the bell is rung or the time is over, and calls for each that is ready, until
  // `stopping` is set. Returns whether anything but the bell was.
  bool Handle(int timeout_ms, const std::atomic<bool>& stopping);

 private:
  class LoopWatch;

  Bell& bell_;
  const FileDescriptor epoll_;
  std::unordered_map<uint64_t, std::shared_ptr<EventLoop::Ready>> watches_;
  uint64_t last_watch_;
};

}  // namespace attune::ps
