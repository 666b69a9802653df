// Everything nodes say to each other, as plain values. Encodings belong to transports.
//
// Two families:
//   row messages      any node <-> any node (ps/core/row_messages.h)
//   control messages  any node <-> coordinator (ps/core/control_messages.h)
// The names and identities are those of the protocol description in docs/protocol.md.
//
// What a transport must give: a frame (LinkHeader and message) arrives whole or not at all. Order, loss (of whole
// frames, at a broken connection) and duplication are the business of the link layer (ps/core/link.h). Identity of a
// peer, job id and protocol version are checked in the transport's handshake.
#pragma once

#include <variant>

#include "ps/core/control_messages.h"
#include "ps/core/ids.h"
#include "ps/core/link_header.h"
#include "ps/core/row_messages.h"

namespace attune::ps {

using Message =
    std::variant<Push, PushAck, PushRefused, Pull, PullReply, PullRefused, Moved,                   // rows
                 LinkAck, Localize, MoveOrder, Handover, HandoverAck, Replicate, ReplicateRefused,  // rows on their way
                 InstallWanted, Install, InstallAck, JoinMarker, HomeHandoff, CollectOwners, OwnersReport, FetchRows,
                 FetchedRows, SnapshotRows, SnapshotRowsAck, CoordinatorAt, Join, Welcome, JoinRefused, MapUpdate,
                 MapRequest, Heartbeat, RowsReport, HeartbeatAck, SyncUpdate,                           // membership
                 OpenTable, TableOpened, InstallTable, TableInstalled, NewestCheckpoint, StillWorking,  // tables
                 OpenDataSet, DataSetOpened, LeaseRequest, LeaseGrant, LeasesEnded, LeaseDone, LeaseReturn,  // data
                 SaveTables, Mark, MarkDone, WriteSnapshot, SnapshotDone, CutEnded, Leave, MirrorUpdate, MirrorAck,
                 Promise, Promised, Done, Refused, GoalReached, Finished, SessionLost>;

// "Push", for logs and errors.
const char* NameOf(const Message& message);
bool IsRowMessage(const Message& message);
// Row messages only: the field `map_version`; 0 for a LinkAck.
MapVersion MapVersionOf(const Message& message);
void SetMapVersion(Message& message, MapVersion version);

}  // namespace attune::ps
