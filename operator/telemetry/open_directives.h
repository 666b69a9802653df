// The directives of one stream that are sent and not answered, by their numbers. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace attune::telemetry {

class OpenDirectives {
 public:
  // The number of another one. `key` names its answer; empty: only the log wants it.
  uint64_t Add(const std::string& key) {
    open_[++last_] = key;
    return last_;
  }
  // The key of one that has been answered; nullopt: that was not asked.
  std::optional<std::string> Take(uint64_t number) {
    const auto found = open_.find(number);
    if (found == open_.end()) return std::nullopt;
    std::string key = std::move(found->second);
    open_.erase(found);
    return key;
  }
  // By number; no answer to them will come.
  std::map<uint64_t, std::string> TakeAll() { return std::exchange(open_, {}); }
  size_t size() const { return open_.size(); }

 private:
  uint64_t last_ = 0;
  std::map<uint64_t, std::string> open_;
};

}  // namespace attune::telemetry
