#include "ps/core/messages.h"

#include <array>

namespace attune::ps {
namespace {

bool SameDataSet(const DataSetOptions& a, const DataSetOptions& b) {
  return a.items == b.items && a.epochs == b.epochs && a.lease_items == b.lease_items;
}

constexpr std::array<const char*, std::variant_size_v<Message>> kNames = {
    "Push",       "PushAck",     "PushRefused",  "Pull",           "PullReply",   "PullRefused",   "Moved",
    "Join",       "Welcome",     "JoinRefused",  "MapUpdate",      "MapRequest",  "Heartbeat",     "HeartbeatAck",
    "OpenTable",  "TableOpened", "InstallTable", "TableInstalled", "OpenDataSet", "DataSetOpened", "LeaseRequest",
    "LeaseGrant", "LeasesEnded", "LeaseDone",    "LeaseReturn",    "SaveTables",  "WriteTables",   "TablesWritten",
    "Leave",      "Done",        "Refused",      "GoalReached",    "Finished",    "SessionLost"};

}  // namespace

bool OpenDataSet::operator==(const OpenDataSet& other) const {
  return header == other.header && name == other.name && SameDataSet(options, other.options);
}
bool DataSetOpened::operator==(const DataSetOpened& other) const {
  return request == other.request && data_set == other.data_set && SameDataSet(options, other.options);
}

const char* NameOf(const Message& message) { return kNames[message.index()]; }

bool IsRowMessage(const Message& message) {
  static_assert(std::is_same_v<std::variant_alternative_t<6, Message>, Moved>);
  return message.index() <= 6;
}

}  // namespace attune::ps
