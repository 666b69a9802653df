#include "ps/runtime/worker/worker_runtime.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/random_seed.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/row_memory.h"

namespace attune::ps {
namespace {

WorkerOptions CoreOptions(const SessionOptions& options) {
  WorkerOptions core;
  core.job_uid = options.job_uid;
  core.incarnation = NewIncarnation(PodNumber(options.pod_uid), RandomSeed());
  core.index = options.index;
  core.pushes_in_flight_max = std::clamp<uint32_t>(options.pushes_in_flight_max, 1, kPushWindowMax);
  core.row_bytes_max = options.row_bytes_max;
  core.create_store = [](const TableSpec& spec) { return TableStore::Create(spec); };
  return core;
}

}  // namespace

StatusOr<std::shared_ptr<WorkerRuntime>> WorkerRuntime::Start(const SessionOptions& options, const TimeSource& time) {
  std::shared_ptr<WorkerRuntime> runtime(new WorkerRuntime(options, time));
  RETURN_IF_ERROR(runtime->Open(options));
  return runtime;
}

WorkerRuntime::WorkerRuntime(const SessionOptions& options, const TimeSource& time)
    : time_(time), meter_(std::make_shared<WaitMeter>(time)), core_(CoreOptions(options)) {}

WorkerRuntime::~WorkerRuntime() { Stop(); }

Status WorkerRuntime::Open(const SessionOptions& options) {
  // Steps begin with this mutex, so the first one, which the connection brings at once, sees all of it in place.
  const MutexLock lock(mutex_);
  loop_ = EventLoop::Start("attune-worker", time_);
  timer_ = loop_->NewTimer();
  Transport::Events events;
  events.on_linked_message = [this](NodeId from, const LinkHeader& link, Message message) {
    Submit(Received{.from = from, .message = std::move(message), .link = link});
  };
  events.on_connected = [this](NodeId peer) { Submit(PeerConnected{peer}); };
  // Whatever the reason: only the coordinator's word ends a session.
  events.on_disconnected = [this](NodeId peer, const Status&) { Submit(PeerDisconnected{peer}); };
  events.place = [this](NodeId from, RequestId request, size_t values) -> std::span<float> {
    const MutexLock at_core(mutex_);
    return stopped_ ? std::span<float>() : core_->PlaceOf(from, request, values);
  };
  ASSIGN_OR_RETURN(transport_, TcpTransport::Create({.job_uid = options.job_uid,
                                                     .self = {},
                                                     .bind_address = options.bind_address,
                                                     .seed = RandomSeed(),
                                                     .token = options.token,
                                                     .tls_directory = options.tls_directory,
                                                     .encrypted = options.encrypted,
                                                     .shared_memory = options.shared_memory},
                                                    *loop_, std::move(events)));
  core_->SetAddress(transport_->address());
  coordinator_ = CoordinatorClient::Start(
      options.coordinator, *loop_,
      {.on_connected = [this] { Submit(PeerConnected{kCoordinator}); },
       .on_disconnected = [this](const Status&) { Submit(PeerDisconnected{kCoordinator}); },
       .on_message =
           [this](Message message, uint32_t term) {
             Submit(Received{.from = kCoordinator, .message = std::move(message), .term = term});
           }},
      {.job_uid = options.job_uid, .token = options.token, .tls_directory = options.tls_directory});
  return OkStatus();
}

void WorkerRuntime::Stop() {
  std::vector<Pending> open;
  {
    const MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    open = calls_.TakeAll();
  }
  room_.NotifyAll();
  for (const Pending& state : open) {
    (void)Complete(state, Error(StatusCode::kFailedPrecondition, "the session has ended"), {});
  }
  if (loop_ != nullptr) loop_->Wake();
  for (int busy = dispatching_; busy > 0; busy = dispatching_) dispatching_.wait(busy);
  coordinator_.reset();  // sends what is queued first
  transport_.reset();
  if (loop_ != nullptr) loop_->Stop();
  timer_.reset();
}

void WorkerRuntime::Submit(WorkerInput input, void (*set_id)(WorkerInput&, CallId), const Pending& state) {
  ReleasableMutexLock lock(mutex_);
  if (stopped_) {
    lock.Release();
    (void)state->Complete(Error(StatusCode::kFailedPrecondition, "the session has ended"), {});
    return;
  }
  state->call = calls_.Add(state);
  set_id(input, state->call);
  Turn turn;
  Step(std::move(input), turn);
  lock.Release();
  EndTurn(turn);
}

bool WorkerRuntime::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, CopyReads copies) {
  const MutexLock lock(mutex_);
  return !stopped_ && core_->rows().MayBeHere() && core_.PullHere(table, keys, rows, time_.Now(), copies);
}

