// The program of a worker: items by lease, pushes and pulls of what they stand for, a step after each batch.
#include <utility>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

CallId JobSimulation::NewCall(Worker& worker, const char* what, MonotonicTime deadline) {
  const CallId call(worker.next_call++);
  worker.calls[call] = {.deadline = deadline, .what = what};
  return call;
}

MonotonicTime JobSimulation::CallDeadline(bool may_be_short) {
  if (may_be_short && random().Chance(parameters_.short_deadline_chance)) {
    return now() + FromMilliseconds(random().Uniform() * 2 * parameters_.delay_milliseconds_max);
  }
  return now() + CallTimeout();
}

void JobSimulation::Ask(size_t index, Worker::At at) {
  Worker& worker = *workers_[index];
  worker.at = at;
  const MonotonicTime deadline =
      CallDeadline(at == Worker::At::kLease || at == Worker::At::kFlush || at == Worker::At::kClosingLease);
  const auto call = [&](const char* what) { return NewCall(worker, what, deadline); };
  const TableOptions options{.dim = kColumns, .optimizer = Sgd{.rate = -1}, .initializer = ConstantInitializer{}};
  using enum Worker::At;
  switch (at) {
    case kJoin:
      return StepWorker(index, JoinCall{.call = call("join"), .deadline = deadline});
    case kRows:
    case kItems:
      return StepWorker(index, OpenTableCall{.call = call("open table"),
                                             .deadline = deadline,
                                             .spec = {at == kRows ? "rows" : "items", options}});
    case kData:
      return StepWorker(
          index, OpenDataSetCall{.call = call("open data"), .deadline = deadline, .name = "train", .options = {}});
    case kLease:
      return StepWorker(index, LeaseCall{.call = call("lease"), .deadline = deadline, .data_set = worker.data_set});
    case kStep:
      return StepWorker(index, StepCall{.call = call("step"), .deadline = deadline, .loss = 1.0, .samples = 1});
    case kFlush:
      return StepWorker(index, FlushCall{.call = call("flush"), .deadline = deadline});
    case kClosingData:
      return StepWorker(index, OpenDataSetCall{.call = call("open closing data"),
                                               .deadline = deadline,
                                               .name = kClosingName,
                                               .options = {.items = parameters_.closing_items, .epochs = 1}});
    case kClosingLease:
      return StepWorker(index, LeaseCall{.call = call("lease"), .deadline = deadline, .data_set = worker.closing_set});
    case kSave:
      return StepWorker(index, SaveCall{.call = call("save"), .deadline = deadline, .directory = "m"});
    case kLeave:
      steps_.IsGone(index);  // in the step that it had begun last it has nothing to do
      return StepWorker(index,
                        LeaveCall{.call = call("leave"), .deadline = deadline, .drained = worker.asked_to_leave});
    case kWork:
    case kClosingWork:
    case kEnd:
      return;
  }
}

// While it was cut off every server that it knows has been replaced, so no process can name the coordinator to it. Its
// pod is replaced for that (docs/failure-modes.md); here it ends with its call, for which that is the latest time.
bool JobSimulation::EndsProgram(const Worker& worker, const attune::Status& status) {
  constexpr Duration kReplacedAfter = std::chrono::seconds(60);
  if (status.code() != StatusCode::kDeadlineExceeded) return false;
  if (worker.core->heartbeats().Silence(now()) < kReplacedAfter) return false;
  for (size_t i = first_server_; i < servers_.size(); ++i) {
    const Server& server = *servers_[i];
    if (server.fate == Fate::kRunning && worker.core->map().Contains(server.core->node())) return false;
  }
  Trace(Name(WorkerPlace(worker.process)) + " knows no server that lives, and is replaced");
  Count("stranded workers");
  return true;
}

