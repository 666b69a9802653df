// Messages to a peer under consecutive numbers, from 1, with what they weigh. Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "ps/core/link/message_bytes.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class NumberedQueue {
 public:
  // Under the number end().
  void Append(Message message) {
    weights_.push_back(BytesOf(message));
    bytes_ += weights_.back();
    messages_.push_back(std::move(message));
  }
  uint64_t first() const { return first_; }
  uint64_t end() const { return first_ + messages_.size(); }
  size_t size() const { return messages_.size(); }
  size_t bytes() const { return bytes_; }  // of all
  const std::deque<Message>& messages() const { return messages_; }
  // Of a number from first() up to end().
  const Message& At(uint64_t number) const { return messages_[Place(number)]; }
  size_t BytesAt(uint64_t number) const { return weights_[Place(number)]; }
  void Replace(uint64_t number, Message message) {
    size_t& weight = weights_[Place(number)];
    bytes_ -= weight;
    weight = BytesOf(message);
    bytes_ += weight;
    messages_[Place(number)] = std::move(message);
  }
  // Requires that there is one.
  void RemoveFirst() {
    bytes_ -= weights_.front();
    weights_.pop_front();
    messages_.pop_front();
    ++first_;
  }

 private:
  size_t Place(uint64_t number) const { return static_cast<size_t>(number - first_); }

  std::deque<Message> messages_;
  std::deque<size_t> weights_;  // of each
  uint64_t first_ = 1;
  size_t bytes_ = 0;
};

}  // namespace attune::ps