std::optional<Status> WorkerRuntime::PushHere(TableId table, std::span<const Key> keys,
                                              std::span<const float> gradients) {
  const MutexLock lock(mutex_);
  return stopped_ ? std::nullopt : core_.PushHere(table, keys, gradients, time_.Now());
}

void WorkerRuntime::Submit(WorkerInput input) {
  Turn turn;
  {
    const MutexLock lock(mutex_);
    if (stopped_) return;
    Step(std::move(input), turn);
  }
  EndTurn(turn);
}

void WorkerRuntime::Step(WorkerInput input, Turn& turn) {
  core_.Step(std::move(input), time_.Now(), turn.out);
  turn.ended.reserve(turn.out.completions.size());
  for (const Completion& completion : turn.out.completions) turn.ended.push_back(calls_.Take(completion.call));
  if (const MonotonicTime wake = core_->WakeAt(); wake < armed_) {
    armed_ = wake;
    loop_->Post([this, wake] { timer_->SetAt(wake, [this] { OnTimer(); }); });
  }
  if (core_->node() != NodeId()) transport_->SetSelf(core_->node());
  room_.NotifyAll();
  ++dispatching_;  // Stop waits for callers that are past this point
}

void WorkerRuntime::EndTurn(Turn& turn) {
  Dispatch(turn.out);
  // What completes calls uses transport and loop too: a thread of the program that waits may drive it.
  for (size_t i = 0; i < turn.ended.size(); ++i) {
    if (turn.ended[i] != nullptr) Finish(turn.ended[i], std::move(turn.out.completions[i]));
  }
  if (!turn.ended.empty() && !loop_->InLoop()) loop_->Wake();
  if (--dispatching_ == 0) dispatching_.notify_all();
}

void WorkerRuntime::Dispatch(WorkerOutputs& out) {
  for (const RevokeRows& revoke : out.revoke) {
    transport_->Unplace(revoke.rows);
    Submit(RowsRevoked{revoke.request});
  }
  for (const Member& server : out.connect) transport_->Connect(server.node, server.address);
  for (const NodeId server : out.disconnect) transport_->Disconnect(server);
  for (Outgoing& outgoing : out.send) {
    if (outgoing.to == kCoordinator) {
      coordinator_->Send(outgoing.message);
    } else if (const Status status = transport_->Send(outgoing.to, outgoing.message, outgoing.link);
               !status.ok() && status.code() != StatusCode::kUnavailable) {
      log::Warn("a message to another node was not sent; it will be sent again", {{"reason", status}});
    }
  }
  if (out.coordinator) {
    log::Info("another coordinator", {{"term", out.coordinator->term}, {"address", out.coordinator->address}});
    coordinator_->Redirect(out.coordinator->address);
  }
  rejections_.Log(out.rejected);
  if (out.goal_reached) log::Info("the job's goal is reached", {{"reason", *out.goal_reached}});
  if (out.lost) {
    log::Error("the session is lost", {{"reason", *out.lost}});
    room_.NotifyAll();
  }
}

