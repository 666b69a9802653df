#include "ps/core/worker/rows/worker_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

std::vector<Key> KeysAt(std::span<const uint32_t> places, std::span<const Key> keys) {
  std::vector<Key> at;
  at.reserve(places.size());
  for (const uint32_t place : places) at.push_back(keys[place]);
  return at;
}

Slice<float> GradientsAt(std::span<const uint32_t> places, std::span<const float> gradients, size_t dim) {
  return Slice<float>::Filled(places.size() * dim, [&](std::span<float> at) {
    for (size_t i = 0; i < places.size(); ++i) std::copy_n(&gradients[places[i] * dim], dim, &at[i * dim]);
  });
}

}  // namespace

WorkerRows::WorkerRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease)
    : options_(options),
      cluster_(cluster),
      own_(options, cluster, lease),
      routes_(options, cluster, own_),
      pushes_(options, cluster, own_, routes_),
      pulls_(options, cluster, own_, routes_, pushes_.window()),
      announced_(options.intents_max),
      replicas_(options, cluster, own_, routes_, announced_, pushes_, pulls_),
      fetches_(options, own_, routes_, announced_, replicas_, pulls_, pushes_.window()) {}

// --- calls

void WorkerRows::On(const PullCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  if (Status status = pulls_.Check(call); !status.ok() || call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = std::move(status), .result = {}});
    return;
  }
  pulls_.Begin(call);
  if (fetches_.empty() && replicas_.empty()) return pulls_.AskAll(call, now, out);
  pulls_.AskSome(call, fetches_.Take(call, at, now, out), now, out);
}

void WorkerRows::On(const CancelPull& call, const StepPoint&, MonotonicTime, WorkerOutputs& out) {
  pulls_.Cancel(call.call, out);
}

void WorkerRows::On(const RowsRevoked& input, const StepPoint&, MonotonicTime now, WorkerOutputs& out) {
  TakeWaiting(input.request, now, out);
}

void WorkerRows::TakeWaiting(RequestId request, MonotonicTime now, WorkerOutputs& out) {
  for (auto& [from, reply] : pulls_.Revoked(request)) OnMessage(from, std::move(reply), now, out);
}

void WorkerRows::On(PushCall call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  if (Status status = pushes_.Check(call); !status.ok() || call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = std::move(status), .result = {}});
    return;
  }
  if (!replicas_.empty()) PushToCopies(call, at);
  if (call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = {}, .result = {}});
    return;
  }
  fetches_.PushedTo(call.table, call.keys.view(), at);
  pushes_.Push(std::move(call), at.step, now, out);
}

// What the table refuses, it refuses as a whole, where the rows are.
void WorkerRows::PushToCopies(PushCall& call, const StepPoint& at) {
  std::vector<uint32_t> here, elsewhere;  // places in the call
  for (uint32_t i = 0; i < call.keys.size(); ++i) {
    replicas_.PrefetchAhead(call.table, call.keys.view(), i);
    (replicas_.NotePush({call.table, call.keys[i]}) ? here : elsewhere).push_back(i);
  }
  if (here.empty() || replicas_.Refuses(call.table, call.gradients.view())) return;
  const auto dim = static_cast<uint32_t>(call.gradients.size() / call.keys.size());
  const std::span<const float> gradients = call.gradients.view();
  std::vector<Key> keys = KeysAt(here, call.keys.view());
  if (unique_.AreUnique(keys)) {
    replicas_.Push(call.table, keys, gradients, at.step, here);
  } else {
    const UniqueKeys::Gradients sums =
        unique_.Sum({.keys = std::move(keys), .values = GradientsAt(here, gradients, dim)}, dim);
    replicas_.Push(call.table, sums.keys.view(), sums.values.view(), at.step);
  }
  call.keys = KeysAt(elsewhere, call.keys.view());
  call.gradients = GradientsAt(elsewhere, gradients, dim);
}

void WorkerRows::On(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  fetches_.Intend(call, at, now, out);
}

bool WorkerRows::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                          MonotonicTime now, CopyReads copies) {
  if (fetches_.empty() && replicas_.empty()) return pulls_.PullHere(table, keys, rows);
  return fetches_.PullHere(table, keys, rows, at, now, copies);
}

std::optional<Status> WorkerRows::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                           uint64_t step) {
  const WorkerReplicas::Share share = replicas_.ShareWithCopies(table, keys);
  if (share == WorkerReplicas::Share::kSome) return std::nullopt;
  if (share == WorkerReplicas::Share::kAll) {
    const TableSpec& spec = *routes_.Find(table);
    if (gradients.size() != keys.size() * spec.options.dim) return std::nullopt;
    if (!unique_.AreUnique(keys) || replicas_.Refuses(table, gradients)) return std::nullopt;
    replicas_.Push(table, keys, gradients, step);
    return OkStatus();
  }
  std::optional<Status> pushed = pushes_.PushHere(table, keys, gradients, step);
  if (pushed) fetches_.ReadOtherwise(table, keys);
  return pushed;
}

