#include "operator/leadership/election/seen_lease.h"

#include <algorithm>

namespace attune::leadership {
namespace {

// What another release, or a hand, may have written: waiting ends.
constexpr Duration kForeignDurationMax = std::chrono::minutes(10);
constexpr MonotonicTime kAtOnce = MonotonicTime::min();

}  // namespace

void SeenLease::Set(const std::optional<LeaseRecord>& lease, MonotonicTime now) {
  const bool same = lease ? IsSameWrite(*lease) : !lease_;
  if (!looked_ || !same) unchanged_since_ = now;
  looked_ = true;
  lease_ = lease;
  if (lease) transitions_ = lease->transitions;
}

bool SeenLease::IsSameWrite(const LeaseRecord& lease) const {
  return lease_ && lease_->uid == lease.uid && lease_->version == lease.version;
}

MonotonicTime SeenLease::MayBeTakenAt(const std::string& identity, const Waits& waits) const {
  if (!lease_) return unchanged_since_ + waits.absent_for;
  if (IsHeldBy(identity)) return kAtOnce;
  if (lease_->holder.empty() && lease_->released) return kAtOnce;
  return unchanged_since_ + std::max(waits.lease, std::min(lease_->duration, kForeignDurationMax));
}

}  // namespace attune::leadership
