// Readings of the settings that a job has run at: smoothed, one entry a setting, the newest last, so many at most. An
// entry has the members `setting` and `windows`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace attune::tuner {

// A value below 0 is not known yet.
inline void Smooth(double& value, const std::optional<double>& reading, double weight) {
  if (!reading) return;
  value = value < 0 ? *reading : value + weight * (*reading - value);
}

// The entry of this setting as the newest, its windows counted; above `most` the oldest goes.
template <typename Entry>
Entry& Renew(std::vector<Entry>& entries, int setting, double windows, size_t most) {
  Entry entry{.setting = setting};
  const auto known =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& each) { return each.setting == setting; });
  if (known != entries.end()) {
    entry = *known;
    entries.erase(known);
  } else if (entries.size() >= most) {
    entries.erase(entries.begin());
  }
  entry.windows += windows;
  entries.push_back(entry);
  return entries.back();
}

}  // namespace attune::tuner
