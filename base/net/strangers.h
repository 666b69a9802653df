// Connections that have not proved whose they are: bounded in number for each source and in time. Externally
// synchronized; what is to be done with a connection is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/net/connection_limit.h"
#include "base/time_source.h"

namespace attune {

template <typename Connection>
class Strangers {
 public:
  struct Peer {
    std::string key;     // of this connection
    std::string source;  // of all from there
  };
  struct Stranger {
    Connection connection;
    Peer peer;
    MonotonicTime deadline;
  };

  // Ids rise from `first_id` on.
  Strangers(size_t strangers_max, uint64_t first_id) : limit_(strangers_max), next_id_(first_id) {}

  struct Entered {
    uint64_t id;
    std::optional<uint64_t> shed;  // the one that is to give way: the oldest of the source with the most
  };
  // All have the same time, so that the oldest is due first.
  Entered Enter(Connection connection, Peer peer, MonotonicTime deadline) {
    const uint64_t id = next_id_++;
    const std::optional<uint64_t> shed = limit_.Enter(id, peer.source);
    by_key_[peer.key] = id;
    strangers_.emplace(id, Stranger{std::move(connection), std::move(peer), deadline});
    return {id, shed};
  }
  // nullptr: there is none any more.
  const Stranger* Find(uint64_t id) const {
    const auto found = strangers_.find(id);
    return found == strangers_.end() ? nullptr : &found->second;
  }
  std::optional<uint64_t> IdOf(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<uint64_t> OldestDue(MonotonicTime now) const {
    return !strangers_.empty() && now >= NextDeadline() ? std::optional(strangers_.begin()->first) : std::nullopt;
  }
  // kNever: there is none.
  MonotonicTime NextDeadline() const { return strangers_.empty() ? kNever : strangers_.begin()->second.deadline; }
  void Leave(uint64_t id) {
    const auto found = strangers_.find(id);
    if (found == strangers_.end()) return;
    // A later connection may have come from the same port.
    const auto named = by_key_.find(found->second.peer.key);
    if (named != by_key_.end() && named->second == id) by_key_.erase(named);
    limit_.Leave(id);
    strangers_.erase(found);
  }
  size_t size() const { return strangers_.size(); }

 private:
  ConnectionLimit limit_;
  uint64_t next_id_;
  std::map<uint64_t, Stranger> strangers_;  // oldest first
  std::unordered_map<std::string, uint64_t> by_key_;
};

}  // namespace attune