// A lease that no caller waits for any more goes back whole.
void WorkerRuntime::Finish(const Pending& state, Completion completion) {
  const auto* lease = std::get_if<LeaseResult>(&completion.result);
  const LeaseResult granted = lease == nullptr ? LeaseResult{} : *lease;
  const bool is_lease = lease != nullptr;
  if (Complete(state, std::move(completion.status), completion.result) && is_lease) {
    Submit(EndLease{granted.lease, granted.begin});
  }
}

bool WorkerRuntime::Complete(const Pending& state, Status status, CallResult result) {
  if (!status.ok() && !state->rows.empty() && transport_ != nullptr) transport_->Unplace(state->rows);
  if (status.ok() && state->meter != nullptr) state->meter->AddTime(state->is_pull, time_.Now() - state->begun);
  return state->Complete(std::move(status), result);
}

void WorkerRuntime::GiveUp(const Pending& pull) {
  if (pull->done()) return;
  Submit(CancelPull{pull->call});
  pull->Sleep();  // another thread may be completing it, and has to revoke its place first
}

void WorkerRuntime::OnTimer() {
  {
    const MutexLock lock(mutex_);
    armed_ = kNever;
  }
  Submit(Timer{});
}

std::shared_ptr<void> WorkerRuntime::PushMemory(size_t bytes) {
  NodeId server;
  {
    const MutexLock lock(mutex_);
    server = core_->cluster().only_server();
    if (stopped_ || server == NodeId()) return nullptr;
    ++dispatching_;
  }
  std::shared_ptr<void> memory = transport_->Reserve(server, bytes);
  if (--dispatching_ == 0) dispatching_.notify_all();
  return memory == nullptr ? NewRowMemory(bytes) : memory;
}

Status WorkerRuntime::WaitForRoom(size_t pushes_max, Duration timeout) {
  const auto has_room = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || !core_->status().ok() || core_->rows().pushes().window().size() < pushes_max;
  };
  ReleasableMutexLock lock(mutex_);
  if (has_room()) return core_->status();
  const MonotonicTime until = time_.Now() + timeout;
  lock.Release();
  // Acknowledgements are handled here meanwhile, unless another thread does. The core's heartbeat ends a sleep within
  // a second, so that the deadline is seen.
  const auto ended = [&] {
    const MutexLock at_core(mutex_);
    return has_room() || time_.Now() >= until;
  };
  loop_->WaitFor(ended, [&] {
    const MutexLock at_core(mutex_);
    room_.WaitFor(mutex_, until - time_.Now(), has_room);
  });
  lock.Acquire();
  if (!has_room()) {
    return Error(StatusCode::kDeadlineExceeded, "push: " + std::to_string(core_->rows().pushes().window().size()) +
                                                    " pushes are not acknowledged yet; this one was not sent");
  }
  return core_->status();
}

void WorkerRuntime::RequestDrain(const std::string& reason) {
  if (drain_.Request()) log::Info("asked to leave; no more data leases are taken", {{"reason", reason}});
}

Status WorkerRuntime::status() const {
  const MutexLock lock(mutex_);
  return core_->status();
}

uint64_t WorkerRuntime::clock() const {
  const MutexLock lock(mutex_);
  return core_->steps().ended();
}

uint64_t WorkerRuntime::steps_ahead() const {
  const MutexLock lock(mutex_);
  return core_->rows().announced().steps_ahead();
}

RowCounts WorkerRuntime::TakeCounts() {
  const MutexLock lock(mutex_);
  return core_->TakeCounts();
}

Status WorkerRuntime::BeginTrace(const std::string& table, Key key) {
  const MutexLock lock(mutex_);
  return core_.BeginTrace(table, key, time_.Now());
}

std::vector<std::string> WorkerRuntime::EndTrace() {
  const MutexLock lock(mutex_);
  return core_.EndTrace();
}

size_t WorkerRuntime::open_pushes() const {
  const MutexLock lock(mutex_);
  return core_->rows().pushes().window().size();
}

Duration WorkerRuntime::CoordinatorSilence(MonotonicTime now) const {
  const MutexLock lock(mutex_);
  return core_->heartbeats().Silence(now);
}

}  // namespace attune::ps
