// The time without any server: a job's last one is lost, but stays a member until another one has taken its place, or
// until it is back. Pure; externally synchronized.
#pragma once

#include <utility>
#include <vector>

#include "base/pause_watch.h"
#include "base/time_source.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class LastServer {
 public:
  void NoteLost(MemberState& server, MonotonicTime now) {
    server.lost = true;
    lost_at_ = now;
  }
  // True: this one was lost, and is not any more.
  bool NoteBack(MemberState& server) {
    if (!std::exchange(server.lost, false)) return false;
    lost_at_ = kNever;
    return true;
  }
  // Those that another one takes the place of.
  std::vector<NodeId> TakeLost(const MemberTable& members) {
    std::vector<NodeId> lost;
    for (const auto& [id, member] : members) {
      if (member.lost) lost.push_back(id);
    }
    lost_at_ = kNever;
    return lost;
  }

  bool is_lost() const { return lost_at_ != kNever; }
  bool IsLostFor(Duration time, MonotonicTime now) const { return is_lost() && now - lost_at_ >= time; }
  // This process has stood still.
  void SkipPause(Duration pause) { lost_at_ = MovedBy(pause, lost_at_); }

 private:
  MonotonicTime lost_at_ = kNever;
};

}  // namespace attune::ps
