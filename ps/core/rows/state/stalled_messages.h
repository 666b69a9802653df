// Messages that were sent under a newer map than this node has. They wait for that map, in order: behind one that
// waits, all later ones of its sender wait too. The caller asks HasRoom before it takes a message from its link, which
// brings again what was not taken. Externally synchronized.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "ps/core/link/message_bytes.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class StalledMessages {
 public:
  // Limits per sender: messages, and their bytes (BytesOf).
  StalledMessages(size_t messages_max, size_t bytes_max) : messages_max_(messages_max), bytes_max_(bytes_max) {}

  bool Holds(NodeId from) const { return senders_.contains(from); }
  size_t senders() const { return senders_.size(); }
  // False: no more messages of this sender may be added.
  bool HasRoom(NodeId from) const {
    const auto queue = senders_.find(from);
    return queue == senders_.end() ||
           (queue->second.messages.size() < messages_max_ && queue->second.bytes < bytes_max_);
  }

  void Add(NodeId from, Message message) {
    Queue& queue = senders_[from];
    queue.bytes += BytesOf(message);
    queue.messages.push_back(std::move(message));
  }
  // What a node sent that is no member any more.
  void Forget(NodeId from) { senders_.erase(from); }

  // Gives `handle(NodeId from, Message message)` what this map permits, sender by sender and in order. `handle` must
  // not add or forget any. Returns whether some still wait.
  template <typename Handle>
  bool Release(MapVersion version, Handle&& handle) {
    for (auto it = senders_.begin(); it != senders_.end();) {
      auto& [messages, bytes] = it->second;
      while (!messages.empty() && MapVersionOf(messages.front()) <= version) {
        Message message = std::move(messages.front());
        messages.pop_front();
        bytes -= BytesOf(message);
        handle(it->first, std::move(message));
      }
      it = messages.empty() ? senders_.erase(it) : std::next(it);
    }
    return !senders_.empty();
  }

  // `visit(NodeId from, const Message& message)`, in the same order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [from, queue] : senders_) {
      for (const Message& message : queue.messages) visit(from, message);
    }
  }

 private:
  struct Queue {
    std::deque<Message> messages;
    size_t bytes = 0;
  };
  size_t messages_max_, bytes_max_;
  std::map<NodeId, Queue> senders_;  // none of them empty
};

}  // namespace attune::ps
