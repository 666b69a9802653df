// The members of a small job, for the tests of this room.
#pragma once

#include <chrono>
#include <cstdint>

#include "ps/core/membership/members/member_table.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

inline constexpr ConnectionId kToA{11}, kToB{12}, kToWorker{13};
inline constexpr Duration kLiveness = std::chrono::seconds(10);
inline constexpr uint32_t kPodOfB = 102;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + std::chrono::seconds(time); }

inline Join JoinOf(Role role, uint32_t index, uint32_t pod) {
  return {.incarnation = NewIncarnation(pod, 1), .role = role, .index = index};
}

// Two servers and a worker.
struct SmallJob {
  MemberTable members{kLiveness};
  NodeId a = members.Admit(JoinOf(Role::kServer, 0, 101), kToA).member.node;
  NodeId b = members.Admit(JoinOf(Role::kServer, 1, kPodOfB), kToB).member.node;
  NodeId worker = members.Admit(JoinOf(Role::kWorker, 0, 201), kToWorker).member.node;
};

}  // namespace attune::ps
