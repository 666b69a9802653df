// Future and Table of the public interface.
#include "ps/runtime/worker/table.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

// Copied here or, as they are dealt out to servers, by the core.
Slice<float> ForPush(std::span<const float> gradients, WorkerRuntime& runtime) {
  std::shared_ptr<void> memory = runtime.PushMemory(gradients.size_bytes());
  if (memory == nullptr) return Slice<float>(nullptr, gradients);
  return Slice<float>::FilledIn(std::move(memory), gradients.size(),
                                [&](std::span<float> copy) { std::ranges::copy(gradients, copy.begin()); });
}

}  // namespace

Future Future::Ended(Status status) {
  auto state = std::make_shared<State>();
  (void)state->Complete(std::move(status), {});
  return Future(std::move(state));
}

Status Future::Wait() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "an empty future has no result");
  if (!state_->done()) {
    if (state_->meter == nullptr) {
      state_->Wait();
    } else {
      const MonotonicTime start = state_->meter->time().Now();
      state_->Wait();
      state_->meter->AddWait(state_->is_pull, state_->meter->time().Now() - start);
    }
  }
  return state_->status;
}

bool Future::Done() const { return state_ == nullptr || state_->done(); }

LocalizeResult LocalizeFuture::result() const {
  if (future_.state_ == nullptr || !future_.state_->done()) return {};
  const auto* result = std::get_if<LocalizeResult>(&future_.state_->result);
  return result == nullptr ? LocalizeResult{} : *result;
}

uint32_t Table::dim() const { return state_->dim; }
const std::string& Table::name() const { return state_->name; }

Future Table::PullAsync(std::span<const Key> keys, std::span<float> rows) const {
  WorkerRuntime& runtime = *state_->runtime;
  if (!runtime.PullHere(state_->id, keys, rows)) return PullRemote(keys, rows);
  runtime.meter()->AddPull(keys.size());
  return Future::Ended(OkStatus());
}

Future Table::PullRemote(std::span<const Key> keys, std::span<float> rows) const {
  WorkerRuntime& runtime = *state_->runtime;
  runtime.meter()->AddPull(keys.size());
  auto pending = std::make_shared<Future::State>();
  pending->meter = runtime.meter();
  pending->is_pull = true;
  pending->begun = runtime.time().Now();
  pending->loop = runtime.loop();
  pending->rows = rows;
  // The core copies the keys while it deals them out to servers, within Submit.
  PullCall call{.call = {}, .deadline = {}, .table = state_->id, .keys = Slice<Key>(nullptr, keys), .rows = rows};
  pending = runtime.Submit(std::move(call), state_->call_timeout, std::move(pending));
  // The program's hold on the pull, apart from the runtime's: when the last copy is dropped, its rows may go too.
  return Future(std::shared_ptr<Future::State>(
      pending.get(), [runtime = state_->runtime, pending](Future::State*) { runtime->GiveUp(pending); }));
}

Future Table::PushAsync(std::span<const Key> keys, std::span<const float> gradients) const {
  WorkerRuntime& runtime = *state_->runtime;
  std::optional<Status> pushed = runtime.PushHere(state_->id, keys, gradients);
  if (!pushed) return PushRemote(keys, gradients);
  runtime.meter()->AddPush(keys.size());
  return Future::Ended(std::move(*pushed));
}

Future Table::PushRemote(std::span<const Key> keys, std::span<const float> gradients) const {
  WorkerRuntime& runtime = *state_->runtime;
  // Checked before anything is copied; the core checks it again.
  if (gradients.size() != keys.size() * state_->dim) {
    return Future::Ended(Error(StatusCode::kInvalidArgument,
                               "push to table '" + state_->name + "': " + std::to_string(gradients.size()) +
                                   " gradient values for " + std::to_string(keys.size()) + " keys of dim " +
                                   std::to_string(state_->dim) + "; pass keys * dim values"));
  }
  const MonotonicTime begun = runtime.time().Now();
  if (Status room = runtime.WaitForRoom(state_->pushes_in_flight_max, state_->call_timeout); !room.ok()) {
    return Future::Ended(std::move(room));
  }
  const Duration waited = runtime.time().Now() - begun;
  runtime.meter()->AddPush(keys.size());
  if (waited > std::chrono::microseconds(5)) runtime.meter()->AddWait(false, waited);
  auto pending = std::make_shared<Future::State>();
  pending->meter = runtime.meter();
  pending->begun = begun;
  pending->loop = runtime.loop();
  PushCall call{.call = {},
                .deadline = {},
                .table = state_->id,
                .keys = Slice<Key>(nullptr, keys),
                .gradients = ForPush(gradients, runtime)};
  return Future(runtime.Submit(std::move(call), state_->call_timeout - waited, std::move(pending)));
}

Status Table::Pull(std::span<const Key> keys, std::span<float> rows) const {
  WorkerRuntime& runtime = *state_->runtime;
  if (runtime.PullHere(state_->id, keys, rows)) {
    runtime.meter()->AddPull(keys.size());
    return OkStatus();
  }
  return state_->Named(PullRemote(keys, rows).Wait());
}

bool Table::PullIfHere(std::span<const Key> keys, std::span<float> rows) const {
  WorkerRuntime& runtime = *state_->runtime;
  if (!runtime.PullHere(state_->id, keys, rows, CopyReads::kAny)) return false;
  runtime.meter()->AddPull(keys.size());
  return true;
}

Status Table::Push(std::span<const Key> keys, std::span<const float> gradients) const {
  WorkerRuntime& runtime = *state_->runtime;
  if (std::optional<Status> pushed = runtime.PushHere(state_->id, keys, gradients)) {
    runtime.meter()->AddPush(keys.size());
    return state_->Named(*pushed);
  }
  return state_->Named(PushRemote(keys, gradients).Wait());
}

Status Table::Intend(std::span<const Key> keys, uint64_t begin, uint64_t end, Access access) const {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    return Error(code, "announcing rows of table '" + state_->name + "': " + text);
  };
  if (begin >= end) {
    return refuse(StatusCode::kInvalidArgument, "steps [" + std::to_string(begin) + ", " + std::to_string(end) +
                                                    ") are none; the end is the step after the last one");
  }
  if (end > kNumberMax) {
    return refuse(StatusCode::kInvalidArgument,
                  "step " + std::to_string(end) + " is beyond what a job counts; count from Session::clock()");
  }
  if (keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) +
                                                    " are allowed; announce them in pieces");
  }
  WorkerRuntime& runtime = *state_->runtime;
  if (Status status = runtime.status(); !status.ok()) return state_->Named(status);
  runtime.Submit(IntendCall{.table = state_->id,
                            .keys = {keys.begin(), keys.end()},
                            .begin = begin,
                            .end = end,
                            .access = access,
                            .age_max = state_->replica_age_max});
  return OkStatus();
}

LocalizeFuture Table::Localize(std::span<const Key> keys) const {
  WorkerRuntime& runtime = *state_->runtime;
  auto pending = std::make_shared<Future::State>();
  pending->loop = runtime.loop();
  LocalizeCall call{.call = {}, .deadline = {}, .table = state_->id, .keys = Slice<Key>(nullptr, keys).Kept()};
  return LocalizeFuture(Future(runtime.Submit(std::move(call), state_->call_timeout, std::move(pending))));
}

}  // namespace attune::ps
