#include "ps/core/trace/traced_worker.h"

#include <variant>

namespace attune::ps {

Status TracedWorker::BeginTrace(const std::string& table, Key key, MonotonicTime now) {
  const std::optional<TableId> id = core_.rows().routes().FindByName(table);
  if (!id) return Error(StatusCode::kNotFound, "this worker has not opened a table '" + table + "'");
  trace_.Begin({*id, key}, now);
  return OkStatus();
}

void TracedWorker::Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out) {
  if (trace_.active()) return StepTraced(std::move(input), now, out);
  core_.Step(std::move(input), now, out);
}

void TracedWorker::StepTraced(WorkerInput input, MonotonicTime now, WorkerOutputs& out) {
  const size_t sent_before = out.send.size();
  PullCall pull;
  if (const auto* pulled = std::get_if<PullCall>(&input)) {
    pull = *pulled;
    trace_.Read(pull.table, pull.keys.view(), now);
  } else if (const auto* pushed = std::get_if<PushCall>(&input)) {
    trace_.Pushed(pushed->table, pushed->keys.view(), now);
  } else if (const auto* announced = std::get_if<IntendCall>(&input)) {
    trace_.Announced(announced->table, announced->keys, announced->begin, announced->end, now);
  } else if (const auto* received = std::get_if<Received>(&input)) {
    trace_.Received(received->from, received->message, now);
  }
  core_.Step(std::move(input), now, out);
  for (size_t i = sent_before; i < out.send.size(); ++i) {
    trace_.Sent(out.send[i].to, out.send[i].message, {.table = pull.table, .keys = pull.keys.view()}, now);
  }
}

bool TracedWorker::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now,
                            CopyReads copies) {
  const bool here = core_.PullHere(table, keys, rows, now, copies);
  if (here && trace_.active()) trace_.Read(table, keys, now);
  return here;
}

std::optional<Status> TracedWorker::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                             MonotonicTime now) {
  std::optional<Status> pushed = core_.PushHere(table, keys, gradients);
  if (pushed && trace_.active()) trace_.Pushed(table, keys, now);
  return pushed;
}

}  // namespace attune::ps
