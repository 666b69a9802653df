// Values of metrics on their way to the coordinator: one of each name at a time, and behind it the newest one, so that
// a program may report as often as it likes. Externally synchronized.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace attune::ps {

template <typename Report>
class MetricQueue {
 public:
  // Returns the report when it is to be sent now; else it waits, in place of an earlier one that waited.
  std::optional<Report> Add(const std::string& name, Report report) {
    const auto [in_flight, is_first] = in_flight_.try_emplace(name);
    if (is_first) return report;
    in_flight->second = std::move(report);
    return std::nullopt;
  }
  // The one in flight has been answered. Returns the one that is to be sent now, if any waited.
  std::optional<Report> Answered(const std::string& name) {
    const auto in_flight = in_flight_.find(name);
    if (in_flight == in_flight_.end()) return std::nullopt;
    std::optional<Report> next = std::exchange(in_flight->second, std::nullopt);
    if (!next) in_flight_.erase(in_flight);
    return next;
  }
  void Clear() { in_flight_.clear(); }

 private:
  std::map<std::string, std::optional<Report>> in_flight_;  // by name: what waits behind it
};

}  // namespace attune::ps
