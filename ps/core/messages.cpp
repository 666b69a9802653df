#include "ps/core/messages.h"

#include <array>

namespace attune::ps {
namespace {

bool SameOptimizer(const Optimizer& a, const Optimizer& b) {
  if (a.index() != b.index()) return false;
  if (const auto* sgd = std::get_if<Sgd>(&a)) return sgd->rate == std::get<Sgd>(b).rate;
  const auto& x = std::get<Adagrad>(a);
  const auto& y = std::get<Adagrad>(b);
  return x.rate == y.rate && x.initial_accumulator == y.initial_accumulator && x.epsilon == y.epsilon;
}

bool SameInitializer(const Initializer& a, const Initializer& b) {
  if (a.index() != b.index()) return false;
  if (const auto* constant = std::get_if<ConstantInitializer>(&a)) {
    return constant->value == std::get<ConstantInitializer>(b).value;
  }
  if (const auto* uniform = std::get_if<UniformInitializer>(&a)) {
    const auto& other = std::get<UniformInitializer>(b);
    return uniform->low == other.low && uniform->high == other.high;
  }
  const auto& x = std::get<NormalInitializer>(a);
  const auto& y = std::get<NormalInitializer>(b);
  return x.mean == y.mean && x.standard_deviation == y.standard_deviation;
}

bool SameSpec(const TableSpec& a, const TableSpec& b) {
  return a.name == b.name && a.options.dim == b.options.dim && a.options.seed == b.options.seed &&
         a.options.rows_max == b.options.rows_max && SameOptimizer(a.options.optimizer, b.options.optimizer) &&
         SameInitializer(a.options.initializer, b.options.initializer);
}

bool SameDataSet(const DataSetOptions& a, const DataSetOptions& b) {
  return a.items == b.items && a.epochs == b.epochs && a.lease_items == b.lease_items;
}

constexpr std::array<const char*, std::variant_size_v<Message>> kNames = {
    "Push",         "PushAck",          "PushRefused",   "Pull",          "PullReply",    "PullRefused",
    "Moved",        "LinkAck",          "Localize",      "MoveOrder",     "Handover",     "HandoverAck",
    "Replicate",    "ReplicateRefused", "InstallWanted", "Install",       "InstallAck",   "JoinMarker",
    "HomeHandoff",  "CollectOwners",    "OwnersReport",  "FetchRows",     "FetchedRows",  "Join",
    "Welcome",      "JoinRefused",      "MapUpdate",     "MapRequest",    "Heartbeat",    "RowsReport",
    "HeartbeatAck", "SyncUpdate",       "OpenTable",     "TableOpened",   "InstallTable", "TableInstalled",
    "OpenDataSet",  "DataSetOpened",    "LeaseRequest",  "LeaseGrant",    "LeasesEnded",  "LeaseDone",
    "LeaseReturn",  "SaveTables",       "WriteTables",   "TablesWritten", "Mark",         "MarkDone",
    "SnapshotDone", "CutEnded",         "Leave",         "Done",          "Refused",      "GoalReached",
    "Finished",     "SessionLost"};

}  // namespace

bool OpenTable::operator==(const OpenTable& other) const {
  return header == other.header && SameSpec(spec, other.spec);
}
bool InstallTable::operator==(const InstallTable& other) const {
  return table == other.table && SameSpec(spec, other.spec);
}
bool OpenDataSet::operator==(const OpenDataSet& other) const {
  return header == other.header && name == other.name && SameDataSet(options, other.options);
}
bool DataSetOpened::operator==(const DataSetOpened& other) const {
  return request == other.request && data_set == other.data_set && SameDataSet(options, other.options);
}

const char* NameOf(const Message& message) { return kNames[message.index()]; }

bool IsRowMessage(const Message& message) {
  constexpr size_t kLast = 22;
  static_assert(std::is_same_v<std::variant_alternative_t<kLast, Message>, FetchedRows>);
  return message.index() <= kLast;
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
