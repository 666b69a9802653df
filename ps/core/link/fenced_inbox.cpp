#include "ps/core/link/fenced_inbox.h"

#include "ps/core/link/message_bytes.h"

namespace attune::ps {

void FencedInbox::Keep(Received input) {
  const size_t bytes = BytesOf(input.message);
  if (kept_.size() >= options_.messages_max || bytes_ + bytes > options_.bytes_max) return;
  bytes_ += bytes;
  kept_.push_back(std::move(input));
}

}  // namespace attune::ps
