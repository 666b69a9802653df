// When a stream to the operator is tried again. Waits double from one failure to the next; after a stream that lasted
// the first one is short. Pure; not thread-safe.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time_source.h"

namespace attune::sidecar {

inline constexpr Duration kFirstRetry = std::chrono::milliseconds(200);  // after a stream that lasted
inline constexpr Duration kBackoffMin = std::chrono::milliseconds(500);
// No process listens, or none can be reached: another replica of the operator may lead at any moment.
inline constexpr Duration kBackoffUnreachableMax = std::chrono::seconds(1);
inline constexpr Duration kBackoffMax = std::chrono::seconds(30);

class ReconnectBackoff {
 public:
  // `seed`: of the jitter. The first stream may be opened at once.
  explicit ReconnectBackoff(uint64_t seed) : random_(seed) {}

  MonotonicTime at() const { return at_; }
  // What can be sent has to be sent soon.
  void Hurry(MonotonicTime now);
  // No operator is there: asking costs next to nothing, and it may be back at any moment.
  void NoteUnreachable();
  // The stream is gone. `lasted`: it had been good for a while.
  void Schedule(bool lasted, MonotonicTime now);

 private:
  Random random_;
  MonotonicTime at_{};
  Duration wait_ = kBackoffMin;  // before the next jitter
};

}  // namespace attune::sidecar
