// What finished jobs leave to similar ones: a few speeds, the beliefs about efficiency, memory. A bounded store as a
// value; where it is kept (a ConfigMap, a file) is the caller's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/tuner/models/efficiency.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

struct HistoryEntry {
  std::string signature;  // jobs with equal signatures are similar: image, command, tables
  std::string job;        // unique; a later entry of the same job takes the place of the earlier; "": not known
  std::vector<std::string> knobs;
  struct Speed {
    Setting setting;
    double log_seconds = 0;  // per update; only differences matter
    double updates = 0, windows = 0;
  };
  std::vector<Speed> speeds;  // best and most different ones
  HypothesisWeights efficiency{};
  bool efficiency_known = false;
  std::vector<Setting> crashed;
  Setting best;

  static constexpr size_t kSpeedsMax = 10;
  static constexpr size_t kCrashedMax = 16;
};

class JobHistory {
 public:
  void Add(HistoryEntry entry);  // the oldest of the same signature, then the oldest at all, make room
  std::vector<const HistoryEntry*> Similar(const std::string& signature, const std::vector<std::string>& knobs) const;
  const std::vector<HistoryEntry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  std::string Save() const;  // JSON, below kBytesMax
  static StatusOr<JobHistory> Load(const std::string& text);

  static constexpr size_t kEntriesMax = 64;
  static constexpr size_t kPerSignatureMax = 3;
  static constexpr size_t kBytesMax = size_t{256} * 1024;

 private:
  std::vector<HistoryEntry> entries_;  // oldest first
};

}  // namespace attune::tuner
