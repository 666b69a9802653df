// Values that are believed for a fixed time, at most so many of them: the oldest gives way. Pure; not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/time_source.h"

namespace attune::telemetry {

template <typename Value>
class ExpiringCache {
 public:
  ExpiringCache(Duration lifetime, size_t max) : lifetime_(lifetime), max_(max) {}

  // Null when there is none any more; valid until the next call.
  const Value* Find(const std::string& key, MonotonicTime now) {
    while (!by_age_.empty() && by_age_.front().first <= now) DropOldest();
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  // Keeps the value that is there.
  void Add(const std::string& key, Value value, MonotonicTime now) {
    if (!values_.emplace(key, std::move(value)).second) return;
    by_age_.emplace_back(now + lifetime_, key);
    if (by_age_.size() > max_) DropOldest();
  }
  size_t size() const { return values_.size(); }

 private:
  void DropOldest() {
    values_.erase(by_age_.front().second);
    by_age_.pop_front();
  }

  const Duration lifetime_;
  const size_t max_;
  std::map<std::string, Value> values_;
  std::deque<std::pair<MonotonicTime, std::string>> by_age_;  // when each ends, and its key; oldest first
};

}  // namespace attune::telemetry
