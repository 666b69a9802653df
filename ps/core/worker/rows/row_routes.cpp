#include "ps/core/worker/rows/row_routes.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

const TableSpec* RowRoutes::Find(TableId table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : &found->second;
}

std::optional<TableId> RowRoutes::FindByName(const std::string& name) const {
  const auto found = std::ranges::find_if(tables_, [&](const auto& table) { return table.second.name == name; });
  return found == tables_.end() ? std::nullopt : std::optional(found->first);
}

size_t RowRoutes::KeysPerMessage(uint32_t dim) const {
  return std::max<size_t>(1, std::min({options_.keys_per_message_max, kKeysPerMessageMax, kFloatsPerMessageMax / dim}));
}

const RouteGroups& RowRoutes::Group(TableId table, std::span<const Key> keys) {
  groups_.Group(table, keys, cluster_, hints_.owners(), own_.StoreOf(table));
  return groups_;
}

void RowRoutes::Send(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out) {
  if (to == cluster_.self()) return own_.Operate(std::move(message), now, out);
  out.send.push_back({.to = to, .message = std::move(message)});
}

}  // namespace attune::ps