void JobSimulation::Completed(size_t index, const Completion& completion) {
  Worker& worker = *workers_[index];
  const auto call = worker.calls.find(completion.call);
  if (call == worker.calls.end()) return Violation("EveryCallEnds: a call completed twice");
  const char* what = call->second.what;
  if (now() > call->second.deadline) Violation(std::string("EveryCallEnds: ") + what + " ended after its deadline");
  worker.calls.erase(call);
  const bool late = completion.status.code() == StatusCode::kDeadlineExceeded;
  if (late) Count("deadlines passed");
  if (worker.fate != Fate::kRunning) return;
  if (worker.localizes.erase(completion.call) > 0) {
    const auto& result = std::get<LocalizeResult>(completion.result);
    Count("rows localized", result.moved);
    Count("rows without memory", result.refused);
    return;
  }
  // A disk may be full, and a server may be drained or die while it writes.
  const bool full = worker.at == Worker::At::kSave &&
                    (parameters_.full_disk_chance > 0 || completion.status.code() == StatusCode::kAborted);
  if (!completion.status.ok() && EndsProgram(worker, completion.status)) return EndWorker(worker, Fate::kLost);
  if (!completion.status.ok() && !late && !full && completion.status.code() != StatusCode::kOutOfRange) {
    return Violation(std::string("EveryCallEnds: ") + what + " failed: " + attune::ToString(completion.status));
  }

  if (const auto push = worker.pushes.find(completion.call); push != worker.pushes.end()) {
    if (completion.status.ok()) Done(worker, push->second);
    worker.pushes.erase(push);
    return;
  }
  if (const auto pull = worker.pulls.find(completion.call); pull != worker.pulls.end()) {
    if (completion.status.ok()) {
      CheckPull(worker, pull->second);
    } else {
      Revoke(pull->second.rows);
    }
    GiveBack(std::move(pull->second.rows));
    worker.pulls.erase(pull);
    return EndStepSoon(index);
  }
  GoOn(index, completion);
}

void JobSimulation::Done(Worker& worker, const PushCheck& push) {
  if (!push.is_to_copies) return Acknowledged(worker, push);
  Count("pushes to copies");
  worker.unsettled.emplace_back(worker.core->rows().pushes().window().last_issued(), push);
  NoteSettled(worker);
}

void JobSimulation::NoteSettled(Worker& worker) {
  if (!worker.core->status().ok()) return;  // a session that is lost forgets what is open
  const SequenceNumber settled = worker.core->rows().pushes().window().SettledBelow();
  while (!worker.unsettled.empty() && worker.unsettled.front().first <= settled) {
    Acknowledged(worker, worker.unsettled.front().second);
    worker.unsettled.pop_front();
  }
}

void JobSimulation::Acknowledged(Worker& worker, const PushCheck& push) {
  const auto table = push.table.value();
  for (const auto& [key, sum] : push.added) {
    Account& account = accounts_[table];
    const std::pair place{key, worker.column()};
    account.by_time[place][now()] = account.sure[place] += sum;
    account.by_step[place][push.step] += sum;
    worker.counted[table][key] += sum;
  }
}

void JobSimulation::EndStepSoon(size_t index) {
  workers_[index]->waiting_for_pull = false;
  After(FromMilliseconds(ComputeMilliseconds()), [this, index] {
    const Worker& again = *workers_[index];
    if (again.fate == Fate::kRunning && again.at == Worker::At::kWork) Ask(index, Worker::At::kStep);
  });
}

void JobSimulation::GoOn(size_t index, const Completion& completion) {
  Worker& worker = *workers_[index];
  const bool late = completion.status.code() == StatusCode::kDeadlineExceeded;
  using enum Worker::At;
  if (late && worker.at != kLease && worker.at != kFlush && worker.at != kClosingLease) {
    return Violation("EveryCallEnds: a call with a long deadline was not carried out: " +
                     attune::ToString(completion.status));
  }
  switch (worker.at) {
    case kJoin:
      return Ask(index, kRows);
    case kRows:
      worker.rows_table = std::get<TableResult>(completion.result).table;
      return Ask(index, kItems);
    case kItems:
      worker.items_table = std::get<TableResult>(completion.result).table;
      return Ask(index, kData);
    case kData:
      worker.data_set = std::get<DataSetResult>(completion.result).data_set;
      return Ask(index, kLease);
    case kLease:
      if (late) return Ask(index, worker.asked_to_leave ? kFlush : kLease);
      if (!completion.status.ok()) return Ask(index, kFlush);
      worker.lease = std::get<LeaseResult>(completion.result);
      worker.position = worker.lease.begin;
      worker.at = kWork;
      steps_.GetsWork(index);
      return WorkOnBatch(index);
    case kStep:
      steps_.BeginsStep(index);
      worker.at = kWork;
      return WorkOnBatch(index);
    case kFlush:
      return parameters_.closing_items == 0 || worker.asked_to_leave ? LeaveSoon(index) : Ask(index, kClosingData);
    case kClosingData:
      worker.closing_set = std::get<DataSetResult>(completion.result).data_set;
      return Ask(index, kClosingLease);
    case kClosingLease:
      if (late && !worker.asked_to_leave) return Ask(index, kClosingLease);
      if (!completion.status.ok()) return LeaveSoon(index);
      worker.closing_lease = std::get<LeaseResult>(completion.result);
      worker.at = kClosingWork;
      return After(FromMilliseconds(ComputeMilliseconds()), [this, index] { EndClosingLease(index); });
    case kSave:
      Count(completion.status.ok() ? "saves" : "failed saves");
      return Ask(index, kLeave);
    case kLeave:
      worker.at = kEnd;
      return EndWorker(worker, Fate::kLeft);
    case kWork:
    case kClosingWork:
    case kEnd:
      return Violation("EveryCallEnds: an answer that no call asked for");
  }
}

