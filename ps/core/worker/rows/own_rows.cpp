#include "ps/core/worker/rows/own_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/store/formulas/optimizer.h"

namespace attune::ps {
namespace {

constexpr uint64_t kRowOverheadBytes = 32;  // index and side record

RowOptions OptionsOfRows(const WorkerOptions& options) {
  RowOptions rows;
  rows.snapshots_go_home = true;
  rows.create_store = options.create_store;
  rows.row_memory = options.row_memory;
  rows.rows_per_message_max = std::min(rows.rows_per_message_max, options.keys_per_message_max);
  rows.mutation = options.mutations.row;
  return rows;
}

}  // namespace

OwnRows::OwnRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease)
    : options_(options),
      cluster_(cluster),
      lease_(lease),
      rows_(OptionsOfRows(options)),
      links_(WithMutations(options.link, options.mutations.link)),
      localizes_({.keys_per_message_max = std::min(options.keys_per_message_max, kKeysPerMessageMax),
                  .resend_after = options.reissue_after,
                  .resend_after_max = options.reissue_after_max,
                  .row_bytes_max = options.row_bytes_max}) {}

// --- members

// Of two workers, one of which owns rows, the later one dials.
void OwnRows::AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out) {
  allowed_ = cluster_.map().Find(cluster_.self())->takes_rows;
  for (const NodeId node : gone) {
    if (dialed_.erase(node) > 0) out.disconnect.push_back(node);
    links_.Forget(node);
  }
  (void)links_.ForgetPast(cluster_.map());
  for (const Member& member : cluster_.map().members) {
    const bool is_server = member.role == Role::kServer;
    const bool exchanges_rows =
        (allowed_ || member.takes_rows) && member.node < cluster_.self() && !member.address.empty();
    if ((is_server || exchanges_rows) && dialed_.insert(member.node).second) out.connect.push_back(member);
  }
}

void OwnRows::AdoptMap(MonotonicTime now, WorkerOutputs& out) {
  if (!allowed_) return;
  RowOutputs rows;
  rows_.AdoptMap(cluster_.map(), now, rows);
  Forward(rows, now, out);
  for (const LocalizeCalls::Waiting& call : localizes_.NotBegun()) BeginLocalize(call, now, out);
}

std::vector<NodeId> OwnRows::Unreached() const {
  std::vector<NodeId> unreached;
  for (const NodeId member : dialed_) {
    if (!cluster_.IsConnected(member) && unreached.size() < kUnreachedMax) unreached.push_back(member);
  }
  return unreached;
}

// --- operations and rows

void OwnRows::Receive(Received input, MonotonicTime now, WorkerOutputs& out) {
  const NodeId from = input.from;
  std::vector<Message> delivered;
  if (!rows_.inbox().HasRoomFor(from, input.message)) {
    LeaveOut(input);
    cluster_.AskForNewerMap(now, out.send);
  }
  links_.Receive(std::move(input), now, delivered, out.send);
  RowOutputs rows;
  for (Message& message : delivered) {
    if (std::holds_alternative<RoundReply>(message)) {
      answers_.push_back({from, std::move(message)});
    } else {
      rows_.Receive(from, std::move(message), now, rows);
    }
  }
  Forward(rows, now, out);
}

void OwnRows::SendInOrder(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out) {
  if (links_.Send({.to = to, .message = std::move(message)}, now, out.send)) return;
  Lose(Error(StatusCode::kResourceExhausted,
             Describe(cluster_.map(), to) + " takes too little of what this worker sends it"));
}

void OwnRows::Operate(Message message, MonotonicTime now, WorkerOutputs& out) {
  RowOutputs rows;
  rows_.Receive(cluster_.self(), std::move(message), now, rows);
  Forward(rows, now, out);
}

void OwnRows::LearnSettled(SequenceNumber acked_below, MonotonicTime now, WorkerOutputs& out) {
  if (!allowed_) return;
  RowOutputs rows;
  rows_.LearnSettled(cluster_.self(), acked_below, rows);
  Forward(rows, now, out);
}

void OwnRows::Forward(RowOutputs& rows, MonotonicTime now, WorkerOutputs& out) {
  out.rejected.insert(out.rejected.end(), rows.rejected.begin(), rows.rejected.end());
  for (Outgoing& outgoing : rows.send) {
    const NodeId to = outgoing.to;
    if (to == cluster_.self()) {
      answers_.push_back({cluster_.self(), std::move(outgoing.message)});
    } else if (IsAnswer(outgoing.message) && !lease_.Valid(now)) {
      continue;  // others may have taken its place; a caller that waits asks again
    } else if (cluster_.map().Contains(to) && !links_.Send(std::move(outgoing), now, out.send)) {
      rows.lost = Error(StatusCode::kResourceExhausted,
                        Describe(cluster_.map(), to) + " takes too little of what this worker sends it");
    }
  }
  for (const ArrivedRows& arrived : rows.arrived) localizes_.Arrived(arrived.table, arrived.keys, out.completions);
  if (cut_.waits()) {
    CutPart::Outputs cut;
    cut_.GoOn(rows_, cut);
    if (!cut.to_coordinator.empty()) Forward(cut, now, out);
  }
  if (rows.need_map) cluster_.AskForNewerMap(now, out.send);
  if (rows.report) Report(out);
  if (rows.lost) Lose(std::move(*rows.lost));
}

