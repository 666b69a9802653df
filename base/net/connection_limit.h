// Which connection gives way when too many wait to prove themselves. Every server that strangers can reach keeps those
// connections here that have not yet sent a complete request or a valid credential: their number is bounded, a new one
// always gets in, and the source with the most of them pays, its oldest first. One slow peer therefore cannot keep
// others out, however many connections it opens. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace attune {

class ConnectionLimit {
 public:
  // `max` >= 1: connections kept at a time.
  explicit ConnectionLimit(size_t max) : max_(max) {}

  // Adds a connection; ids rise with time. Returns the one that has to be closed for it, already removed here.
  std::optional<uint64_t> Enter(uint64_t id, const std::string& source);
  // It proved itself or ended. No effect when it is not here.
  void Leave(uint64_t id);

  size_t size() const { return source_of_.size(); }

 private:
  uint64_t Victim() const;

  const size_t max_;
  std::map<uint64_t, std::string> source_of_;
  std::map<std::string, std::set<uint64_t>> of_source_;
};

}  // namespace attune