void JobSimulation::LeaveSoon(size_t index) {
  Ask(index, random().Chance(parameters_.save_chance) ? Worker::At::kSave : Worker::At::kLeave);
}

void JobSimulation::WorkOnBatch(size_t index) {
  Worker& worker = *workers_[index];
  if (worker.fate != Fate::kRunning || worker.at != Worker::At::kWork || worker.waiting_for_pull) return;
  if (worker.core->rows().pushes().window().size() > 2 * parameters_.pushes_in_flight_max) {  // wait for room
    return After(std::chrono::milliseconds(2), [this, index] { WorkOnBatch(index); });
  }
  if (worker.asked_to_leave && random().Chance(0.5)) {  // hands back the rest
    steps_.HasNoWork(index);
    return Ask(index, Worker::At::kLeave);
  }
  if (worker.position == worker.lease.end || worker.asked_to_leave) {
    steps_.HasNoWork(index);
    StepWorker(index, EndLease{.lease = worker.lease.lease, .position = worker.position});
    if (worker.fate != Fate::kRunning) return;
    return Ask(index, worker.asked_to_leave ? Worker::At::kFlush : Worker::At::kLease);
  }

  std::vector<Key> items;
  const uint64_t batch = 1 + random().Below(4);
  worker.batch_begin = worker.position;
  for (uint64_t i = 0; i < batch && worker.position < worker.lease.end; ++i, ++worker.position) {
    items_.Processed(worker.lease.epoch, worker.position);
    items.push_back(worker.position);
  }
  std::vector<Key> keys = DrawKeys();
  worker.waiting_for_pull = true;
  if (parameters_.localize_chance > 0 && random().Chance(parameters_.localize_chance)) Localize(index);
  Push(index, worker.items_table, items);
  Push(index, worker.rows_table, keys);
  keys.push_back(random().Below(parameters_.keys));
  if (random().Chance(0.2)) items.push_back(items.front());  // keys of a pull may repeat
  const bool rows = random().Chance(0.8);
  if (parameters_.announce_ahead > 0) {
    Announce(index);
    if (const auto announced = worker.announced.extract(worker.core->steps().ended())) keys = announced.mapped();
  }
  if (worker.fate == Fate::kRunning) {
    StepWorker(index, AdvanceLease{.lease = worker.lease.lease, .position = worker.position});
  }
  if (worker.fate == Fate::kRunning) Pull(index, rows ? worker.rows_table : worker.items_table, rows ? keys : items);
  // Another thread of the program may announce while this one waits.
  if (parameters_.announce_ahead > 0 && random().Chance(0.5)) {
    After(FromMilliseconds(random().Uniform() * 2 * parameters_.delay_milliseconds_max),
          [this, index] { Announce(index); });
  }
}

std::vector<Key> JobSimulation::DrawKeys() {
  std::vector<Key> keys(1 + random().Below(parameters_.keys_per_call_max));
  for (Key& key : keys) key = random().Below(1 + random().Below(parameters_.keys));  // skewed
  return keys;
}

// What the next steps are going to pull, now and then too late or never used.
void JobSimulation::Announce(size_t index) {
  Worker& worker = *workers_[index];
  if (worker.at != Worker::At::kWork) return;
  const uint64_t clock = worker.core->steps().ended();
  for (uint64_t step = clock + 1; step <= clock + parameters_.announce_ahead; ++step) {
    if (worker.fate != Fate::kRunning || worker.announced.contains(step) || random().Chance(0.2)) continue;
    const std::vector<Key>& keys = worker.announced[step] = DrawKeys();
    const uint64_t end = step + 1 + random().Below(3);
    for (const Key key : keys) worker.announced_until[key] = std::max(worker.announced_until[key], end);
    StepWorker(index, IntendCall{.table = worker.rows_table,
                                 .keys = keys,
                                 .begin = step,
                                 .end = end,
                                 .access = Access::kReadWrite,
                                 .age_max = std::chrono::milliseconds(parameters_.age_milliseconds_max)});
  }
}

