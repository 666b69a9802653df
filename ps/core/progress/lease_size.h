// How many items a lease holds where neither the program nor the manifest says: few enough that workers end together,
// also when a goal is reached in the middle of an epoch, and so many that a worker has work in hand while it asks for
// more.
//
// A worker holds one lease and has the next one ready. Where both together last as short as a message takes, it waits
// for leases rather than for rows, and cannot announce what its next steps touch. Where they last ten times as long,
// the coordinator of small pods may still spend more on leases than its server does on rows: a lease is four messages,
// and more with a copy of the coordinator's record at another server (decision 0075). A lease that is held is done, so
// where one lasts for minutes a job ends minutes after its goal. So leases begin with one item, grow while they end
// too soon, and shrink where they last too long. How long one is open follows from how many are open and how often one
// is granted (Little's law: L = rate x time), which needs no memory of any single lease.
//
// Pure; externally synchronized.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time_source.h"

namespace attune::ps {

class LeaseSize {
 public:
  static constexpr uint64_t kLeasesPerEpoch = 256;    // enough to balance tens of workers, few enough to cost nothing
  static constexpr uint64_t kLeasesPerEpochMin = 16;  // however soon they end, an epoch is shared by several workers
  struct Limits {
    Duration too_short, too_long;
  };
  // Of leases that are larger than the usual part of an epoch, and of smaller ones. Those of the usual size grow as the
  // former and shrink as the latter.
  static constexpr Limits kLarge{std::chrono::milliseconds(300), std::chrono::seconds(1)};
  static constexpr Limits kUsual{std::chrono::seconds(1), std::chrono::seconds(10)};

  // Of a data set of `items`.
  explicit LeaseSize(uint64_t items)
      : usual_(std::max<uint64_t>(1, items / kLeasesPerEpoch)),
        most_(std::max<uint64_t>(1, items / kLeasesPerEpochMin)) {}

  uint64_t items() const { return items_; }

  // One was granted now; with it `open` leases are held.
  void NoteGranted(MonotonicTime now, size_t open) {
    if (granted_ == 0) since_ = now;
    if (granted_++ < kWindow) return;
    const double held = Seconds(now - since_) / kWindow * static_cast<double>(open);
    if (held < Seconds(items_ < usual_ ? kUsual.too_short : kLarge.too_short)) items_ = std::min(2 * items_, most_);
    if (held > Seconds(items_ > usual_ ? kLarge.too_long : kUsual.too_long)) items_ = std::max<uint64_t>(1, items_ / 2);
    granted_ = 1;
    since_ = now;
  }

 private:
  static constexpr int kWindow = 16;  // grants between two looks

  uint64_t usual_, most_, items_ = 1;
  int granted_ = 0;  // since the last look, the grant that began the window included
  MonotonicTime since_{};
};

}  // namespace attune::ps