bool WorkerRows::Localize(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out) {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "localize refused: " + text), .result = {}});
    return false;
  };
  const TableSpec* const table = routes_.Find(call.table);
  if (table == nullptr) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  if (!options_.create_store) {
    return refuse(StatusCode::kFailedPrecondition, "this worker holds no rows; leave them where they are");
  }
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) +
                                                    " are allowed; localize in pieces");
  }
  return own_.Localize(call, *table, unique_.Of(call.keys.view()), now, out);
}

// --- messages

bool WorkerRows::OnMessage(NodeId, PushAck&& message, MonotonicTime now, WorkerOutputs& out) {
  return pushes_.Acknowledged(message, now, out);
}

bool WorkerRows::OnMessage(NodeId from, PushRefused&& message, MonotonicTime now, WorkerOutputs& out) {
  return pushes_.Refused(from, message, now, out);
}

bool WorkerRows::OnMessage(NodeId from, PullReply&& message, MonotonicTime, WorkerOutputs& out) {
  const auto answered = pulls_.Take(from, message, out);
  if (answered && !PrefetchedRows::IsFetch(answered->call)) {
    fetches_.ReadOtherwise(answered->table, answered->keys.view());
    for (size_t i = 0; i < answered->keys.size() && !replicas_.empty(); ++i) {
      replicas_.UsedElsewhere({answered->table, answered->keys[i]});
    }
  }
  return false;
}

bool WorkerRows::OnMessage(NodeId from, PullRefused&& message, MonotonicTime, WorkerOutputs& out) {
  pulls_.Refused(from, message, out);
  return false;
}

// The server's map is another one. The newer map, wherever it is missing, sets things right: here it is asked for; the
// message goes out again after the usual time.
bool WorkerRows::OnMessage(NodeId, Moved&& message, MonotonicTime now, WorkerOutputs& out) {
  if (message.map_version > cluster_.map().version) cluster_.AskForNewerMap(now, out.send);
  return false;
}

bool WorkerRows::OnMessage(NodeId from, RoundReply&& message, MonotonicTime now, WorkerOutputs& out) {
  const WorkerReplicas::Changes changes = replicas_.On(from, std::move(message), now, out);
  for (const TableKey row : changes.added) fetches_.ReadOtherwise(row.table, {&row.key, 1});
  fetches_.LostCopies(changes.left);
  return false;
}

// --- members and connections

void WorkerRows::AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out) {
  for (const NodeId node : gone) routes_.hints().Forget(node);
  own_.AdoptMembers(gone, out);
}

void WorkerRows::Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  own_.Connected(peer, now, out);
  pushes_.Connected(peer, now, out);
  pulls_.Connected(peer, now, out);
}

void WorkerRows::Disconnected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  own_.Disconnected(peer);
  // Nothing is received over the connection any more.
  for (const RequestId request : pulls_.PlacedBy(peer)) TakeWaiting(request, now, out);
}

void WorkerRows::Reissue(MonotonicTime now, WorkerOutputs& out) {
  pushes_.Reissue(now, out);
  pulls_.Reissue(now, out);
  own_.Relocalize(now, out);
  fetches_.DropAll();  // rows may continue from copies or from a checkpoint
}

// --- time and ends

void WorkerRows::Postpone(Duration pause) {
  pushes_.Postpone(pause);
  pulls_.Postpone(pause);
  own_.Postpone(pause);
}

void WorkerRows::EndOverdue(MonotonicTime now, WorkerOutputs& out) {
  pushes_.EndOverdue(now, out);
  pulls_.EndOverdue(now, out);
}

void WorkerRows::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  pushes_.SendAgain(now, out);
  pulls_.SendAgain(now, out);
  replicas_.OnTimer(now, out);
}

void WorkerRows::EndAll(const Status& status, WorkerOutputs& out) {
  pushes_.EndAll(status, out);
  pulls_.EndAll(status, out);
}

void WorkerRows::DescribeIn(Heartbeat& heartbeat) {
  heartbeat.acked_below = pushes_.window().AckedBelow();
  heartbeat.unreached = own_.Unreached();
  heartbeat.announces = announced_.TakeAnnounces();
}

RowCounts WorkerRows::TakeCounts() {
  RowCounts counts{.staleness = routes_.hints().TakeStaleness(),
                   .accesses = pulls_.TakeAccesses(),
                   .copies = replicas_.TakeCounts()};
  counts.accesses += fetches_.TakeAccesses();
  return counts;
}

}  // namespace attune::ps
