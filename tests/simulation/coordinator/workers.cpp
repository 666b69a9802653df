#include "tests/simulation/coordinator/simulation.h"

#include <algorithm>
#include <utility>

namespace attune::ps::simulation {

size_t CoordinatorSimulation::StartWorker(uint32_t index) {
  auto worker = std::make_unique<Worker>();
  worker->index = index;
  worker->slow = random().Chance(0.3);
  worker->stream.leader = leaders_.size() - 1;
  worker->core = std::make_unique<WorkerCore>(WorkerOptions{.job_uid = kJob,
                                                            .incarnation = 100'000 + workers_.size(),
                                                            .index = index,
                                                            .reissue_after = std::chrono::milliseconds(300),
                                                            .reissue_after_max = std::chrono::seconds(1),
                                                            .heartbeat_interval = std::chrono::milliseconds(200),
                                                            .mutations = mutations_});
  workers_.push_back(std::move(worker));
  const size_t place = workers_.size() - 1;
  steps_.Joins(place, workers_[place]->core.get());
  Ask(place, Worker::At::kJoin);
  After(network_.Delay(), [this, place] { Connect({false, place}); });
  return place;
}

void CoordinatorSimulation::StepWorker(size_t place, WorkerInput input) {
  Worker& worker = *workers_[place];
  if (!worker.alive) return;
  if (IsStopped({false, place})) {
    return network_.WhenAwake(PlaceOf({false, place}), [this, place, input = std::move(input)]() mutable {
      StepWorker(place, std::move(input));
    });
  }
  WorkerOutputs out;
  worker.core->Step(std::move(input), now(), out);
  for (Outgoing& message : out.send) {
    if (message.to == kCoordinator) {
      ToCoordinator({false, place}, std::move(message.message));
      continue;
    }
    const auto* push = std::get_if<Push>(&message.message);
    if (push == nullptr) continue;
    PushAck ack{
        .sequence = push->sequence, .map_version = push->map_version, .positions = push->positions, .owner = {}};
    const NodeId to = message.to;
    const size_t account = push_of_sequence_.at({place, push->sequence.value()});
    After(network_.Delay(), [this, place, to, account, ack = std::move(ack)]() mutable {
      if (const auto server = LiveServer(to)) OnPush(*server, place, account, std::move(ack));
    });
  }
  for (const Member& member : out.connect) {
    const NodeId peer = member.node;
    After(network_.Delay(), [this, place, peer] { ConnectPeer(place, peer); });
  }
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: worker " + std::to_string(place) + " rejects a message: " + rejected.why);
  }
  if (out.lost) {
    Trace("worker " + std::to_string(place) + " lost: " + attune::ToString(*out.lost));
    any_failure_ = true;
    worker.lost = true;
    worker.alive = false;
    steps_.IsGone(place);
    Break({false, place}, std::chrono::seconds(0));
    const uint32_t index = worker.index;
    After(std::chrono::seconds(1), [this, index] {
      if (!finished_) StartWorker(index);
    });
    return;
  }
  for (const Completion& completion : out.completions) Completed(place, completion);
  WakeAt(worker.wake, worker.core->WakeAt(), [this, place] { StepWorker(place, Timer{}); });
}

void CoordinatorSimulation::OnPush(size_t server, size_t worker, size_t account, PushAck ack) {
  network_.WhenAwake(PlaceOf({true, server}), [this, server, worker, account, ack = std::move(ack)] {
    Server& here = servers_[server];
    if (!here.alive || here.released || !here.lease.Valid(ClockOf(server))) return;
    here.applied.insert(account);
    After(network_.Delay(),
          [this, worker, from = here.node, ack] { StepWorker(worker, Received{.from = from, .message = ack}); });
  });
}

// A server that has not heard its own id yet does not answer; it is dialed until the map changes.
void CoordinatorSimulation::ConnectPeer(size_t place, NodeId peer) {
  if (!workers_[place]->alive || finished_) return;
  if (LiveServer(peer)) {
    StepWorker(place, PeerConnected{.peer = peer});
  } else if (workers_[place]->core->map().Contains(peer)) {
    After(std::chrono::milliseconds(20), [this, place, peer] { ConnectPeer(place, peer); });
  }
}

void CoordinatorSimulation::Ask(size_t place, Worker::At at) {
  Worker& worker = *workers_[place];
  worker.at = at;
  const MonotonicTime deadline = now() + (at == Worker::At::kLease ? std::chrono::seconds(5) : kCallTimeout);
  const CallId call(worker.next_call++);
  worker.calls[call] = deadline;
  switch (at) {
    case Worker::At::kJoin:
      return StepWorker(place, JoinCall{.call = call, .deadline = deadline});
    case Worker::At::kTable:
      return StepWorker(place, OpenTableCall{.call = call, .deadline = deadline, .spec = {"rows", {.dim = 1}}});
    case Worker::At::kData:
      return StepWorker(place, OpenDataSetCall{.call = call, .deadline = deadline, .name = "train", .options = {}});
    case Worker::At::kLease:
      return StepWorker(place, LeaseCall{.call = call, .deadline = deadline, .data_set = worker.data_set});
    case Worker::At::kStep:
      if (parameters_.reports) ReportHeldOut(place);
      return StepWorker(place, StepCall{.call = call, .deadline = deadline, .loss = 1, .samples = 1});
    case Worker::At::kLeave:
      worker.leaves_at = now();
      steps_.IsGone(place);  // in the step that it had begun last it has nothing to do
      return StepWorker(place, LeaveCall{.call = call, .deadline = deadline});
    case Worker::At::kWork:
    case Worker::At::kEnd:
      worker.calls.erase(call);
  }
}

