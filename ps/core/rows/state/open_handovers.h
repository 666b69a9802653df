// Rows that this node has sent to their new owners, until these have acknowledged them, and acknowledgements that it
// withholds itself until others have answered. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"

namespace attune::ps {

struct OpenHandover {
  NodeId to;
  TableId table;
  Slice<Key> keys;
  Slice<uint16_t> move_numbers;
  MapVersion sent_under;
};

class OpenHandovers {
 public:
  // Returns its number: from 1, rising.
  uint64_t Add(OpenHandover handover) {
    open_.emplace(next_, std::move(handover));
    return next_++;
  }
  // Nothing when there is none of this number, or when it went to another node.
  std::optional<OpenHandover> Take(uint64_t number, NodeId to) {
    const auto it = open_.find(number);
    if (it == open_.end() || it->second.to != to) return std::nullopt;
    OpenHandover handover = std::move(it->second);
    open_.erase(it);
    return handover;
  }
  // Takes out those for which `predicate(const OpenHandover&)` holds.
  template <typename Predicate>
  void EraseIf(Predicate&& predicate) {
    std::erase_if(open_, [&](const auto& entry) { return predicate(entry.second); });
  }
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    for (const auto& [number, handover] : open_) visit(handover);
  }

  bool empty() const { return open_.empty(); }
  size_t size() const { return open_.size(); }
  // The number that the next one gets.
  uint64_t next() const { return next_; }
  // Whether all with lower numbers are acknowledged.
  bool AcknowledgedBelow(uint64_t number) const { return open_.empty() || open_.begin()->first >= number; }

 private:
  std::map<uint64_t, OpenHandover> open_;
  uint64_t next_ = 1;
};

class WithheldAcks {
 public:
  struct Ack {
    NodeId to;
    HandoverAck ack;
  };

  // A number, never 0, under which the requests can be remembered that an acknowledgement will wait for.
  uint64_t Reserve() { return next_++; }
  // `answers` > 0: how many have to come first.
  void Add(uint64_t number, Ack ack, size_t answers) { withheld_[number] = {.ack = ack, .answers = answers}; }
  // One of the answers has come. Returns the acknowledgement after the last of them.
  std::optional<Ack> Answered(uint64_t number) {
    const auto it = withheld_.find(number);
    if (it == withheld_.end() || --it->second.answers > 0) return std::nullopt;
    const Ack ack = it->second.ack;
    withheld_.erase(it);
    return ack;
  }
  // Those to nodes for which `predicate(NodeId)` holds.
  template <typename Predicate>
  void EraseIf(Predicate&& predicate) {
    std::erase_if(withheld_, [&](const auto& entry) { return predicate(entry.second.ack.to); });
  }
  size_t size() const { return withheld_.size(); }

 private:
  struct Withheld {
    Ack ack;
    size_t answers = 0;
  };
  std::map<uint64_t, Withheld> withheld_;
  uint64_t next_ = 1;
};

}  // namespace attune::ps
