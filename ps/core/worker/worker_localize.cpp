// Localize: rows of other nodes become this worker's own.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {

void WorkerCore::On(LocalizeCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "localize refused: " + text), .result = {}});
  };
  const auto spec = specs_.find(call.table);
  if (spec == specs_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  if (!options_.create_store) {
    return refuse(StatusCode::kFailedPrecondition, "this worker holds no rows; leave them where they are");
  }
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) +
                                                    " are allowed; localize in pieces");
  }
  if (localizes_.size() >= kLocalizesInFlightMax) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(localizes_.size()) + " localize calls of this worker are in flight; wait for some");
  }
  TableSpec unlimited = spec->second;
  unlimited.options.rows_max = 0;  // a limit per server
  if (Status status = rows_.InstallTable(call.table, unlimited); !status.ok()) {
    return refuse(status.code(), std::string(attune::Message(status)));
  }
  const LocalizeCalls::Id id = localizes_.Add(call, unique_.Of(call.keys.view()));
  WakeBy(call.deadline);
  if (takes_rows_) return BeginLocalize({.call = id, .table = call.table}, now, out);
  if (std::exchange(takes_rows_wanted_, true)) return;
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) SendJoin(now, out);
}

void WorkerCore::BeginLocalize(LocalizeCalls::Waiting call, MonotonicTime now, WorkerOutputs& out) {
  const uint64_t used = RowBytesUsed();
  const uint64_t room = used < options_.row_bytes_max ? (options_.row_bytes_max - used) / RowBytes(call.table) : 0;
  WakeBy(localizes_.Begin(
      call.call, {.here = StoreOf(call.table), .rows_max = room}, now,
      [&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); }, out.completions));
}

void WorkerCore::SendLocalize(TableId table, Slice<Key> keys, MonotonicTime now, WorkerOutputs& out) {
  ToRows(
      Localize{.map_version = cluster_.map().version, .table = table, .to = cluster_.self(), .keys = std::move(keys)},
      now, out);
}

}  // namespace attune::ps
