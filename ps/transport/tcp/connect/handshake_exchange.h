// The messages of one attempt to shake hands, as either side has them, and the memory that the two came to share.
// The step that waits for the next message keeps it alive; it ends with its conversation.
#pragma once

#include <memory>
#include <optional>

#include "proto/frame.h"
#include "ps/transport/shared/shared_memory.h"
#include "ps/transport/tcp/connect/conversation.h"

namespace attune::ps {

struct HandshakeExchange {
  std::shared_ptr<Conversation> conversation;
  wire::Hello hello{};
  wire::Challenge challenge{};
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};
  wire::HandshakeEnd end{};
  RendezvousToken token{};
  std::optional<SharedMemory> memory;
};

}  // namespace attune::ps
