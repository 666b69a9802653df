// Messages that came before those that the peer had sent first. Bounded: what finds no room comes again. Pure;
// externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "ps/core/protocol/messages.h"

namespace attune::ps {

class EarlyFrames {
 public:
  struct Limits {
    size_t frames_max = 0;
    size_t bytes_max = 0;
  };
  explicit EarlyFrames(const Limits& limits) : limits_(limits) {}

  // One that is here already changes nothing.
  void Keep(uint64_t sequence, Message message);
  // All up to `delivered` have been delivered. Appends what follows without a gap to `to`, and returns its last number.
  uint64_t TakeAfter(uint64_t delivered, std::vector<Message>& to);
  size_t bytes() const { return bytes_; }

 private:
  const Limits limits_;
  std::map<uint64_t, Message> messages_;
  size_t bytes_ = 0;
};

}  // namespace attune::ps
