// How two processes come to share memory. The listener of a connection has a rendezvous, an abstract Unix socket
// that only processes of its network namespace can reach; a process that reaches it with the token that went over the
// connection is the peer on the other end, on the same machine. It brings a sealed memory file and gets in return what
// it needs to wake the other side. Nothing is left behind in a file system.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/shared/shared_ring.h"
#include "ps/transport/stream.h"

namespace attune::ps {

using RendezvousToken = std::array<char, 16>;

// Both directions of a link in shared memory.
struct SharedMemory {
  std::shared_ptr<RingArea> to_listener;
  std::shared_ptr<RingArea> to_dialer;
  std::function<void()> ring_peer;  // any thread: wakes the other process
};

// Wakes a loop from another process.
class Doorbell {
 public:
  // On the loop.
  static StatusOr<std::unique_ptr<Doorbell>> Create(EventLoop& loop);
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
  std::unique_ptr<EventLoop::Watch> watch_;
};

class Rendezvous {
 public:
  static constexpr size_t kVisitorsMax = 256;

  // Whether a process waits for this token; it is asked once.
  using Expected = std::function<bool(const RendezvousToken& token)>;
  using Arrived = std::function<void(const RendezvousToken& token, SharedMemory memory)>;

  // On the loop, both the calls and the events.
  static StatusOr<std::unique_ptr<Rendezvous>> Open(EventLoop& loop, int own_doorbell, Expected expected,
                                                    Arrived arrived);
  virtual ~Rendezvous() = default;
  virtual const std::string& name() const = 0;
};

// The dialer's side. `done` is called once, on the loop, with memory or the reason why there is none; not after the
// rendezvous is destroyed.
class RendezvousClient {
 public:
  using Done = std::function<void(StatusOr<SharedMemory> memory)>;
  static std::unique_ptr<RendezvousClient> Start(EventLoop& loop, const std::string& name, const RendezvousToken& token,
                                                 int own_doorbell, Done done);
  virtual ~RendezvousClient() = default;
};

}  // namespace attune::ps
