// Pushes, pulls and requests for copies that wait here: for rows that are on their way to this node, key by key, and
// for shards whose home is not ready. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class WaitingOperations {
 public:
  struct Queued {
    NodeId from;
    Message message;
  };
  // Some keys of a message, by their places in it, ascending.
  struct Part {
    std::shared_ptr<const Message> message;
    std::vector<uint32_t> places;
  };

  // --- for rows

  bool AnyForRows() const { return !by_row_.empty(); }
  size_t rows() const { return by_row_.size(); }
  // The key at `index` of the message waits for its row.
  void Add(TableKey row, std::shared_ptr<const Message> message, NodeId from, uint32_t index) {
    by_row_[row].push_back({.message = std::move(message), .from = from, .index = index});
  }
  // What waits for these rows, one part for each message, in the order in which the messages came for the first of
  // their rows.
  std::vector<Part> TakeFor(TableId table, std::span<const Key> keys);
  // Everything that waits for rows, each message once, with the keys that wait.
  std::vector<Queued> TakeAll();

  // --- for homes

  size_t queued() const { return queue_.size(); }
  void Queue(Queued operation) { queue_.push_back(std::move(operation)); }
  std::vector<Queued> TakeQueue() { return std::exchange(queue_, {}); }

 private:
  struct WaitingKey {
    std::shared_ptr<const Message> message;
    NodeId from;
    uint32_t index;
  };
  std::map<TableKey, std::vector<WaitingKey>> by_row_;
  std::vector<Queued> queue_;
};

}  // namespace attune::ps
