// What one candidate has seen of the Lease, and when it may take it over by that. Times are of its own monotonic clock:
// how long a Lease has stood unchanged is counted from when this process first saw it so.
//
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time_source.h"
#include "operator/leadership/election/lease_record.h"

namespace attune::leadership {

class SeenLease {
 public:
  // How long others have to wait for a holder that says nothing.
  struct Waits {
    Duration lease{};       // at least this; a Lease that names a longer duration is believed, within a bound
    Duration absent_for{};  // for a Lease that does not exist
  };

  // What a read or an answered write has shown; nothing: there is no such Lease.
  void Set(const std::optional<LeaseRecord>& lease, MonotonicTime now);

  // Nothing: there is none, or none was looked for yet.
  const std::optional<LeaseRecord>& lease() const { return lease_; }
  bool IsHeldBy(const std::string& identity) const { return lease_ && lease_->holder == identity; }
  bool IsHeldByOtherThan(const std::string& identity) const { return lease_ && lease_->holder != identity; }
  // `lease` is the very write that was seen last, so nothing has changed.
  bool IsSameWrite(const LeaseRecord& lease) const;
  // Changes of holder, as counted by the last Lease that was seen, though it may be gone.
  int64_t transitions() const { return transitions_; }
  // The earliest time at which a candidate of this identity may write itself into it.
  MonotonicTime MayBeTakenAt(const std::string& identity, const Waits& waits) const;

 private:
  std::optional<LeaseRecord> lease_;
  bool looked_ = false;              // `lease_` means something
  MonotonicTime unchanged_since_{};  // when what `lease_` says was first seen
  int64_t transitions_ = 0;
};

}  // namespace attune::leadership
