// Which kinds of message may come from whom: one table, kind by role of the sender, for each receiver. ServerCore,
// WorkerCore and CoordinatorCore ask it before anything in a message is looked at, and drop what has no right to come,
// whatever it says. So a worker ends no server with `Finished`, and a node that is no member is never taken for the
// coordinator.
//
// The role of a node is the one that the receiver's own map names, never what the sender says of itself. A link may be
// older than the map of its receiver: a node that the map does not name (yet) may say what some member may, which then
// waits for the map (RowNode, CoordinatorNotices). RowNode asks again when the role is known.
//
// Constant; the class at the end is externally synchronized.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

enum class Party : uint8_t { kCoordinator, kServer, kWorker, kUnknown };

constexpr Party PartyOf(Role role) { return role == Role::kServer ? Party::kServer : Party::kWorker; }
inline Party PartyOf(NodeId node, const ShardMap& map) {
  if (node == kCoordinator) return Party::kCoordinator;
  const Member* member = map.Find(node);
  return member == nullptr ? Party::kUnknown : PartyOf(member->role);
}

// Sets of parties.
using Senders = uint8_t;
constexpr Senders SetOf(Party party) { return static_cast<Senders>(1U << static_cast<unsigned>(party)); }
inline constexpr Senders kNoSender = 0;
inline constexpr Senders kFromCoordinator = SetOf(Party::kCoordinator);
inline constexpr Senders kFromServers = SetOf(Party::kServer);
inline constexpr Senders kFromWorkers = SetOf(Party::kWorker);
inline constexpr Senders kFromMembers = kFromServers | kFromWorkers;
// Of a connection that has not introduced itself to the coordinator.
inline constexpr Senders kFromNewcomers = kFromMembers | SetOf(Party::kUnknown);

struct MessageRights {
  size_t kind;  // index in Message
  Senders to_server, to_worker, to_coordinator;
};

namespace internal {

template <typename Kind, size_t kIndex = 0>
constexpr size_t KindIndex() {
  static_assert(kIndex < std::variant_size_v<MessageVariant>, "not a kind of message");
  if constexpr (std::is_same_v<Kind, std::variant_alternative_t<kIndex, MessageVariant>>) {
    return kIndex;
  } else {
    return KindIndex<Kind, kIndex + 1>();
  }
}

template <typename Kind>
constexpr MessageRights From(Senders to_server, Senders to_worker, Senders to_coordinator = kNoSender) {
  return {KindIndex<Kind>(), to_server, to_worker, to_coordinator};
}
template <typename Kind>
constexpr MessageRights ToCoordinator(Senders senders) {
  return {KindIndex<Kind>(), kNoSender, kNoSender, senders};
}

}  // namespace internal

