// What is to be sent on a stream that writes one message at a time. Externally synchronized.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace attune::telemetry {

template <typename Message>
class OutgoingMessages {
 public:
  void Add(Message message) { waiting_.push_back(std::move(message)); }
  // The next one, which is being written from now on and stays where it is until Written(); nullptr: there is none, or
  // one is being written.
  const Message* Next() {
    if (is_writing_ || waiting_.empty()) return nullptr;
    is_writing_ = true;
    written_ = std::move(waiting_.front());
    waiting_.pop_front();
    return &written_;
  }
  void Written() { is_writing_ = false; }
  size_t waiting() const { return waiting_.size(); }

 private:
  std::deque<Message> waiting_;
  Message written_;
  bool is_writing_ = false;
};

}  // namespace attune::telemetry