// A figure of the model, which is better now and then.
void CoordinatorSimulation::ReportHeldOut(size_t place) {
  const auto value = static_cast<double>(random().Below(1'000'000));
  reported_.insert(value);
  StepWorker(place, ReportMetricCall{.name = kHeldOut, .value = value});
}

// Beside its work: who numbers tables has to know of all of them.
void CoordinatorSimulation::OpenAnotherTable(size_t place) {
  Worker& worker = *workers_[place];
  const CallId call(worker.next_call++);
  const MonotonicTime deadline = now() + kCallTimeout;
  worker.calls[call] = deadline;
  worker.more_tables.insert(call);
  const std::string name = "more rows " + std::to_string(random().Below(6));
  StepWorker(place, OpenTableCall{.call = call, .deadline = deadline, .spec = {name, {.dim = 1}}});
}

void CoordinatorSimulation::Completed(size_t place, const Completion& completion) {
  Worker& worker = *workers_[place];
  const auto call = worker.calls.find(completion.call);
  if (call == worker.calls.end()) return;  // a push
  if (now() > call->second) Violation("EveryCallEnds: a call ended after its deadline");
  worker.calls.erase(call);
  Digest(completion.call.value() * 7 + place);
  if (worker.more_tables.erase(completion.call) > 0 && (completion.status.ok() || worker.asked_to_leave)) return;
  const bool late = completion.status.code() == StatusCode::kDeadlineExceeded;
  const bool ended = completion.status.code() == StatusCode::kOutOfRange;
  if (!completion.status.ok() && !ended && !(late && worker.at == Worker::At::kLease)) {
    return Violation("EveryCallEnds: worker " + std::to_string(worker.index) + ": " +
                     attune::ToString(completion.status));
  }
  using enum Worker::At;
  switch (worker.at) {
    case kJoin:
      return Ask(place, kTable);
    case kTable:
      worker.table = std::get<TableResult>(completion.result).table;
      return Ask(place, kData);
    case kData:
      worker.data_set = std::get<DataSetResult>(completion.result).data_set;
      return Ask(place, kLease);
    case kLease:
      if (ended || (late && worker.asked_to_leave)) return Ask(place, kLeave);
      if (late) return Ask(place, kLease);
      worker.lease = std::get<LeaseResult>(completion.result);
      worker.position = worker.lease.begin;
      if (random().Chance(0.1)) OpenAnotherTable(place);
      steps_.GetsWork(place);
      worker.at = kWork;
      return Work(place);
    case kStep:
      steps_.BeginsStep(place);
      worker.at = kWork;
      return Work(place);
    case kLeave:
      worker.left_under = worker.stream.leader;
      worker.alive = false;
      steps_.IsGone(place);
      worker.at = kEnd;
      Break({false, place}, std::chrono::seconds(0));
      if (Running() == 0) {
        const uint32_t index = worker.index;
        After(std::chrono::seconds(1), [this, index] {
          if (!finished_ && Running() == 0) StartWorker(index);
        });
      }
      return;
    case kWork:
    case kEnd:
      return;
  }
}

void CoordinatorSimulation::Work(size_t place) {
  Worker& worker = *workers_[place];
  if (!worker.alive || worker.at != Worker::At::kWork) return;
  if (worker.position == worker.lease.end || worker.asked_to_leave) {
    StepWorker(place, EndLease{.lease = worker.lease.lease, .position = worker.position});
    steps_.HasNoWork(place);
    return Ask(place, worker.asked_to_leave ? Worker::At::kLeave : Worker::At::kLease);
  }
  items_.Processed(worker.lease.epoch, worker.position);
  push_of_sequence_[{place, ++worker.pushes}] = pushes_.size();
  pushes_.push_back({place, worker.lease.epoch, worker.position, worker.core->steps().gate().clock()});
  ++worker.position;
  std::vector<Key> keys(1 + random().Below(4));
  for (Key& key : keys) key = random().Below(100);
  std::vector<float> gradients(keys.size(), 1.0F);
  StepWorker(place, PushCall{.call = CallId(1'000'000 + worker.next_call++),
                             .deadline = now() + kCallTimeout,
                             .table = worker.table,
                             .keys = std::move(keys),
                             .gradients = std::move(gradients)});
  StepWorker(place, AdvanceLease{.lease = worker.lease.lease, .position = worker.position});
  const double computing = random().Uniform() * 4 * (worker.slow ? parameters_.slow_worker_factor : 1);
  After(FromMilliseconds(computing), [this, place] {
    if (workers_[place]->alive && workers_[place]->at == Worker::At::kWork) Ask(place, Worker::At::kStep);
  });
}

void CoordinatorSimulation::KillWorker(size_t place) {
  Worker& worker = *workers_[place];
  if (!worker.alive) return;
  Trace("worker " + std::to_string(place) + " dies");
  any_failure_ = true;
  worker.alive = false;
  worker.lost = true;
  steps_.IsGone(place);
  Break({false, place}, std::chrono::seconds(0));
  const uint32_t index = worker.index;
  After(FromMilliseconds(random().Uniform() * 3000), [this, index] {
    if (!finished_) StartWorker(index);
  });
}

size_t CoordinatorSimulation::Running() const {
  return static_cast<size_t>(std::ranges::count_if(workers_, [](const auto& worker) { return worker->alive; }));
}

}  // namespace attune::ps::simulation
