// Whether a part of the operator has stopped working, as /healthz says. A part is a loop or a turn that must move: it
// is stuck when it has had something to do and not moved for kStuckAfter. A server that is away moves every loop (calls
// end by their deadline and are tried again), so it is never a reason to restart the operator. Time counts only as far
// as it was looked at: after a pause of this process everything gets its chance to move. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"

namespace attune::controller {

struct MovingPart {
  std::string name;   // "watch of pods", for people
  uint64_t turn = 0;  // changes when the part moves
  bool idle = false;  // has nothing to do: standing still is right
};

class StuckWatch {
 public:
  static constexpr Duration kStuckAfter = std::chrono::minutes(5);
  // Between two looks at most so much counts; probes come more often.
  static constexpr Duration kLookCounts = std::chrono::seconds(20);

  // "" when all parts move, else which do not and since when. Call it regularly.
  std::string Look(const std::vector<MovingPart>& parts, MonotonicTime now);

 private:
  struct Seen {
    uint64_t turn = 0;
    Duration standing{};
  };
  std::map<std::string, Seen> seen_;  // of the last look's parts
  std::optional<MonotonicTime> last_look_;
};

}  // namespace attune::controller
