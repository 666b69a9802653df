// Which coordinator a server supports, and for how long questions that it has had from coordinators of lower terms may
// yet count for them (ps/core/membership/leader_lease.h). A coordinator counts an answer from when the question left,
// which is before it arrived here: so its support has ended one lease after the arrival of the last question, whenever
// it was answered. Pure; externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time_source.h"

namespace attune::ps {

class SupportGiven {
 public:
  // `number` 0: nothing was asked.
  void OnQuestion(uint32_t term, uint64_t number, Duration lasts, MonotonicTime now) {
    if (number == 0 || term < newest_.term) return;
    if (term > newest_.term) {
      std::erase_if(former_, [&](const Given& given) { return given.ends <= now; });
      if (newest_.ends > now) former_.push_back(newest_);
      if (former_.size() > kFormerMax) {
        former_[1].ends = std::max(former_[0].ends, former_[1].ends);
        former_.erase(former_.begin());
      }
      newest_ = {.term = term, .ends = MonotonicTime::min()};
    }
    number_ = number;
    newest_.ends = std::max(newest_.ends, now + lasts);
  }
  // A map of this term has come: its coordinator has acted, so all before it were without the leader lease by then.
  void OnMap(uint32_t term) {
    std::erase_if(former_, [&](const Given& given) { return given.term < term; });
  }

  // To be named in the next message; 0: none of this coordinator has arrived.
  uint64_t number() const { return number_; }
  // The coordinator before the one that asked last which may yet count on this server; 0: none, or several.
  uint32_t FormerTerm(MonotonicTime now) const {
    const auto counts = [&](const Given& given) { return given.ends > now; };
    if (std::ranges::count_if(former_, counts) != 1) return 0;
    return std::ranges::find_if(former_, counts)->term;
  }
  Duration FormerLeft(MonotonicTime now) const {
    Duration left{};
    for (const Given& given : former_) left = std::max(left, given.ends - now);
    return left;
  }

 private:
  static constexpr size_t kFormerMax = 8;
  struct Given {
    uint32_t term = 0;
    MonotonicTime ends = MonotonicTime::min();
  };
  Given newest_;
  uint64_t number_ = 0;
  std::vector<Given> former_;
};

}  // namespace attune::ps
