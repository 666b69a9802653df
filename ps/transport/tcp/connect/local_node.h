// What both sides of a handshake know of this process: who it is, how it proves that, and how it shares memory.
//
// Owned by the links, which both sides belong to. Of the loop, except for `self`, which any thread may set.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/os/random_seed.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/security/handshake.h"
#include "ps/transport/security/job_secret.h"
#include "ps/transport/security/tls.h"
#include "ps/transport/shared/shared_memory.h"

namespace attune::ps {

struct LocalNode {
  EventLoop& loop;
  std::atomic<uint32_t> self;  // 0: not known yet; dialers are asked to try again
  const JobSecret secret;
  const std::unique_ptr<TlsContext> tls;  // null: rows are not encrypted
  const uint64_t incarnation = RandomSeed() | 1;
  std::unique_ptr<Doorbell> doorbell = nullptr;  // null: memory is not shared

  HandshakeIdentity Identity() const { return {.self = NodeId(self.load()), .incarnation = incarnation}; }
};

}  // namespace attune::ps
