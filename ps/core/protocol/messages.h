// Everything nodes say to each other, as plain values. Encodings belong to transports.
//
// Two families:
//   row messages      any node <-> any node (ps/core/protocol/row_messages.h)
//   control messages  any node <-> coordinator (ps/core/protocol/control_messages.h)
// The names and identities are those of the protocol description in docs/protocol.md.
//
// What a transport must give: a frame (LinkHeader and message) arrives whole or not at all. Order, loss (of whole
// frames, at a broken connection) and duplication are the business of the link layer (ps/core/link/link.h). Identity of
// a peer, job id and protocol version are checked in the transport's handshake.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "ps/core/protocol/control_messages.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/link_header.h"
#include "ps/core/protocol/row_messages.h"

namespace attune::ps {

using MessageVariant =
    std::variant<Push, PushAck, PushRefused, Pull, PullReply, PullRefused, Moved,                   // rows
                 LinkAck, Localize, MoveOrder, Handover, HandoverAck, Replicate, ReplicateRefused,  // rows on their way
                 InstallWanted, Install, InstallAck, JoinMarker, HomeHandoff, CollectOwners, OwnersReport, FetchRows,
                 FetchedRows, SnapshotRows, SnapshotRowsAck, Round, RoundReply, CoordinatorAt, Join, Welcome,
                 JoinRefused, MapUpdate, MapRequest, Heartbeat, RowsReport, LoadReport, HeartbeatAck,
                 SyncUpdate,                                                                            // membership
                 OpenTable, TableOpened, InstallTable, TableInstalled, NewestCheckpoint, StillWorking,  // tables
                 OpenDataSet, DataSetOpened, LeaseRequest, LeaseGrant, LeasesEnded, LeaseDone, LeaseReturn,  // data
                 ReportMetric, SaveTables, Mark, MarkDone, WriteSnapshot, SnapshotDone, CutEnded, Leave, MirrorUpdate,
                 MirrorAck, Promise, Promised, Done, Refused, GoalReached, Finished, SessionLost>;

namespace internal {
template <typename Kind, typename Variant>
inline constexpr bool kIsKindOf = false;
template <typename Kind, typename... Kinds>
inline constexpr bool kIsKindOf<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> || ...);
}  // namespace internal

// One message of any kind; std::visit, std::get_if and std::holds_alternative take it as the variant that it is. How it
// is copied, moved and destroyed is compiled once, in messages.cpp: for over sixty kinds that is most of the work of
// compiling a file that only passes messages on.
class Message : public MessageVariant {
 public:
  Message();
  Message(const Message& other);
  Message(Message&& other) noexcept;
  Message& operator=(const Message& other);
  Message& operator=(Message&& other) noexcept;
  ~Message();

  template <typename Kind>
  requires internal::kIsKindOf<std::remove_cvref_t<Kind>, MessageVariant> Message(Kind&& message)  // NOLINT
      : MessageVariant(std::forward<Kind>(message)) {}  // NOLINT(google-explicit-constructor): as the variant does
};
bool operator==(const Message& a, const Message& b);

// "Push", for logs and errors.
const char* NameOf(const Message& message);
bool IsRowMessage(const Message& message);
// PushAck, PushRefused, PullReply, PullRefused, Moved: from the node that has the row (or its copy) to the asking
// worker.
bool IsAnswer(const Message& message);
// Row messages only: the field `map_version`; 0 for a LinkAck.
MapVersion MapVersionOf(const Message& message);
void SetMapVersion(Message& message, MapVersion version);

}  // namespace attune::ps
