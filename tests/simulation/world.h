// What every simulation stands on: time that jumps from event to event, randomness from one seed, and the record of the
// run (what was violated, what happened, and, when asked for, a history that people read). One thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time_source.h"

namespace attune::ps::simulation {

inline Duration FromMilliseconds(double value) { return Duration(static_cast<int64_t>(value * 1e6)); }

// What a run leaves behind.
struct Outcome {
  std::vector<std::string> violations;          // the first few; empty: all good
  uint64_t digest = 0;                          // of what happened, in order: the same for the same seed
  uint64_t messages = 0;                        // delivered
  std::map<std::string_view, uint64_t> counts;  // "breaks" -> 12; a run in which nothing happened proves nothing
  std::vector<std::string> history;             // only when it was asked for
  uint64_t Count(std::string_view what) const {
    const auto it = counts.find(what);
    return it == counts.end() ? 0 : it->second;
  }
};

class World {
 public:
  World(uint64_t random_seed, bool keep_history) : random_(random_seed), keeps_history_(keep_history) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  MonotonicTime now() const { return now_; }
  double Time() const { return Seconds(now_ - MonotonicTime{}); }
  Random& random() { return random_; }

  void At(MonotonicTime at, std::function<void()> run) { events_.push({at, next_order_++, std::move(run)}); }
  void After(Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  // A process asks to be woken; of the times it asks for, the earliest counts. `alarm` must stay where it is.
  void WakeAt(std::optional<MonotonicTime>& alarm, MonotonicTime at, std::function<void()> ring);
  // Runs events in the order of their time until there is none, one lies at or beyond `limit`, or `go_on` is false.
  template <typename GoOn>
  void Run(MonotonicTime limit, const GoOn& go_on) {
    while (!events_.empty() && events_.top().at < limit && go_on()) {
      Event event = std::move(const_cast<Event&>(events_.top()));  // the queue orders by what is not moved
      events_.pop();
      now_ = event.at;
      // A process would end here. So that the run is replayed like any other that went wrong, it is a violation.
      try {
        event.run();
      } catch (const std::exception& thrown) {
        return Violation(std::string("an exception: ") + thrown.what());
      }
    }
  }

  void Violation(const std::string& text);
  bool violated() const { return !outcome_.violations.empty(); }
  // A line of the history. Ask keeps_history() before composing a long one.
  void Trace(const std::string& text);
  bool keeps_history() const { return keeps_history_; }
  void Digest(uint64_t value) { outcome_.digest = SplitMix64(outcome_.digest ^ value); }
  void Count(std::string_view what, uint64_t by = 1) { outcome_.counts[what] += by; }
  Outcome& outcome() { return outcome_; }

 private:
  struct Event {
    MonotonicTime at;
    uint64_t order;  // of those at the same time, the first asked for goes first
    std::function<void()> run;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return std::tie(a.at, a.order) > std::tie(b.at, b.order); }
  };

  Random random_;
  bool keeps_history_;
  MonotonicTime now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  Outcome outcome_;
};

}  // namespace attune::ps::simulation
