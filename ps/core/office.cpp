#include "ps/core/office.h"

#include <algorithm>
#include <utility>

#include "ps/core/limits.h"

namespace attune::ps {
namespace {

constexpr size_t kOpenQuestionsMax = 64;
constexpr int64_t kMarginDivisor = 10;  // two clocks may differ in speed

}  // namespace

std::vector<Voters> VotersOf(const ShardMap& map) {
  if (!map.voters.empty()) return map.voters;
  Voters servers{.map_version = map.version, .nodes = {}};
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) servers.nodes.push_back(member.node);
  }
  return {servers};
}

void Office::Configure(const Voters& voters) {
  if (!configurations_.empty() && configurations_.back().nodes == voters.nodes) return;
  if (configurations_.size() >= kVoterSetsMax) return;
  configurations_.push_back(voters);
  DropSuperseded();
}

void Office::Adopt(std::vector<Voters> configurations) {
  configurations_ = std::move(configurations);
  if (confirmed_) ReplaceBy(*confirmed_);
  DropSuperseded();
}

bool Office::Confirm(const Voters& voters) {
  if (!ReplaceBy(voters)) return false;
  confirmed_ = voters;
  DropSuperseded();
  return true;
}

bool Office::ReplaceBy(const Voters& confirmed) {
  if (!configurations_.empty() && confirmed.map_version < configurations_.front().map_version) return false;
  std::erase_if(configurations_, [&](const Voters& old) { return old.map_version <= confirmed.map_version; });
  configurations_.insert(configurations_.begin(), confirmed);
  return true;
}

uint64_t Office::Ask(NodeId voter, MonotonicTime now) {
  Support& support = support_[voter];
  support.open.push_back({++last_ask_, now});
  if (support.open.size() > kOpenQuestionsMax) support.open.pop_front();
  return last_ask_;
}

void Office::Knows(NodeId voter, MapVersion map) {
  const auto found = support_.find(voter);
  if (found == support_.end()) return;
  found->second.knows = std::max(found->second.knows, map);
  DropSuperseded();
}

void Office::OnAnswer(NodeId voter, uint64_t number, MapVersion knows) {
  const auto found = support_.find(voter);
  if (found == support_.end()) return;
  Support& support = found->second;
  while (!support.open.empty() && support.open.front().number < number) support.open.pop_front();
  if (!support.open.empty() && support.open.front().number == number) support.asked_at = support.open.front().at;
  Knows(voter, knows);
}

bool Office::Exclude(NodeId voter) {
  support_.erase(voter);
  return excluded_.insert(voter).second;
}

std::vector<NodeId> Office::Counting(const Voters& voters) const {
  std::vector<NodeId> counting = voters.nodes;
  std::erase_if(counting, [&](NodeId node) { return excluded_.contains(node); });
  return counting;
}

// Once a strict majority of a configuration knows a newer map, no majority of it can take the older one for the newest.
void Office::DropSuperseded() {
  const auto superseded = [&](const Voters& older, MapVersion newer) {
    const std::vector<NodeId> counting = Counting(older);
    const auto knowing = std::ranges::count_if(counting, [&](NodeId node) {
      const auto support = support_.find(node);
      return support != support_.end() && support->second.knows >= newer;
    });
    return static_cast<size_t>(knowing) * 2 > counting.size();
  };
  while (configurations_.size() > 1 && superseded(configurations_[0], configurations_[1].map_version)) {
    configurations_.erase(configurations_.begin());
  }
  std::erase_if(excluded_, [&](NodeId node) {
    return std::ranges::none_of(configurations_, [&](const Voters& voters) {
      return std::ranges::find(voters.nodes, node) != voters.nodes.end();
    });
  });
}

// The latest time until which more than half of the voters support this coordinator.
MonotonicTime Office::EndsIn(const Voters& voters, const std::set<NodeId>& silent) const {
  std::vector<MonotonicTime> ends;
  for (const NodeId node : Counting(voters)) {
    const auto support = support_.find(node);
    const bool supports = support != support_.end() && support->second.asked_at && !silent.contains(node);
    ends.push_back(supports ? *support->second.asked_at + (lease_ - lease_ / kMarginDivisor) : MonotonicTime::min());
  }
  if (ends.empty()) return MonotonicTime::min();
  std::ranges::sort(ends, std::greater());
  return ends[(ends.size() - (half_is_a_majority_ ? 1 : 0)) / 2];
}

MonotonicTime Office::ends() const {
  MonotonicTime ends = kNever;
  for (const Voters& voters : configurations_) ends = std::min(ends, EndsIn(voters, {}));
  return ends;
}

bool Office::HeldWithout(const std::set<NodeId>& silent, MonotonicTime now) const {
  return std::ranges::all_of(configurations_, [&](const Voters& voters) { return now < EndsIn(voters, silent); });
}

bool Office::IsFresh(NodeId voter, MonotonicTime now) const {
  const auto support = support_.find(voter);
  return support != support_.end() && support->second.asked_at && now - *support->second.asked_at <= lease_ / 2;
}

bool Office::Votes(NodeId node) const {
  if (configurations_.empty()) return false;
  const std::vector<NodeId>& nodes = configurations_.back().nodes;
  return std::ranges::find(nodes, node) != nodes.end();
}

std::vector<NodeId> Office::Wanted(const std::vector<NodeId>& members, MonotonicTime now, Duration patience) {
  bool majority = true, half = true;
  for (const Voters& voters : configurations_) {
    const std::vector<NodeId> counting = Counting(voters);
    const auto fresh = 2 * std::ranges::count_if(counting, [&](NodeId node) { return IsFresh(node, now); });
    majority = majority && static_cast<size_t>(fresh) > counting.size();
    half = half && static_cast<size_t>(fresh) >= counting.size();
  }
  if (half) minority_since_ = kNever;
  if (majority) return {};
  if (!half && minority_since_ == kNever) minority_since_ = now;
  if (!half && now - minority_since_ < patience) return {};
  std::vector<NodeId> wanted = members;
  std::erase_if(wanted, [&](NodeId node) { return !IsFresh(node, now); });
  return wanted;
}

}  // namespace attune::ps
