#include "ps/core/protocol/messages.h"

#include <array>

namespace attune::ps {
namespace {

constexpr std::array<const char*, std::variant_size_v<MessageVariant>> kNames = {"Push",
                                                                                 "PushAck",
                                                                                 "PushRefused",
                                                                                 "Pull",
                                                                                 "PullReply",
                                                                                 "PullRefused",
                                                                                 "Moved",
                                                                                 "LinkAck",
                                                                                 "Localize",
                                                                                 "MoveOrder",
                                                                                 "Handover",
                                                                                 "HandoverAck",
                                                                                 "Replicate",
                                                                                 "ReplicateRefused",
                                                                                 "InstallWanted",
                                                                                 "Install",
                                                                                 "InstallAck",
                                                                                 "JoinMarker",
                                                                                 "HomeHandoff",
                                                                                 "CollectOwners",
                                                                                 "OwnersReport",
                                                                                 "FetchRows",
                                                                                 "FetchedRows",
                                                                                 "SnapshotRows",
                                                                                 "SnapshotRowsAck",
                                                                                 "Round",
                                                                                 "RoundReply",
                                                                                 "CoordinatorAt",
                                                                                 "Join",
                                                                                 "Welcome",
                                                                                 "JoinRefused",
                                                                                 "MapUpdate",
                                                                                 "MapRequest",
                                                                                 "Heartbeat",
                                                                                 "RowsReport",
                                                                                 "LoadReport",
                                                                                 "HeartbeatAck",
                                                                                 "SyncUpdate",
                                                                                 "OpenTable",
                                                                                 "TableOpened",
                                                                                 "InstallTable",
                                                                                 "TableInstalled",
                                                                                 "NewestCheckpoint",
                                                                                 "StillWorking",
                                                                                 "OpenDataSet",
                                                                                 "DataSetOpened",
                                                                                 "LeaseRequest",
                                                                                 "LeaseGrant",
                                                                                 "LeasesEnded",
                                                                                 "LeaseDone",
                                                                                 "LeaseReturn",
                                                                                 "ReportMetric",
                                                                                 "SaveTables",
                                                                                 "Mark",
                                                                                 "MarkDone",
                                                                                 "WriteSnapshot",
                                                                                 "SnapshotDone",
                                                                                 "CutEnded",
                                                                                 "Leave",
                                                                                 "MirrorUpdate",
                                                                                 "MirrorAck",
                                                                                 "Promise",
                                                                                 "Promised",
                                                                                 "Done",
                                                                                 "Refused",
                                                                                 "GoalReached",
                                                                                 "Finished",
                                                                                 "SessionLost"};

}  // namespace

Message::Message() = default;
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;
bool operator==(const Message& a, const Message& b) {
  return static_cast<const MessageVariant&>(a) == static_cast<const MessageVariant&>(b);
}

const char* NameOf(const Message& message) { return kNames[message.index()]; }

bool IsRowMessage(const Message& message) {
  constexpr size_t kLast = 27;
  static_assert(std::is_same_v<std::variant_alternative_t<kLast, MessageVariant>, CoordinatorAt>);
  return message.index() <= kLast;
}

bool IsAnswer(const Message& message) {
  return std::holds_alternative<PushAck>(message) || std::holds_alternative<PushRefused>(message) ||
         std::holds_alternative<PullReply>(message) || std::holds_alternative<PullRefused>(message) ||
         std::holds_alternative<Moved>(message);
}

MapVersion MapVersionOf(const Message& message) {
  if (!IsRowMessage(message)) return {};
  return std::visit(
      [](const auto& body) -> MapVersion {
        if constexpr (requires { body.map_version; }) return body.map_version;
        return {};
      },
      message);
}

void SetMapVersion(Message& message, MapVersion version) {
  if (!IsRowMessage(message)) return;
  std::visit(
      [&](auto& body) {
        if constexpr (requires { body.map_version; }) body.map_version = version;
      },
      message);
}

}  // namespace attune::ps