void JobSimulation::Push(size_t index, TableId table, const std::vector<Key>& keys) {
  Worker& worker = *workers_[index];
  if (worker.fate != Fate::kRunning) return;
  std::vector<float> gradients(keys.size() * kColumns, 0.0F);
  PushCheck check{.table = table, .step = worker.core->steps().gate().clock(), .added = {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    gradients[i * kColumns + worker.column()] = 1;
    check.added[keys[i]] += 1;
    check.is_to_copies = check.is_to_copies || worker.core->rows().replicas().HasCopy({table, keys[i]});
    worker.own[table.value()][keys[i]] += 1;
    accounts_[table.value()].issued[{keys[i], worker.column()}] += 1;
  }
  pushes_.push_back({.worker = index,
                     .epoch = worker.lease.epoch,
                     .item = worker.batch_begin,
                     .table = table.value(),
                     .added = check.added});
  if (worker.core->rows().MayBeHere()) {  // as the runtime does
    const std::optional<Status> pushed = worker.core->PushHere(table, keys, gradients);
    if (pushed) {
      Count("pushes in place");
      if (!pushed->ok()) Violation("a push in place failed: " + attune::ToString(*pushed));
      return Done(worker, check);
    }
  }
  const MonotonicTime deadline = CallDeadline(true);
  const CallId call = NewCall(worker, "push", deadline);
  worker.pushes[call] = std::move(check);
  StepWorker(
      index,
      PushCall{.call = call, .deadline = deadline, .table = table, .keys = keys, .gradients = std::move(gradients)});
}

void JobSimulation::Pull(size_t index, TableId table, const std::vector<Key>& keys) {
  Worker& worker = *workers_[index];
  PullCheck check;
  check.table = table;
  check.keys = keys;
  check.rows.assign(keys.size() * kColumns, -1);
  for (const Key key : keys) {
    check.own_before[key] = worker.own[table.value()][key];
    for (uint32_t column = 0; column < kColumns; ++column) {
      check.seen_before[{key, column}] = worker.seen[table.value()][{key, column}];
    }
  }
  NoteWhatMustBeSeen(worker, check);
  if (worker.core->rows().MayBeHere() && worker.core->PullHere(table, keys, check.rows, now())) {
    Count("pulls in place");
    CheckPull(worker, check);
    return EndStepSoon(index);
  }
  const MonotonicTime deadline = CallDeadline(true);
  const CallId call = NewCall(worker, "pull", deadline);
  PullCheck& open = worker.pulls[call] = std::move(check);
  StepWorker(index, PullCall{.call = call, .deadline = deadline, .table = table, .keys = keys, .rows = open.rows});
}

void JobSimulation::NoteWhatMustBeSeen(const Worker& worker, PullCheck& pull) {
  const StepGate& gate = worker.core->steps().gate();
  const uint64_t floor = gate.ModeAt(gate.clock()).FloorNeeded(gate.clock());
  const uint64_t clock = worker.core->steps().ended();
  const Account& account = accounts_[pull.table.value()];
  for (const auto& [place, seen] : pull.seen_before) {
    if (const auto steps = account.by_step.find(place); steps != account.by_step.end()) {
      for (auto step = steps->second.begin(); step != steps->second.lower_bound(floor); ++step)
        pull.needed_by_pace[place] += step->second;
    }
    // What is not announced is read as it is when the pull begins. What is may be old also while announcements are
    // ignored.
    const auto until = worker.announced_until.find(place.first);
    const bool may_be_old =
        pull.table == worker.rows_table && until != worker.announced_until.end() && until->second > clock;
    const MonotonicTime then = may_be_old ? now() - std::chrono::milliseconds(parameters_.age_milliseconds_max) : now();
    if (const auto times = account.by_time.find(place); times != account.by_time.end()) {
      if (const auto after = times->second.upper_bound(then); after != times->second.begin())
        pull.needed_by_age[place] = std::prev(after)->second;
    }
  }
}

void JobSimulation::Localize(size_t index) {
  Worker& worker = *workers_[index];
  const bool rows = random().Chance(0.7);
  std::vector<Key> keys(1 + random().Below(2 * parameters_.keys_per_call_max));
  for (Key& key : keys) key = random().Below(rows ? parameters_.keys : parameters_.items);
  const MonotonicTime deadline = CallDeadline(true);
  const CallId call = NewCall(worker, "localize", deadline);
  worker.localizes.insert(call);
  StepWorker(index, LocalizeCall{.call = call,
                                 .deadline = deadline,
                                 .table = rows ? worker.rows_table : worker.items_table,
                                 .keys = std::move(keys)});
}

}  // namespace attune::ps::simulation
