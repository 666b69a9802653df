#include "ps/core/coordinator/state/record_mirror.h"

#include <algorithm>

namespace attune::ps {

bool RecordMirror::SetHost(NodeId host) {
  const NodeId before = std::exchange(host_, host);
  if (host == NodeId() || host == before) return false;
  if (before != NodeId()) older_.insert(before);
  first_there_ = number_ + 1;
  return true;
}

bool RecordMirror::BeginCopy(bool moved, MonotonicTime now, Duration again_after) {
  const bool in_progress = arrived_ < number_;
  if (in_progress && !moved) {
    if (now < again_at_) return false;
  } else {
    const bool is_time = unhurried_since_ && now >= *unhurried_since_ + kUnhurried;
    if (!moved && !hurries_ && !is_time && !changed_) return false;
    ++number_;
    changed_ = hurries_ = false;
    unhurried_since_.reset();
  }
  again_at_ = now + again_after;
  return true;
}

bool RecordMirror::Acknowledge(NodeId from, uint64_t number) {
  if (from != host_ || number > number_) return false;
  arrived_ = std::max(arrived_, number);
  return true;
}

}  // namespace attune::ps
