// Which connections may wait for their handshake. A dialer has one before it has shown anything, so there is a
// limit per source address and one for all; at a limit the oldest of the source that has most must go. A member needs
// milliseconds, so it gets through while others hold their connections open and say nothing.
//
// Pure: the owner closes what it is given back. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

namespace attune::ps {

class PendingHandshakes {
 public:
  using Id = uint64_t;

  PendingHandshakes(size_t per_source_max, size_t total_max) : per_source_max_(per_source_max), total_max_(total_max) {}

  // A connection from `source` begins. What is returned must be closed to make room, and is forgotten here already.
  std::optional<Id> Begin(Id id, const std::string& source);
  // It has been authenticated, or it is closed. Unknown ids are let pass.
  void End(Id id);
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string source;
    std::list<Id>::iterator place;  // in its source's list
  };

  const size_t per_source_max_, total_max_;
  std::unordered_map<Id, Entry> entries_;
  std::unordered_map<std::string, std::list<Id>> sources_;  // oldest first; never empty
};

}  // namespace attune::ps
