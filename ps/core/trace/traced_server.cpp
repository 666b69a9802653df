#include "ps/core/trace/traced_server.h"

#include <optional>
#include <variant>

#include "ps/core/rows/state/row_tables.h"

namespace attune::ps {

Status TracedServer::BeginTrace(const std::string& table, Key key, MonotonicTime now) {
  std::optional<TableId> found;
  RowTables::ForEach(core_.rows().tables(), [&](TableId id, const TableStore& store) {
    if (store.spec().name == table) found = id;
  });
  if (!found) return Error(StatusCode::kNotFound, "this server has no table '" + table + "'");
  trace_.Begin({*found, key}, now);
  return OkStatus();
}

void TracedServer::Step(ServerInput input, MonotonicTime now, ServerOutputs& out) {
  if (!trace_.active()) return core_.Step(std::move(input), now, out);
  const size_t sent_before = out.send.size();
  if (const auto* received = std::get_if<Received>(&input)) trace_.Received(received->from, received->message, now);
  core_.Step(std::move(input), now, out);
  for (size_t i = sent_before; i < out.send.size(); ++i) trace_.Sent(out.send[i].to, out.send[i].message, now);
}

}  // namespace attune::ps
