#include "ps/core/worker/operations/pull_calls.h"

#include <functional>
#include <string>

#include "base/pause_watch.h"

namespace attune::ps {
namespace {

constexpr size_t kAnswersWaitingMax = 16;  // per message; what is beyond that is asked for again

// Every position a key of the message, and none twice.
bool AreOf(size_t keys, const Positions& positions) {
  if (positions.list.empty()) return size_t{positions.first} + positions.count <= keys;
  return positions.list.back() < keys &&
         std::ranges::adjacent_find(positions.list, std::greater_equal<>()) == positions.list.end();
}

}  // namespace

// --- calls

void PullCalls::Begin(const PullCall& call, bool in_place) {
  calls_[call.call] = {.deadline = call.deadline, .rows = call.rows, .messages = {}, .in_place = in_place};
}

void PullCalls::Fill(CallId call, uint32_t place, std::span<const float> row, std::vector<Completion>& completions) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return;
  std::ranges::copy(row, &it->second.rows[place * row.size()]);
  Release(call, completions);
}

void PullCalls::Release(CallId call, std::vector<Completion>& completions) {
  const auto it = calls_.find(call);
  if (it != calls_.end() && --it->second.open == 0) End(call, OkStatus(), completions);
}

bool PullCalls::TakeFrom(const TableStore& store, const Part& part) {
  const size_t count = part.places.size(), dim = part.dim;
  here_.resize(count * dim);
  if (!store.PullIfPresent(part.keys.view(), here_)) return false;
  const std::span<float> rows = calls_.at(part.call).rows;
  for (size_t i = 0; i < count; ++i) std::copy_n(&here_[i * dim], dim, &rows[size_t{part.places[i]} * dim]);
  return true;
}

std::pair<RequestId, PullCalls::Open*> PullCalls::Enter(Part part, MonotonicTime now) {
  const RequestId request = std::exchange(next_, next_.Next());
  Call& call = calls_.at(part.call);
  call.messages.push_back(request);
  ++call.open;
  Open& open = open_[request];
  open.call = part.call;
  open.to = part.to;
  open.table = part.table;
  open.dim = part.dim;
  open.keys = std::move(part.keys);
  open.places.assign(part.places.begin(), part.places.end());
  open.after = std::move(part.after);
  open.backoff = options_.resend_after;
  open.send_again = now + open.backoff;
  return {request, &open};
}

void PullCalls::Added(CallId call, std::vector<Completion>& completions) {
  const auto it = calls_.find(call);
  if (it != calls_.end() && it->second.open == 0) End(call, OkStatus(), completions);
}

void PullCalls::End(CallId call, const Status& status, std::vector<Completion>& completions) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return;
  for (const RequestId request : it->second.messages) open_.erase(request);
  calls_.erase(it);
  completions.push_back({.call = call, .status = status, .result = {}});
}

void PullCalls::Postpone(Duration pause) {
  for (auto& [id, call] : calls_) call.deadline = MovedBy(pause, call.deadline);
}

MonotonicTime PullCalls::EndOverdue(MonotonicTime now, const ShardMap& map, std::vector<Completion>& completions) {
  MonotonicTime next = kNever;
  std::vector<CallId> overdue;
  for (const auto& [id, call] : calls_) {
    if (now < call.deadline) {
      next = std::min(next, call.deadline);
    } else if (!options_.ignore_deadline) {
      overdue.push_back(id);
    }
  }
  for (const CallId id : overdue) End(id, Timeout(calls_.at(id), map), completions);
  return next;
}

Status PullCalls::Timeout(const Call& call, const ShardMap& map) const {
  std::string text = "pull: no answer from";
  const char* separator = " ";
  std::vector<NodeId> silent;
  for (const RequestId request : call.messages) {
    const auto it = open_.find(request);
    if (it != open_.end() && std::ranges::find(silent, it->second.to) == silent.end()) {
      silent.push_back(it->second.to);
      text += separator + Describe(map, it->second.to);
      separator = ", ";
    }
  }
  return Error(StatusCode::kDeadlineExceeded, text + " within the call's time; try again");
}

void PullCalls::EndAll(const Status& status, std::vector<Completion>& completions) {
  for (const auto& [id, call] : calls_) completions.push_back({.call = id, .status = status, .result = {}});
  calls_.clear();
  open_.clear();
}

// --- messages

Pull PullCalls::MessageOf(RequestId request, Open& open, const Sender& sender) const {
  std::erase_if(open.after, [&](const After& after) { return after.sequence <= sender.acked_below; });
  return {.origin = sender.cluster.self(),
          .request = request,
          .table = open.table,
          .map_version = sender.cluster.map().version,
          .acked_below = sender.acked_below,
          .remaining = calls_.at(open.call).deadline - sender.now,
          .keys = open.keys,
          .after = open.after,
          .positions = {.first = 0, .count = static_cast<uint32_t>(open.keys.size()), .list = {}}};
}

