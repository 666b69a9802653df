#include "ps/core/link/early_frames.h"

#include <utility>

#include "ps/core/link/message_bytes.h"

namespace attune::ps {

void EarlyFrames::Keep(uint64_t sequence, Message message) {
  const size_t bytes = BytesOf(message);
  if (messages_.size() >= limits_.frames_max || bytes_ + bytes > limits_.bytes_max) return;
  if (messages_.try_emplace(sequence, std::move(message)).second) bytes_ += bytes;
}

uint64_t EarlyFrames::TakeAfter(uint64_t delivered, std::vector<Message>& to) {
  for (auto it = messages_.begin(); it != messages_.end() && it->first <= delivered + 1; it = messages_.erase(it)) {
    bytes_ -= BytesOf(it->second);
    if (it->first <= delivered) continue;
    delivered = it->first;
    to.push_back(std::move(it->second));
  }
  return delivered;
}

}  // namespace attune::ps
