#include "ps/core/membership/members/gone_members.h"

#include <ranges>
#include <utility>

#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

void GoneMembers::Add(NodeId node, uint64_t incarnation, Status why, MonotonicTime now) {
  std::deque<NodeId>& order = why.ok() ? left_ : lost_;
  const auto [known, added] = gone_.try_emplace(node, Gone{std::move(why), incarnation, now});
  if (!added) return;
  order.push_back(node);
  if (incarnation != 0) processes_.try_emplace(incarnation, node);
  while (gone_.size() > options_.kept_max) ForgetOldest(left_.empty() ? lost_ : left_);
}

const GoneMembers::Gone* GoneMembers::Find(NodeId node) const {
  const auto gone = gone_.find(node);
  return gone == gone_.end() ? nullptr : &gone->second;
}

NodeId GoneMembers::NodeOf(uint64_t incarnation) const {
  const auto process = processes_.find(incarnation);
  return process == processes_.end() ? NodeId() : process->second;
}

std::vector<uint32_t> GoneMembers::LostPods(size_t max) const {
  std::vector<uint32_t> pods;
  for (const NodeId node : std::views::reverse(lost_)) {
    if (pods.size() >= max) break;
    if (const uint32_t pod = PodOf(gone_.at(node).incarnation); pod != 0) pods.push_back(pod);
  }
  return pods;
}

void GoneMembers::Expire(MonotonicTime now) {
  const auto expire = [&](std::deque<NodeId>& order, Duration kept) {
    while (!order.empty() && now - gone_.at(order.front()).since >= kept) ForgetOldest(order);
  };
  expire(left_, options_.left_kept);
  expire(lost_, options_.lost_kept);
}

void GoneMembers::ForgetOldest(std::deque<NodeId>& order) {
  const auto gone = gone_.find(order.front());
  const auto process = processes_.find(gone->second.incarnation);
  if (process != processes_.end() && process->second == gone->first) processes_.erase(process);
  gone_.erase(gone);
  order.pop_front();
}

}  // namespace attune::ps
