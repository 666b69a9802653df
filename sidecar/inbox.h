// What gRPC's threads have heard of the operator, for the one thread of the agent, which waits in poll. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "base/status.h"
#include "sidecar/relay/relay.h"

namespace attune::sidecar {

class Inbox {
 public:
  struct Item {
    uint64_t generation;  // of the stream that it was heard on
    RelayInput input;
  };

  // Fails when the process has no file descriptors left.
  static StatusOr<std::unique_ptr<Inbox>> Create();

  // Readable while something was put in, or a wake-up was asked for, since the last TakeWakeUps.
  int descriptor() const { return wake_.get(); }
  void TakeWakeUps();
  void Wake();
  void Put(uint64_t generation, RelayInput input);
  // In the order in which they were put in.
  std::deque<Item> TakeAll();

 private:
  explicit Inbox(FileDescriptor wake) : wake_(std::move(wake)) {}

  const FileDescriptor wake_;  // eventfd
  Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::sidecar
