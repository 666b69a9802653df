// Rows that a worker owns: its RowNode, the links to others that may hold rows, and where other owners are.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"
#include "ps/store/formulas/optimizer.h"

namespace attune::ps {
namespace {

constexpr uint64_t kRowOverheadBytes = 32;  // index and side record

}  // namespace

// --- messages

void WorkerCore::OnRowMessage(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.admitted()) return;
  if (!lease_.Valid(now)) return fenced_.Keep(std::move(input));  // others may have taken its place
  const NodeId from = input.from;
  std::vector<Message> delivered;
  if (!rows_.HasRoomFor(from, input.message)) {
    LeaveOut(input);
    AskForMap(now, out);
  }
  links_.Receive(std::move(input), now, delivered, out.send);
  RowOutputs rows;
  for (Message& message : delivered) rows_.Receive(from, std::move(message), now, rows);
  Forward(rows, now, out);
}

void WorkerCore::TakeUpWhatWaited(MonotonicTime now, WorkerOutputs& out) {
  if (!lease_.Valid(now)) return;
  for (Received& input : fenced_.Take()) On(std::move(input), now, out);
}

void WorkerCore::ToRows(Message message, MonotonicTime now, WorkerOutputs& out) {
  RowOutputs rows;
  rows_.Receive(cluster_.self(), std::move(message), now, rows);
  Forward(rows, now, out);
}