// Keys whose rows lie on several nodes are answered by each of them.
std::optional<PullCalls::Answered> PullCalls::Take(NodeId from, PullReply& reply, const ShardMap& map,
                                                   WorkerOutputs& out) {
  const auto it = open_.find(reply.request);
  if (it == open_.end()) return std::nullopt;  // a second answer, or the call has ended
  Open& open = it->second;
  const size_t count = reply.positions.size();
  if (reply.rows.size() != count * open.dim || !AreOf(open.keys.size(), reply.positions)) {
    Refused(reply.request,
            Error(StatusCode::kInternal, "pull: " + Describe(map, from) + " answered with " +
                                             std::to_string(reply.rows.size()) + " values for " +
                                             std::to_string(count) + " of " + std::to_string(open.keys.size()) +
                                             " keys; worker and server do not fit together"),
            out.completions);
    return std::nullopt;
  }
  const bool in_place = IsInPlace(open, from, reply);
  if (open.placed_by && !in_place && !options_.place_every_answer) {
    if (open.waiting.empty()) out.revoke.push_back({.request = reply.request, .rows = RowsOf(open)});
    if (open.waiting.size() < kAnswersWaitingMax) open.waiting.emplace_back(from, std::move(reply));
    return std::nullopt;
  }
  open.placed_by.reset();
  Call& call = calls_.at(open.call);
  for (size_t i = 0; i < count && !in_place; ++i) {
    const size_t place = open.places[reply.positions.At(i)];
    std::copy_n(reply.rows.data() + i * open.dim, open.dim, &call.rows[place * open.dim]);
  }
  Answered answered{.call = open.call, .table = open.table, .keys = open.keys};
  if (count < open.keys.size()) {
    open.answered.resize(open.keys.size());
    for (size_t i = 0; i < count; ++i) open.answered[reply.positions.At(i)] = true;
    if (std::ranges::find(open.answered, false) != open.answered.end()) return answered;
  }
  const CallId id = open.call;
  open_.erase(it);
  if (--call.open == 0) End(id, OkStatus(), out.completions);
  return answered;
}

void PullCalls::Refused(RequestId request, const Status& status, std::vector<Completion>& completions) {
  const auto it = open_.find(request);
  if (it != open_.end()) End(it->second.call, status, completions);
}

// --- where answers are received

std::span<float> PullCalls::RowsOf(const Open& open) const {
  // Places ascend.
  const bool in_one_piece = open.places.back() - open.places.front() + 1 == open.places.size();
  if (!in_one_piece) return {};
  return calls_.at(open.call).rows.subspan(size_t{open.places.front()} * open.dim, open.places.size() * open.dim);
}

std::span<float> PullCalls::PlaceOf(NodeId from, RequestId request, size_t values) {
  const auto it = open_.find(request);
  if (it == open_.end()) return {};
  Open& open = it->second;
  const std::span<float> rows = RowsOf(open);
  if (rows.empty() || values != rows.size()) return {};
  if (!calls_.at(open.call).in_place) return {};
  const bool untouched = !open.placed_by && open.waiting.empty() && open.answered.empty();
  if (!untouched && !options_.place_every_answer) return {};
  open.placed_by = from;
  return rows;
}

// Received where PlaceOf said, and complete.
bool PullCalls::IsInPlace(const Open& open, NodeId from, const PullReply& reply) const {
  return !reply.rows.empty() && open.placed_by == from && reply.rows.data() == RowsOf(open).data();
}

void PullCalls::TakeOutOfPlace(NodeId from, PullReply& reply) {
  const auto it = open_.find(reply.request);
  if (it == open_.end() || !IsInPlace(it->second, from, reply)) return;
  reply.rows = Slice<float>::Filled(reply.rows.size(),
                                    [&](std::span<float> copy) { std::ranges::copy(reply.rows, copy.begin()); });
  it->second.placed_by.reset();
}

std::vector<PullCalls::Answer> PullCalls::Revoked(RequestId request) {
  const auto it = open_.find(request);
  if (it == open_.end()) return {};
  it->second.placed_by.reset();
  return std::exchange(it->second.waiting, {});
}

std::vector<RequestId> PullCalls::PlacedBy(NodeId peer) const {
  std::vector<RequestId> requests;
  for (const auto& [request, open] : open_) {
    if (open.placed_by == peer) requests.push_back(request);
  }
  return requests;
}

}  // namespace attune::ps
