#include "ps/core/membership/members/silence_watch.h"

#include <algorithm>
#include <utility>

#include "base/pause_watch.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

Duration SilenceWatch::NoteHeard(MemberState& member, bool is_host, MonotonicTime now) {
  Duration forgiven = Duration::zero();
  if (!is_host) {
    forgiven = PausedFor(others_heard_, now, options_.pause_tolerance);
    others_heard_ = now;
  }
  if (forgiven > Duration::zero()) Forgive(forgiven, now);
  member.silent_since = now;
  member.said_gone.reset();  // that was another process
  return forgiven;
}

void SilenceWatch::Forgive(Duration time, MonotonicTime now) {
  for (auto& [id, member] : members_) {
    member.silent_since = std::min(now, MovedBy(time, member.silent_since));
    if (member.said_gone && !member.proven_gone) member.said_gone = std::min(now, MovedBy(time, *member.said_gone));
  }
}

void SilenceWatch::SkipPause(Duration pause, MonotonicTime now) {
  Forgive(pause, now);
  others_heard_ = MovedBy(pause, others_heard_);
}

bool SilenceWatch::NoteSaidGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now) {
  for (auto& [id, member] : members_) {
    if (member.member.role != role || member.member.index != index || member.lost) continue;
    const uint32_t known = PodOf(member.member.incarnation);
    const bool is_known = pod != 0 && known != 0;
    if (is_known && pod != known) continue;  // replaced since
    if (!member.said_gone) member.said_gone = now;
    member.proven_gone = is_known;
    return true;
  }
  return false;
}

std::vector<NodeId> SilenceWatch::SaidGone(MonotonicTime now) const {
  constexpr Duration kNoticeCheck = std::chrono::seconds(2);
  std::vector<NodeId> gone;
  for (const auto& [id, member] : members_) {
    if (member.lost || !member.said_gone) continue;
    const bool silent = member.proven_gone && !member.connection;
    if (silent || now - *member.said_gone >= kNoticeCheck) gone.push_back(id);
  }
  return gone;
}

// While no member is heard it may be this machine that is cut off: its lease ends soon then, and who is its only
// partner is given more time.
SilenceWatch::Silent SilenceWatch::FindSilent(const ShardMap& map, MonotonicTime now) const {
  const bool unheard = others_heard_ != kNever && now - others_heard_ > options_.pause_tolerance;
  Silent silent;
  for (const auto& [id, member] : members_) {
    if (member.lost || now - member.silent_since < options_.liveness_lease) continue;
    silent.all.insert(id);
    const bool has_time = now - member.silent_since < options_.uncovered_timeout;
    if (!has_time || (!unheard && !WouldCostRows(member, map, now))) silent.lost.insert(id);
  }
  return silent;
}

bool SilenceWatch::WouldCostRows(const MemberState& lost, const ShardMap& map, MonotonicTime now) const {
  const NodeId id = lost.member.node;
  return std::ranges::any_of(map.shards, [&](const Shard& shard) {
    if (lost.is_server() && shard.home != id) return false;
    if (!lost.member.may_own_rows()) return false;
    const MemberState* backup = members_.Find(shard.backup);
    return backup == nullptr || now - backup->silent_since >= options_.liveness_lease;
  });
}

}  // namespace attune::ps
