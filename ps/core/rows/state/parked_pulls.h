// Pulls that wait until the rows contain their worker's own earlier pushes. Each has a deadline, after which no caller
// waits for its answer any more. Bounded per worker. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/row_messages.h"

namespace attune::ps {

struct ParkedPull {
  Pull pull;
  MonotonicTime deadline;
  size_t met = 0;  // entries of `pull.after` before this one are satisfied
};

class ParkedPulls {
 public:
  bool empty() const { return by_origin_.empty(); }
  size_t size() const {
    size_t count = 0;
    for (const auto& [origin, pulls] : by_origin_) count += pulls.size();
    return count;
  }
  // False: kParkedPullsPerOriginMax pulls of this worker wait already.
  bool HasRoom(NodeId origin) const {
    const auto pulls = by_origin_.find(origin);
    return pulls == by_origin_.end() || pulls->second.size() < kParkedPullsPerOriginMax;
  }
  // When Expire has something to do; may be early.
  MonotonicTime next_deadline() const { return next_deadline_; }

  void Add(ParkedPull parked) {
    if (parked.deadline != kNever) next_deadline_ = std::min(next_deadline_, parked.deadline);
    by_origin_[parked.pull.origin].push_back(std::move(parked));
  }
  // Drops those whose deadline has come.
  void Expire(MonotonicTime now) {
    if (now < next_deadline_) return;
    next_deadline_ = kNever;
    for (auto& [origin, pulls] : by_origin_) {
      std::erase_if(pulls, [&](const ParkedPull& parked) { return parked.deadline <= now; });
      for (const ParkedPull& parked : pulls) next_deadline_ = std::min(next_deadline_, parked.deadline);
    }
    EraseEmpty();
  }
  void Forget(NodeId origin) { by_origin_.erase(origin); }

  // Takes out those of one worker for which `take(ParkedPull&)` returns true; it may have moved from them.
  template <typename Take>
  void TakeIf(NodeId origin, Take&& take) {
    const auto pulls = by_origin_.find(origin);
    if (pulls == by_origin_.end()) return;
    std::erase_if(pulls->second, take);
    if (pulls->second.empty()) by_origin_.erase(pulls);
  }
  // The same for all workers.
  template <typename Take>
  void TakeIf(Take&& take) {
    for (auto& [origin, pulls] : by_origin_) std::erase_if(pulls, take);
    EraseEmpty();
  }
  // Puts what `replace(ParkedPull)` returns in the place of each; nothing: it waits no more.
  template <typename Replace>
  void ReplaceEach(Replace&& replace) {
    for (auto& [origin, pulls] : by_origin_) {
      std::vector<ParkedPull> kept;
      for (ParkedPull& parked : pulls) {
        if (std::optional<ParkedPull> still = replace(std::move(parked))) kept.push_back(*std::move(still));
      }
      pulls = std::move(kept);
    }
    EraseEmpty();
  }

 private:
  void EraseEmpty() {
    std::erase_if(by_origin_, [](const auto& entry) { return entry.second.empty(); });
  }

  std::map<NodeId, std::vector<ParkedPull>> by_origin_;
  MonotonicTime next_deadline_ = kNever;
};

}  // namespace attune::ps
