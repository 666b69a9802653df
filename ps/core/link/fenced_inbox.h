// What is sent to a node about rows while its lease has run out (ps/core/link/liveness_lease.h). It may not act on
// that, and takes it up when the coordinator answers it again, as if the network had been slow. Dropped, it would come
// again only when the sender tries again, which it does at longer and longer intervals while nothing is heard: training
// would continue seconds after everybody may.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ps/core/protocol/node_inputs.h"

namespace attune::ps {

class FencedInbox {
 public:
  struct Options {
    size_t messages_max = 4096;
    size_t bytes_max = 64 << 20;
  };

  FencedInbox() : FencedInbox(Options{}) {}
  explicit FencedInbox(const Options& options) : options_(options) {}

  // Where there is no room it is left out: links and workers send it again.
  void Keep(Received input);
  // All of it, in the order it came in.
  std::vector<Received> Take() { return bytes_ = 0, std::exchange(kept_, {}); }

 private:
  Options options_;
  std::vector<Received> kept_;
  size_t bytes_ = 0;
};

}  // namespace attune::ps
