#include "ps/runtime/worker/data_leases.h"

#include <algorithm>

#include "base/log.h"

namespace attune::ps {

uint64_t DoneAtEndOfBody(const EndedBody& body) {
  if (!body.draining) return body.end;
  if (body.advanced == body.begin && !body.drain_noticed) return body.end;
  return body.advanced;
}

void DataLease::Advance(uint64_t position) const {
  position = std::clamp(position, begin_, end_);
  uint64_t before = state_->position.load(std::memory_order_relaxed);
  do {
    if (position <= before) return;
  } while (!state_->position.compare_exchange_weak(before, position, std::memory_order_relaxed));
  state_->runtime->Submit(AdvanceLease{state_->lease, position});
}

const DataLease& DataLeaseRange::Iterator::operator*() const { return *state_->current; }

DataLeaseRange::Iterator& DataLeaseRange::Iterator::operator++() {
  state_->Next();
  return *this;
}

bool DataLeaseRange::Iterator::operator!=(const Iterator& other) const {
  const bool ended = state_ == nullptr || state_->at_end();
  const bool other_ended = other.state_ == nullptr || other.state_->at_end();
  return ended != other_ended;
}

DataLeaseRange::Iterator DataLeaseRange::begin() {
  state_->Begin();
  return Iterator(state_.get());
}

std::optional<LeaseAhead> DataLeaseRange::Ahead() const {
  const std::shared_ptr<Future::State>& ahead = state_->ahead;
  if (ahead == nullptr || !ahead->done() || !ahead->status.ok()) return std::nullopt;
  const auto& lease = std::get<LeaseResult>(ahead->result);
  return LeaseAhead{.epoch = lease.epoch, .begin = lease.begin, .end = lease.end};
}

DataLeaseRange::State::~State() {
  if (current_state != nullptr) EndCurrent(current_state->position);
  ReturnAhead();
}

Status DataLeaseRange::State::Open() {
  const auto pending = runtime->Submit(OpenDataSetCall{.name = data_set, .options = options}, call_timeout);
  pending->Wait();
  RETURN_IF_ERROR(pending->status);
  id = std::get<DataSetResult>(pending->result).data_set;
  opened = true;
  return OkStatus();
}

void DataLeaseRange::State::Begin() {
  if (current.has_value()) return;
  if (due != nullptr) return TakeDue();
  if (!opened) {
    if (const Status status = Open(); !status.ok()) {
      log::Error("no data leases", {{"data_set", data_set}, {"reason", status}});
      runtime->Fail(Annotate(status, "data set '" + data_set + "'"));
      return;
    }
  }
  AskAhead();
  TakeAhead();
  runtime->meter()->StartSteps();
}

void DataLeaseRange::State::Next() {
  if (current_state != nullptr) {
    const DataLease::State& lease = *current_state;
    const EndedBody body{.begin = lease.begin,
                         .end = lease.end,
                         .advanced = lease.position,
                         .draining = runtime->drain().requested(),
                         .drain_noticed = runtime->drain().noticed()};
    const uint64_t done = DoneAtEndOfBody(body);
    if (done < body.end) {
      log::Info("the rest of a data lease goes back",
                {{"data_set", data_set}, {"done_up_to", done}, {"lease_end", body.end}});
    }
    EndCurrent(done);
  }
  if (due == nullptr) return TakeAhead();
  runtime->meter()->SkipToNow();
  TakeDue();
}

void DataLeaseRange::State::EndCurrent(uint64_t position) {
  runtime->Submit(EndLease{current_state->lease, position});
  current_state = nullptr;
  current.reset();
}

void DataLeaseRange::State::AskAhead() {
  ahead = runtime->Submit(LeaseCall{.data_set = id}, call_timeout);
  runtime->drain().InterruptOnRequest(ahead);
}

// Waits for the lease asked for ahead; while others hold all that is left, asks again, so that items of a worker that
// dies find a taker.
void DataLeaseRange::State::TakeAhead() {
  while (ahead != nullptr) {
    if (runtime->drain().Notice() || !ahead->WaitUnlessInterrupted() || runtime->drain().Notice()) return ReturnAhead();
    const std::shared_ptr<Future::State> answer = std::move(ahead);
    ahead = nullptr;
    if (answer->status.code() == StatusCode::kDeadlineExceeded && runtime->status().ok()) {
      AskAhead();
      continue;
    }
    if (!answer->status.ok()) {
      if (answer->status.code() == StatusCode::kOutOfRange) {
        log::Info("no more data leases",
                  {{"data_set", data_set}, {"reason", std::string(attune::Message(answer->status))}});
      } else {
        runtime->Fail(Annotate(answer->status, "data set '" + data_set + "'"));
      }
      return;
    }
    const auto& lease = std::get<LeaseResult>(answer->result);
    Take(lease);
    runtime->meter()->SetEpoch(lease.epoch);
    return AskAhead();
  }
}

void DataLeaseRange::State::Take(const LeaseResult& lease) {
  current_state = std::make_shared<DataLease::State>();
  current_state->runtime = runtime;
  current_state->lease = lease.lease;
  current_state->begin = lease.begin;
  current_state->end = lease.end;
  current_state->position = lease.begin;
  current.emplace(lease.epoch, lease.begin, lease.end, current_state);
}

// What has been granted by now, without waiting for more. While another thread asks, that one takes what there is.
void DataLeaseRange::State::TakeDue() {
  if (!due->mutex.try_lock()) return;
  const MutexLock lock(due->mutex, std::adopt_lock);
  if (due->ended) return;
  if (runtime->drain().requested())
    return attune::ps::ReturnAhead(*due, *runtime);  // the program cannot see that by it
  if (!due->opened) {
    if (const Status status = Open(); !status.ok()) {
      log::Error("no data leases", {{"data_set", data_set}, {"reason", status}});
      return runtime->Fail(Annotate(status, "data set '" + data_set + "'"));
    }
    due->opened = true;
    due->id = id;
  }
  const auto ask = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(due->mutex) {
    due->ahead = runtime->Submit(LeaseCall{.data_set = due->id}, call_timeout);
  };
  if (due->ahead == nullptr) ask();
  if (!due->ahead->done()) return;
  const std::shared_ptr<Future::State> answer = std::exchange(due->ahead, nullptr);
  switch (answer->status.code()) {
    case StatusCode::kOk:
      Take(std::get<LeaseResult>(answer->result));
      return ask();
    case StatusCode::kDeadlineExceeded:  // none was due for so long
      return ask();
    case StatusCode::kOutOfRange:
      due->ended = true;
      return;
    default:
      runtime->Fail(Annotate(answer->status, "data set '" + data_set + "'"));
  }
}

void ReturnAhead(DueLeases& due, WorkerRuntime& runtime) {
  const std::shared_ptr<Future::State> pending = std::exchange(due.ahead, nullptr);
  if (pending == nullptr || pending->Abandon() || !pending->status.ok()) return;
  const auto& lease = std::get<LeaseResult>(pending->result);
  runtime.Submit(EndLease{lease.lease, lease.begin});
}

void DataLeaseRange::State::ReturnAhead() {
  const std::shared_ptr<Future::State> pending = std::move(ahead);
  ahead = nullptr;
  // Not answered yet: the runtime hands the lease back when it comes.
  if (pending == nullptr || pending->Abandon()) return;
  if (!pending->status.ok()) return;
  const auto& lease = std::get<LeaseResult>(pending->result);
  runtime->Submit(EndLease{lease.lease, lease.begin});
}

}  // namespace attune::ps