// In the order of Message.
inline constexpr auto kMessageRights = [] {
  using internal::From;
  using internal::ToCoordinator;
  constexpr Senders kServers = kFromServers, kWorkers = kFromWorkers, kMembers = kFromMembers, kNone = kNoSender,
                    kOrders = kFromCoordinator;
  return std::to_array<MessageRights>({
      // Operations go to any node and are sent on; their answers go to the worker that began them.
      From<Push>(kMembers, kMembers),
      From<PushAck>(kNone, kMembers),
      From<PushRefused>(kNone, kMembers),
      From<Pull>(kMembers, kMembers),
      From<PullReply>(kNone, kMembers),
      From<PullRefused>(kNone, kMembers),
      From<Moved>(kNone, kMembers),
      // Rows on their way: homes and backups are servers, owners are any members.
      From<LinkAck>(kMembers, kMembers),
      From<Localize>(kMembers, kNone),
      From<MoveOrder>(kServers, kServers),
      From<Handover>(kMembers, kMembers),
      From<HandoverAck>(kMembers, kMembers),
      From<Replicate>(kMembers, kNone),
      From<ReplicateRefused>(kServers, kServers),
      From<InstallWanted>(kMembers, kMembers),
      From<Install>(kMembers, kNone),
      From<InstallAck>(kServers, kServers),
      From<JoinMarker>(kMembers, kMembers),
      From<HomeHandoff>(kServers, kNone),
      From<CollectOwners>(kServers, kServers),
      From<OwnersReport>(kMembers, kNone),
      From<FetchRows>(kServers, kNone),
      From<FetchedRows>(kServers, kNone),
      From<SnapshotRows>(kWorkers, kNone),
      From<SnapshotRowsAck>(kNone, kServers),
      From<Round>(kWorkers, kNone),
      From<RoundReply>(kNone, kServers),
      From<CoordinatorAt>(kServers, kServers),
      // Membership. Who joins, or answers a new coordinator, is known by what it says.
      ToCoordinator<Join>(kFromNewcomers),
      From<Welcome>(kOrders, kOrders),
      From<JoinRefused>(kOrders, kOrders),
      From<MapUpdate>(kOrders, kOrders),
      ToCoordinator<MapRequest>(kMembers),
      ToCoordinator<Heartbeat>(kMembers),
      ToCoordinator<RowsReport>(kMembers),
      ToCoordinator<LoadReport>(kServers),
      From<HeartbeatAck>(kOrders, kOrders),
      From<SyncUpdate>(kNone, kOrders),
      // Tables.
      ToCoordinator<OpenTable>(kWorkers),
      From<TableOpened>(kNone, kOrders),
      From<InstallTable>(kOrders, kNone),
      ToCoordinator<TableInstalled>(kServers),
      From<NewestCheckpoint>(kOrders, kNone),
      From<StillWorking>(kNone, kOrders),
      // Training data.
      ToCoordinator<OpenDataSet>(kWorkers),
      From<DataSetOpened>(kNone, kOrders),
      ToCoordinator<LeaseRequest>(kWorkers),
      From<LeaseGrant>(kNone, kOrders),
      From<LeasesEnded>(kNone, kOrders),
      ToCoordinator<LeaseDone>(kWorkers),
      ToCoordinator<LeaseReturn>(kWorkers),
      ToCoordinator<ReportMetric>(kWorkers),
      // Checkpoints: of every node that may hold rows.
      ToCoordinator<SaveTables>(kWorkers),
      From<Mark>(kOrders, kOrders),
      ToCoordinator<MarkDone>(kMembers),
      From<WriteSnapshot>(kOrders, kOrders),
      ToCoordinator<SnapshotDone>(kMembers),
      From<CutEnded>(kOrders, kOrders),
      ToCoordinator<Leave>(kWorkers),
      // Another coordinator.
      From<MirrorUpdate>(kOrders, kNone),
      ToCoordinator<MirrorAck>(kServers),
      From<Promise>(kOrders, kOrders),
      ToCoordinator<Promised>(kFromNewcomers),
      // Answers and ends.
      From<Done>(kNone, kOrders),
      From<Refused>(kNone, kOrders),
      From<GoalReached>(kOrders, kOrders),
      From<Finished>(kOrders, kOrders),
      From<SessionLost>(kOrders, kOrders),
  });
}();

namespace internal {

// Every kind of message has its line, at its place.
constexpr bool IsComplete(std::span<const MessageRights> rights) {
  if (rights.size() != std::variant_size_v<MessageVariant>) return false;
  for (size_t kind = 0; kind < rights.size(); ++kind) {
    if (rights[kind].kind != kind) return false;
  }
  return true;
}
static_assert(IsComplete(kMessageRights), "a kind of message is missing in kMessageRights, or not at its place");

}  // namespace internal

// `to`: not kUnknown.
constexpr bool MayCome(size_t kind, Party from, Party to) {
  const MessageRights& rights = kMessageRights[kind];
  const Senders senders = to == Party::kServer   ? rights.to_server
                          : to == Party::kWorker ? rights.to_worker
                                                 : rights.to_coordinator;
  if ((senders & SetOf(from)) != 0) return true;
  return from == Party::kUnknown && to != Party::kCoordinator && (senders & kFromMembers) != 0;
}

constexpr const char* NameOf(Party party) {
  constexpr std::array<const char*, 4> kNames = {"the coordinator", "a server", "a worker", "a node outside the map"};
  return kNames[static_cast<size_t>(party)];
}

// For people.
inline std::string WithoutRight(Party from, Party to) {
  return std::string("may not come from ") + NameOf(from) + " to " + NameOf(to);
}

// Of one receiver: drops what has no right to come, and counts it.
class RightsCheck {
 public:
  explicit RightsCheck(Party receiver) : receiver_(receiver) {}

  // True: the message is to be dropped; nothing else happens but an entry in `rejected`.
  bool Refuses(const Message& message, NodeId from, Party sender, std::vector<RejectedMessage>& rejected) {
    if (MayCome(message.index(), sender, receiver_)) return false;
    ++refused_;
    rejected.push_back({.from = from, .why = std::string(NameOf(message)) + ": " + WithoutRight(sender, receiver_)});
    return true;
  }
  uint64_t refused() const { return refused_; }

 private:
  Party receiver_;
  uint64_t refused_ = 0;
};

}  // namespace attune::ps
