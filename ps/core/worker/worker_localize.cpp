// Localize: rows are asked for at their homes and counted as they come.
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
  const SequenceNumber id = std::exchange(next_localize_, next_localize_.Next());
  OpenLocalize& open = localizes_[id];
  open = {.call = call.call, .deadline = call.deadline, .table = call.table, .keys = unique_.Of(call.keys.view())};
  WakeBy(call.deadline);
  if (takes_rows_) return BeginLocalize(id, open, now, out);
  if (std::exchange(takes_rows_wanted_, true)) return;
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) SendJoin(now, out);
}

void WorkerCore::BeginLocalize(SequenceNumber id, OpenLocalize& open, MonotonicTime now, WorkerOutputs& out) {
  open.begun = true;
  const size_t count = open.keys.size();
  present_.assign((count + 63) / 64, 0);
  if (const TableStore* const store = StoreOf(open.table)) store->Contains(open.keys.view(), present_);
  const uint64_t row_bytes = RowBytes(open.table);
  const uint64_t used = RowBytesUsed();
  const uint64_t room = used < options_.row_bytes_max ? (options_.row_bytes_max - used) / row_bytes : 0;
  std::vector<Key> wanted;
  for (uint32_t i = 0; i < count; ++i) {
    if (((present_[i / 64] >> (i % 64)) & 1) != 0) {
      ++open.result.already_here;
    } else if (wanted.size() < room) {
      wanted.push_back(open.keys[i]);
    } else {
      ++open.result.refused;
    }
  }
  open.open = static_cast<uint32_t>(wanted.size());
  for (uint32_t i = 0; i < open.open; ++i) coming_.Add(open.table, wanted[i], id, i);
  open.keys = std::move(wanted);
  open.arrived.assign((open.open + 63) / 64, 0);
  if (open.open == 0) return EndLocalize(id, OkStatus(), out);
  open.backoff = options_.reissue_after;
  open.send_again = now + open.backoff;
  WakeBy(open.send_again);
  SendLocalize(open, now, out);
}

// What has not come yet, to the homes of today. Asking twice changes nothing.
void WorkerCore::SendLocalize(const OpenLocalize& open, MonotonicTime now, WorkerOutputs& out) {
  Slice<Key> keys = open.keys;
  if (open.open < open.keys.size()) {
    std::vector<Key> rest;
    for (uint32_t i = 0; i < open.keys.size(); ++i) {
      if (((open.arrived[i / 64] >> (i % 64)) & 1) == 0) rest.push_back(open.keys[i]);
    }
    keys = std::move(rest);
  }
  const size_t chunk = std::min(options_.keys_per_message_max, kKeysPerMessageMax);
  const TableId table = open.table;
  for (size_t at = 0; at < keys.size(); at += chunk) {
    ToRows(Localize{.map_version = cluster_.map().version,
                    .table = table,
                    .to = cluster_.self(),
                    .keys = keys.Part(at, std::min(chunk, keys.size() - at))},
           now, out);
  }
}

void WorkerCore::OnArrived(const ArrivedRows& rows, WorkerOutputs& out) {
  if (localizes_.empty()) return;
  for (const Key key : rows.keys) {
    waiting_.clear();
    coming_.Find(rows.table, key, 0, waiting_);
    for (const After& call : waiting_) {
      const auto it = localizes_.find(call.sequence);
      OpenLocalize& open = it->second;
      open.arrived[call.position / 64] |= uint64_t{1} << (call.position % 64);
      coming_.Remove(rows.table, key, call.sequence);
      ++open.result.moved;
      if (--open.open == 0) EndLocalize(call.sequence, OkStatus(), out);
    }
  }
}

void WorkerCore::EndLocalize(SequenceNumber id, Status status, WorkerOutputs& out) {
  const auto it = localizes_.find(id);
  OpenLocalize& open = it->second;
  for (uint32_t i = 0; open.begun && i < open.keys.size() && open.open > 0; ++i) {
    if (((open.arrived[i / 64] >> (i % 64)) & 1) == 0) coming_.Remove(open.table, open.keys[i], id);
  }
  if (status.ok() && open.result.refused > 0) {
    status = Error(StatusCode::kResourceExhausted,
                   "localize: " + std::to_string(open.result.moved) + " rows have come, " +
                       std::to_string(open.result.refused) + " stay where they are: the rows of this worker may take " +
                       std::to_string(options_.row_bytes_max) + " bytes; raise SessionOptions::row_bytes_max");
  }
  out.completions.push_back({.call = open.call, .status = std::move(status), .result = open.result});
  localizes_.erase(it);
}

void WorkerCore::EndOverdueLocalizes(MonotonicTime now, WorkerOutputs& out) {
  std::vector<SequenceNumber> late;
  for (auto& [id, open] : localizes_) {
    if (now >= open.deadline) {
      late.push_back(id);
      continue;
    }
    WakeBy(open.deadline);
    if (open.begun && now >= open.send_again) {
      SendLocalize(open, now, out);
      open.backoff = NextBackoff(open.backoff);
      open.send_again = now + open.backoff;
    }
    if (open.begun) WakeBy(open.send_again);
  }
  for (const SequenceNumber id : late) {
    const OpenLocalize& open = localizes_.at(id);
    std::string text = "localize: " + std::to_string(open.result.moved) + " of " +
                       std::to_string(open.result.moved + open.open) +
                       " rows have come within the call's time; the others may still come, or stay where they are";
    if (!open.begun)
      text = "localize: " + (cluster_.IsConnected(kCoordinator) ? "the coordinator has not answered" : WhatIsMissing());
    EndLocalize(id, Error(StatusCode::kDeadlineExceeded, text), out);
  }
}

}  // namespace attune::ps
