#include "ps/core/membership/link_watch.h"

#include <algorithm>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

bool LinkWatch::Said(NodeId member, const std::vector<NodeId>& unreached, MonotonicTime now) {
  const bool had_all = links_.HasAllLinks(member);
  links_.Said(member, unreached, now);
  return had_all != links_.HasAllLinks(member);
}

void LinkWatch::Forget(NodeId member) {
  links_.Forget(member);
  if (given_up_ == member) given_up_.reset();
}

std::vector<Reachability::Candidate> LinkWatch::Candidates(MonotonicTime now, const CandidateOf& candidate_of) const {
  constexpr uint32_t kAfterAllOthers = 1U << 31;
  std::vector<Reachability::Candidate> candidates;
  for (const auto& [id, others] : links_.Missing(now)) {
    const std::optional<Candidate> candidate = candidate_of(id);
    if (!candidate) continue;
    const bool is_worker = candidate->role == Role::kWorker;
    const auto times = times_.find({candidate->role, candidate->index});
    const uint32_t order =
        (times == times_.end() ? 0 : times->second) + (candidate->vote_is_missed ? kAfterAllOthers : 0);
    candidates.push_back({.node = id, .cost = {order, is_worker ? 1 : candidate->has_rows ? 2 : 0}});
  }
  return candidates;
}

std::optional<NodeId> LinkWatch::Check(MonotonicTime now, bool may_be_chosen, const CandidateOf& candidate_of) {
  if (given_up_ && (!candidate_of(*given_up_) || !links_.Missing(now).contains(*given_up_))) given_up_.reset();
  if (given_up_ || !may_be_chosen) return std::nullopt;
  given_up_ = links_.ToGo(Candidates(now, candidate_of), now);
  if (!given_up_) return std::nullopt;
  const Candidate chosen = candidate_of(*given_up_).value();
  if (times_.size() >= kMembersMax) times_.clear();
  ++times_[{chosen.role, chosen.index}];
  return given_up_;
}

std::string LinkWatch::Describe(NodeId member, MonotonicTime now, const NameOf& name) const {
  constexpr size_t kNamed = 3;
  const std::vector<NodeId> missing = links_.Missing(now)[member];
  std::string text =
      name(member) + " has had no connection for " + std::to_string(static_cast<int64_t>(Seconds(timeout_))) + " s to ";
  for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + name(missing[i]);
  if (missing.size() > kNamed) text += " and " + std::to_string(missing.size() - kNamed) + " more";
  return text;
}

}  // namespace attune::ps