std::optional<std::pair<NodeId, Message>> OwnRows::NextAnswer() {
  if (answers_.empty()) return std::nullopt;
  std::optional<std::pair<NodeId, Message>> answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

TableStore* OwnRows::StoreOf(TableId table) const {
  const size_t index = size_t{table.value()} - 1;
  if (index >= rows_.tables().size() || rows_.tables()[index] == nullptr) return nullptr;
  TableStore* const store = rows_.tables()[index].get();
  return store->row_count() > 0 ? store : nullptr;
}

void OwnRows::Report(WorkerOutputs& out) {
  if (!allowed_ || !cluster_.IsConnected(kCoordinator)) return;
  RowsReport report = rows_.Report();
  report.number = ++reports_;
  report.operations_waiting += links_.queued();
  out.send.push_back({.to = kCoordinator, .message = std::move(report)});
}

// --- Localize

bool OwnRows::Localize(const LocalizeCall& call, const TableSpec& table, std::vector<Key> unique_keys,
                       MonotonicTime now, WorkerOutputs& out) {
  Status status;
  if (localizes_.size() >= kLocalizesInFlightMax) {
    status = Error(StatusCode::kResourceExhausted,
                   std::to_string(localizes_.size()) + " localize calls of this worker are in flight; wait for some");
  } else {
    TableSpec unlimited = table;
    unlimited.options.rows_max = 0;  // a limit per server
    status = rows_.InstallTable(call.table, unlimited);
  }
  if (!status.ok()) {
    out.completions.push_back(
        {.call = call.call,
         .status = Error(status.code(), "localize refused: " + std::string(attune::Message(status))),
         .result = {}});
    return false;
  }
  const LocalizeCalls::Id id = localizes_.Add(call, std::move(unique_keys));
  wake_.By(call.deadline);
  if (!allowed_) return !std::exchange(wanted_, true);
  BeginLocalize({.call = id, .table = call.table}, now, out);
  return false;
}

void OwnRows::BeginLocalize(LocalizeCalls::Waiting call, MonotonicTime now, WorkerOutputs& out) {
  const uint64_t used = RowBytesUsed();
  const uint64_t room = used < options_.row_bytes_max ? (options_.row_bytes_max - used) / RowBytes(call.table) : 0;
  wake_.By(localizes_.Begin(
      call.call, {.here = StoreOf(call.table), .rows_max = room}, now,
      [&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); }, out.completions));
}

void OwnRows::SendLocalize(TableId table, Slice<Key> keys, MonotonicTime now, WorkerOutputs& out) {
  Operate(
      ps::Localize{
          .map_version = cluster_.map().version, .table = table, .to = cluster_.self(), .keys = std::move(keys)},
      now, out);
}

void OwnRows::Relocalize(MonotonicTime now, WorkerOutputs& out) {
  localizes_.SendAll([&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); });
}

// Of a table that is installed.
uint64_t OwnRows::RowBytes(TableId table) const {
  const TableOptions& options = rows_.tables()[table.value() - 1]->spec().options;
  return (options.dim + StateFloats(options.optimizer, options.dim)) * sizeof(float) + kRowOverheadBytes;
}

// Rows that are here or have been asked for.
uint64_t OwnRows::RowBytesUsed() const {
  uint64_t bytes = localizes_.BytesComing([&](TableId table) { return RowBytes(table); });
  for (size_t index = 0; index < rows_.tables().size(); ++index) {
    const TableId table(static_cast<TableId::number_type>(index + 1));
    if (const TableStore* const store = StoreOf(table)) bytes += store->row_count() * RowBytes(table);
  }
  return bytes;
}

// --- checkpoints

void OwnRows::Cut(Mark&& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(std::move(message), rows_, now, cut);
  Forward(cut, now, out);
}

void OwnRows::Cut(const WriteSnapshot& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void OwnRows::Cut(const CutEnded& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void OwnRows::Forward(CutPart::Outputs& cut, MonotonicTime now, WorkerOutputs& out) {
  for (Message& message : cut.to_coordinator) out.send.push_back({.to = kCoordinator, .message = std::move(message)});
  Forward(cut.rows, now, out);
}

}  // namespace attune::ps
