// What a job's acts ran into. Each act that failed is tried again by itself, after a delay that doubles with every
// failure in a row, and no sooner than the API server asked for; acts of one kind that keep failing pause together, so
// that a quota that is used up is not asked a thousand times. Which failures people must know of is decided here too:
// a refusal at once, trouble that often passes by itself when it lasts. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune::controller {

// An act that is refused, for a condition and an Event.
struct BlockedAct {
  std::string identity;  // of the action, action.h
  std::string reason;    // names.h
  std::string message;   // what, why, and what to do; the same as long as the reason is
  friend bool operator==(const BlockedAct&, const BlockedAct&) = default;
};

// What the tuner must not forget cannot be read or written: the job keeps its setting, and nothing else waits.
bool IsAboutTuningRecord(const BlockedAct& act);
// That, or what similar jobs would start from.
bool IsAboutTuner(const BlockedAct& act);

class ActFailures {
 public:
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(200);
  static constexpr Duration kDelayMax = std::chrono::seconds(30);
  // So many failures of one kind within a pause's length are the kind's, not the objects'.
  static constexpr uint32_t kFailuresUntilPause = 4;
  static constexpr Duration kPause = std::chrono::seconds(1);
  // Trouble that often passes by itself is reported from this failure in a row on.
  static constexpr uint32_t kLasting = 4;

  bool MayTry(const std::string& kind, const std::string& identity, MonotonicTime now) const;
  // How long until it is tried again.
  Duration OnFailure(const std::string& kind, const std::string& identity, const Status& status, MonotonicTime now);
  void OnSuccess(const std::string& identity) { failed_.erase(identity); }
  // Forgets what the newest plan does not ask for any more.
  void Keep(const std::set<std::string>& identities);

  // What people must know of, by identity.
  std::vector<BlockedAct> Blocked() const;
  // Those of them that were not returned before. What is missing for all acts of a kind, such as a right, is one.
  std::vector<BlockedAct> TakeNews();
  // When the first of all acts that wait may be tried; kNever when none waits.
  MonotonicTime NextTry() const;

 private:
  struct Entry {
    std::string kind;
    uint32_t failures = 0;
    MonotonicTime next_try{};
    std::optional<BlockedAct> blocked;
    bool reported = false;
  };
  struct Kind {
    uint32_t failures = 0;
    MonotonicTime since{}, paused_until{};
  };

  Random random_{1};  // of the jitter
  std::map<std::string, Entry> failed_;
  std::map<std::string, Kind> kinds_;
};

// Why an object of another owner is in the way; marks the status so that it is reported as such.
Status NameTaken(const std::string& text);

}  // namespace attune::controller