void WorkerCore::Forward(RowOutputs& rows, MonotonicTime now, WorkerOutputs& out) {
  out.rejected.insert(out.rejected.end(), rows.rejected.begin(), rows.rejected.end());
  for (Outgoing& outgoing : rows.send) {
    const NodeId to = outgoing.to;
    if (to == cluster_.self()) {
      to_self_.push_back(std::move(outgoing.message));
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
  if (rows.need_map) AskForMap(now, out);
  if (rows.report) SendReport(out);
  if (rows.lost && rows_lost_.ok()) rows_lost_ = std::move(*rows.lost);
}

// Not at once: the caller that asked is still at it.
void WorkerCore::AnswerSelf(MonotonicTime now, WorkerOutputs& out) {
  if (!rows_lost_.ok()) LoseSession(std::exchange(rows_lost_, OkStatus()), out);
  while (!to_self_.empty() && lost_.ok()) {
    Message message = std::move(to_self_.front());
    to_self_.pop_front();
    std::visit([&](auto&& body) { OnMessage(cluster_.self(), std::move(body), now, out); }, std::move(message));
  }
}

// --- checkpoints

void WorkerCore::OnMessage(NodeId, Mark&& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(std::move(message), rows_, now, cut);
  Forward(cut, now, out);
}

void WorkerCore::OnMessage(NodeId, WriteSnapshot&& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void WorkerCore::OnMessage(NodeId, CutEnded&& message, MonotonicTime now, WorkerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void WorkerCore::Forward(CutPart::Outputs& cut, MonotonicTime now, WorkerOutputs& out) {
  for (Message& message : cut.to_coordinator) out.send.push_back({.to = kCoordinator, .message = std::move(message)});
  Forward(cut.rows, now, out);
}

void WorkerCore::SendReport(WorkerOutputs& out) {
  if (!takes_rows_ || !cluster_.IsConnected(kCoordinator)) return;
  RowsReport report = rows_.Report();
  report.number = ++report_;
  report.operations_waiting += links_.queued();
  out.send.push_back({.to = kCoordinator, .message = std::move(report)});
}

// --- members

// Of two workers, one of which owns rows, the later one dials.
void WorkerCore::ConnectMembers(std::span<const NodeId> gone, WorkerOutputs& out) {
  for (const NodeId node : gone) {
    if (dialed_.erase(node) > 0) out.disconnect.push_back(node);
    links_.Forget(node);
    locations_.ForgetNode(node);
  }
  (void)links_.ForgetPast(cluster_.map());
  for (const Member& member : cluster_.map().members) {
    const bool is_server = member.role == Role::kServer;
    const bool exchanges_rows =
        (takes_rows_ || member.takes_rows) && member.node < cluster_.self() && !member.address.empty();
    if ((is_server || exchanges_rows) && dialed_.insert(member.node).second) out.connect.push_back(member);
  }
}

// The map has changed.
void WorkerCore::AdoptRows(MonotonicTime now, WorkerOutputs& out) {
  if (!takes_rows_) return;
  RowOutputs rows;
  rows_.AdoptMap(cluster_.map(), now, rows);
  Forward(rows, now, out);
  for (const LocalizeCalls::Waiting& call : localizes_.NotBegun()) BeginLocalize(call, now, out);
}

// --- what is here

TableStore* WorkerCore::StoreOf(TableId table) const {
  const size_t index = size_t{table.value()} - 1;
  if (index >= rows_.tables().size() || rows_.tables()[index] == nullptr) return nullptr;
  TableStore* const store = rows_.tables()[index].get();
  return store->row_count() > 0 ? store : nullptr;
}

bool WorkerCore::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows) {
  const TableStore* const store = StoreOf(table);
  if (store == nullptr || !lost_.ok() || leaving_ || keys.size() > kKeysPerCallMax) return false;
  if (rows.size() != keys.size() * store->spec().options.dim) return false;
  if (!options_.mutations.pull_without_after && pushes_.AnyOpenOf(table, keys)) {
    return false;  // own pushes that are still on their way belong in the row first
  }
  return store->PullIfPresent(keys, rows);
}

// No other process knows of such a push and no process will send it again, so it needs neither number nor record.
std::optional<Status> WorkerCore::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients) {
  TableStore* const store = StoreOf(table);
  if (store == nullptr || rows_.HasGuards() || !lost_.ok() || leaving_) return std::nullopt;
  if (keys.size() > kKeysPerCallMax || gradients.size() != keys.size() * store->spec().options.dim) return std::nullopt;
  if (!unique_.AreUnique(keys)) return std::nullopt;  // to be summed first
  const auto pushed = store->PushIfPresent(keys, gradients, {.step = gate_.clock()});
  if (!pushed) return std::nullopt;
  return pushed->ok() ? OkStatus() : Annotate(pushed->status(), "push to this worker");
}

// Rows of a push that goes out for the first time: see PushHere. False: the usual way.
bool WorkerCore::ApplyHere(const PushWindow::Push& push, const PushPart& part) {
  TableStore* const store = StoreOf(push.table());
  if (store == nullptr || rows_.HasGuards()) return false;
  const auto pushed = store->PushIfPresent(part.keys.view(), part.gradients.view(), {.step = push.step()});
  if (!pushed) return false;
  const MapVersion version = cluster_.map().version;
  if (pushed->ok()) {
    to_self_.push_back(PushAck{
        .sequence = push.sequence(), .map_version = version, .positions = part.positions, .owner = cluster_.self()});
  } else {
    to_self_.push_back(PushRefused{
        .sequence = push.sequence(), .map_version = version, .positions = part.positions, .status = pushed->status()});
  }
  return true;
}

uint64_t WorkerCore::RowBytes(TableId table) const {
  const TableOptions& options = specs_.at(table).options;
  return (options.dim + StateFloats(options.optimizer, options.dim)) * sizeof(float) + kRowOverheadBytes;
}

// Rows that are here or have been asked for.
uint64_t WorkerCore::RowBytesUsed() const {
  uint64_t bytes = 0;
  for (const auto& [table, spec] : specs_) {
    if (const TableStore* const store = StoreOf(table)) bytes += store->row_count() * RowBytes(table);
  }
  return bytes + localizes_.BytesComing([&](TableId table) { return RowBytes(table); });
}

// Another node has answered for these keys. Homes need not be remembered.
void WorkerCore::Learn(TableId table, std::span<const Key> keys, NodeId owner) {
  const Member* const member = cluster_.map().Find(owner);
  if (member == nullptr || owner == cluster_.self()) return;
  if (member->role == Role::kServer && locations_.empty()) return;  // nearly always the home
  for (const Key key : keys) {
    if (cluster_.map().HomeOf(key) == owner) {
      locations_.Erase(table, key);
    } else {
      locations_.Put(table, key, owner);
    }
  }
}

}  // namespace attune::ps
