#include "tests/simulation/simulation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <sstream>

#include "base/random.h"
#include "ps/core/coordinator_core.h"
#include "ps/core/server_core.h"
#include "ps/core/worker_core.h"
#include "tests/ps/core/map_store.h"

namespace attune::ps::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kColumns = 8;  // of the rows; each process adds to one of them
constexpr char kJob[] = "job-1";

Duration FromMilliseconds(double value) { return Duration(static_cast<int64_t>(value * 1e6)); }

// What checkers know of one table from outside.
struct Account {
  std::map<std::pair<Key, uint32_t>, double> issued;  // by key and column: all pushes ever issued
  std::map<std::pair<Key, uint32_t>, double> sure;    // at least this much must be there at the end
};

enum class Fate { kRunning, kDead, kLost, kLeft };

}  // namespace

class Simulation {
 public:
  Simulation(const Parameters& parameters, const Mutations& mutations, bool trace)
      : parameters_(parameters), mutations_(mutations), random_(parameters.seed), trace_(trace) {}

  Result Run();

 private:
  // --- processes

  struct Server {
    std::unique_ptr<ServerCore> core;
    uint32_t index = 0;
    bool alive = true;
    std::optional<MonotonicTime> wake;
  };
  struct PullCheck {
    TableId table;
    std::vector<Key> keys;
    std::vector<float> rows;
    std::map<Key, double> own_before;  // own column
    std::map<std::pair<Key, uint32_t>, double> seen_before;
  };
  struct PushCheck {
    TableId table;
    std::map<Key, double> added;
  };
  struct OpenCallCheck {
    MonotonicTime deadline;
    const char* what;
  };
  struct Worker {
    std::unique_ptr<WorkerCore> core;
    uint32_t process = 0;  // ordinal of the process
    uint32_t index = 0;
    Fate fate = Fate::kRunning;
    bool asked_to_leave = false;
    std::optional<MonotonicTime> wake;
    uint64_t next_call = 1;
    std::map<CallId, OpenCallCheck> calls;
    std::map<CallId, PullCheck> pulls;
    std::map<CallId, PushCheck> pushes;
    std::map<std::pair<Key, uint32_t>, double> seen[3];  // by table: highest value seen
    std::map<Key, double> own[3];                        // by table: own pushes issued
    std::map<Key, double> counted[3];                    // of these, in Account::sure
    // The program's place.
    enum class At { kJoin, kRows, kItems, kData, kLease, kWork, kFlush, kSave, kLeave, kEnd } at = At::kJoin;
    TableId rows_table, items_table;
    DataSetId data_set;
    LeaseResult lease;
    uint64_t position = 0;
    bool waiting_for_pull = false;
    uint32_t column() const { return process % kColumns; }
  };

  // A connection of a process: to the coordinator (server < 0) or to a server; between servers the lower index dials.
  struct LinkKey {
    bool from_server;  // which kind of process holds the client's end
    size_t client;     // index into servers_ or workers_
    int server;        // index into servers_, or -1: the coordinator
    auto operator<=>(const LinkKey&) const = default;
  };
  struct Link {
    bool up = false;
    uint64_t generation = 0;  // of the connection
    ConnectionId connection;  // as the coordinator calls it
    MonotonicTime blocked_until{};
  };

  // --- events

  struct Event {
    MonotonicTime at;
    uint64_t order;
    std::function<void()> run;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return std::tie(a.at, a.order) > std::tie(b.at, b.order); }
  };
  void At(MonotonicTime at, std::function<void()> run) { events_.push({at, next_order_++, std::move(run)}); }
  void After(Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  Duration RandomDelay() {
    return FromMilliseconds(random_.Uniform() * parameters_.delay_milliseconds_max) + Duration(1);
  }

  void Violation(const std::string& text) {
    if (result_.violations.size() < 5) {
      result_.violations.push_back("at " + std::to_string(Seconds(now_ - MonotonicTime{})) + " s: " + text);
    }
  }
  void Digest(uint64_t value) { result_.digest = SplitMix64(result_.digest ^ value); }

  // --- network

  void OpenLink(LinkKey key);
  void BreakLink(LinkKey key, Duration away);
  void Carry(LinkKey key, bool to_server_side, Message message, LinkHeader header = {});
  void Deliver(LinkKey key, uint64_t generation, ConnectionId connection, bool to_server_side, const Message& message,
               LinkHeader header, bool late_copy);
  bool ClientAlive(LinkKey key) const {
    return key.from_server ? servers_[key.client].alive : workers_[key.client]->fate == Fate::kRunning;
  }
  bool ServerAlive(LinkKey key) const { return key.server < 0 || servers_[static_cast<size_t>(key.server)].alive; }

  // --- steps of cores

  void StepCoordinator(CoordinatorInput input);
  void StepServer(size_t index, ServerInput input);
  void StepWorker(size_t index, WorkerInput input);

  // --- the program of a worker

  size_t StartWorker(uint32_t index);
  CallId NewCall(Worker& worker, const char* what, MonotonicTime deadline);
  MonotonicTime CallDeadline(bool may_be_short);
  void Program(size_t index, const Completion& completion);
  void Ask(size_t index, Worker::At at);
  void WorkOnBatch(size_t index);
  void Push(size_t index, TableId table, const std::vector<Key>& keys);
  void Pull(size_t index, TableId table, const std::vector<Key>& keys);
  void CheckPull(Worker& worker, const PullCheck& pull);
  void EndProcess(Worker& worker, Fate fate);
  void ScheduleChanges();
  void Kill(Fate how);
  void Die(size_t index);
  void KillServer();
  void StartServer(size_t index);
  void CheckEnd();
  size_t Running() const;

  Parameters parameters_;
  Mutations mutations_;
  Random random_;
  bool trace_;
  Result result_;
  MonotonicTime now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;

  std::unique_ptr<CoordinatorCore> coordinator_;
  std::optional<MonotonicTime> coordinator_wake_;
  bool finished_ = false;
  uint64_t checkpoints_ = 0;  // numbers given
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<LinkKey, Link> links_;
  std::map<ConnectionId, LinkKey> connections_;
  uint64_t next_connection_ = 1;
  uint32_t next_index_ = 0;
  std::set<size_t> server_gone_;  // taken for dead

  Account accounts_[3];                                          // by TableId
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> processed_;  // (epoch, item) -> runs
  bool any_failure_ = false;
};

// ------------------------------------------------------------------------------------------------------ network

void Simulation::OpenLink(LinkKey key) {
  Link& link = links_[key];
  if (link.up || !ClientAlive(key) || !ServerAlive(key)) return;
  if (key.server >= 0 && servers_[static_cast<size_t>(key.server)].core->node() == NodeId()) {
    After(milliseconds(5), [this, key] { OpenLink(key); });  // it does not know its own id yet: no handshake
    return;
  }
  link.up = true;
  ++link.generation;
  if (key.server < 0) {
    link.connection = ConnectionId(next_connection_++);
    connections_[link.connection] = key;
  }
  const NodeId peer = key.server < 0 ? kCoordinator : servers_[static_cast<size_t>(key.server)].core->node();
  if (key.from_server) {
    if (key.server >= 0) {
      StepServer(static_cast<size_t>(key.server), PeerConnected{.peer = servers_[key.client].core->node()});
    }
    StepServer(key.client, PeerConnected{.peer = peer});
  } else {
    StepWorker(key.client, PeerConnected{.peer = peer});
  }
}

void Simulation::BreakLink(LinkKey key, Duration away) {
  Link& link = links_[key];
  if (!link.up) return;
  link.up = false;
  ++result_.breaks;
  const NodeId peer = key.server < 0 ? kCoordinator : servers_[static_cast<size_t>(key.server)].core->node();
  const ConnectionId connection = link.connection;
  if (key.server < 0) {
    connections_.erase(connection);
    After(RandomDelay(), [this, connection] { StepCoordinator(ConnectionClosed{.connection = connection}); });
  } else {
    const NodeId client = key.from_server ? servers_[key.client].core->node() : workers_[key.client]->core->node();
    After(key.from_server ? Duration(0) : RandomDelay(),
          [this, key, client] { StepServer(static_cast<size_t>(key.server), PeerDisconnected{.peer = client}); });
  }
  if (key.from_server) {
    StepServer(key.client, PeerDisconnected{.peer = peer});
  } else if (ClientAlive(key)) {
    StepWorker(key.client, PeerDisconnected{.peer = peer});
  }
  After(away, [this, key] { OpenLink(key); });
}

void Simulation::Carry(LinkKey key, bool to_server_side, Message message, LinkHeader header) {
  const auto it = links_.find(key);
  if (it == links_.end() || !it->second.up) return;
  const Link& link = it->second;
  const uint64_t generation = link.generation;
  const ConnectionId connection = link.connection;
  const uint64_t copies = random_.Chance(parameters_.duplicate_chance) ? 2 : 1;
  const auto shared = std::make_shared<const Message>(std::move(message));
  for (uint64_t copy = 0; copy < copies; ++copy) {
    const bool late = random_.Chance(parameters_.late_copy_chance);
    After(RandomDelay(), [this, key, generation, connection, to_server_side, shared, header, late] {
      Deliver(key, generation, connection, to_server_side, *shared, header, late);
    });
  }
  if (random_.Chance(parameters_.break_chance)) {
    const Duration away = FromMilliseconds(random_.Uniform() * 400);
    After(RandomDelay(), [this, key, away] { BreakLink(key, away); });
  }
}

void Simulation::Deliver(LinkKey key, uint64_t generation, ConnectionId connection, bool to_server_side,
                         const Message& message, LinkHeader header, bool late_copy) {
  const Link& link = links_.at(key);
  if ((!link.up || link.generation != generation) && !late_copy) return;  // lost with its connection
  if (to_server_side ? !ServerAlive(key) : !ClientAlive(key)) return;
  ++result_.messages;
  Digest(static_cast<uint64_t>((now_ - MonotonicTime{}).count()));
  Digest(message.index() * 1000003 + key.client * 8191 + static_cast<uint64_t>(key.server + 1) * 2 + to_server_side);
  if (trace_) {
    std::printf("%10.6f %s %zu %s %d %s\n", Seconds(now_ - MonotonicTime{}), key.from_server ? "server" : "worker",
                key.client, to_server_side ? "->" : "<-", key.server, NameOf(message));
  }
  if (to_server_side && key.server < 0) return StepCoordinator(FromConnection{.from = connection, .message = message});
  if (to_server_side) {
    const NodeId from = key.from_server ? servers_[key.client].core->node() : workers_[key.client]->core->node();
    return StepServer(static_cast<size_t>(key.server), Received{.from = from, .message = message, .link = header});
  }
  const NodeId from = key.server < 0 ? kCoordinator : servers_[static_cast<size_t>(key.server)].core->node();
  if (key.from_server) return StepServer(key.client, Received{.from = from, .message = message, .link = header});
  StepWorker(key.client, Received{.from = from, .message = message});
}

// ------------------------------------------------------------------------------------------------- steps of cores

void Simulation::StepCoordinator(CoordinatorInput input) {
  CoordinatorOutputs out;
  coordinator_->Step(std::move(input), now_, out);
  for (ToConnection& message : out.send) {
    const auto it = connections_.find(message.to);
    if (it != connections_.end()) Carry(it->second, false, std::move(message.message));
  }
  if (out.begin_checkpoint) {
    const CutId cut = out.begin_checkpoint->cut;
    const uint64_t checkpoint = ++checkpoints_;
    After(milliseconds(3), [this, cut, checkpoint] {
      StepCoordinator(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = checkpoint});
    });
  }
  if (out.commit_checkpoint) {
    if (out.commit_checkpoint->checkpoint != checkpoints_) Violation("a manifest was ordered with another's number");
    std::set<std::string> names;
    const std::string prefix = std::to_string(checkpoints_) + "-";
    for (const CutFile& file : out.commit_checkpoint->files) {
      if (!file.name.starts_with(prefix)) Violation("a checkpoint has a file of another");
      names.insert(file.name);
    }
    const auto alive = std::ranges::count_if(servers_, [](const Server& server) { return server.alive; });
    if (names.size() != static_cast<size_t>(alive)) {
      Violation("a manifest was ordered with files of some servers missing");
    }
    const CutId cut = out.commit_checkpoint->cut;
    After(milliseconds(3), [this, cut] { StepCoordinator(CheckpointCommitted{.cut = cut, .status = OkStatus()}); });
  }
  for (const std::string& event : out.events) {
    if (trace_) std::printf("%10.6f event: %s\n", Seconds(now_ - MonotonicTime{}), event.c_str());
  }
  if (out.failed) Violation("the job failed: " + attune::ToString(*out.failed));
  finished_ = finished_ || out.finished;
  const MonotonicTime wake = coordinator_->WakeAt();
  if (wake != kNever && (!coordinator_wake_ || wake < *coordinator_wake_)) {
    coordinator_wake_ = wake;
    At(wake, [this, wake] {
      if (coordinator_wake_ != wake) return;
      coordinator_wake_.reset();
      StepCoordinator(CoordinatorTimer{});
    });
  }
}

void Simulation::StepServer(size_t index, ServerInput input) {
  Server& server = servers_[index];
  if (!server.alive) return;
  ServerOutputs out;
  server.core->Step(std::move(input), now_, out);
  for (Outgoing& message : out.send) {
    if (message.to == kCoordinator) {
      Carry({.from_server = true, .client = index, .server = -1}, true, std::move(message.message));
      continue;
    }
    for (size_t other = 0; other < servers_.size(); ++other) {
      if (servers_[other].core->node() != message.to) continue;
      const LinkKey key{
          .from_server = true, .client = std::min(index, other), .server = static_cast<int>(std::max(index, other))};
      Carry(key, other > index, std::move(message.message), message.link);
      break;
    }
    for (size_t worker = 0; worker < workers_.size(); ++worker) {
      if (workers_[worker]->core->node() != message.to) continue;
      Carry({.from_server = false, .client = worker, .server = static_cast<int>(index)}, false,
            std::move(message.message));
      break;
    }
  }
  if (out.write_snapshot) {
    const SnapshotOrder order = *out.write_snapshot;
    After(FromMilliseconds(random_.Uniform() * 20), [this, index, order] {
      const std::string name = std::to_string(order.checkpoint) + "-" + std::to_string(order.part);
      StepServer(index, SnapshotWritten{
                            .cut = order.cut, .status = OkStatus(), .files = {{.table = TableId(1), .name = name}}});
    });
  }
  for (const Member& member : out.connect) {
    if (member.index <= index) continue;
    const LinkKey key{.from_server = true, .client = index, .server = static_cast<int>(member.index)};
    After(RandomDelay(), [this, key] { OpenLink(key); });
  }
  if (out.rows_restored > 0) Violation("rows were lost although they had copies");
  if (out.lost && server_gone_.contains(index)) {
    server.alive = false;  // it has heard that the others go on without it
    return;
  }
  if (out.lost) Violation("server " + std::to_string(index) + " was lost: " + attune::ToString(*out.lost));
  const MonotonicTime wake = server.core->WakeAt();
  if (wake != kNever && (!server.wake || wake < *server.wake)) {
    server.wake = wake;
    At(wake, [this, index, wake] {
      if (servers_[index].wake != wake) return;
      servers_[index].wake.reset();
      StepServer(index, Timer{});
    });
  }
}

void Simulation::StepWorker(size_t index, WorkerInput input) {
  Worker& worker = *workers_[index];
  if (worker.fate == Fate::kDead) return;
  WorkerOutputs out;
  worker.core->Step(std::move(input), now_, out);
  for (Outgoing& message : out.send) {
    int server = -1;
    for (size_t i = 0; i < servers_.size() && message.to != kCoordinator; ++i) {
      if (servers_[i].core->node() == message.to) server = static_cast<int>(i);
    }
    Carry({.from_server = false, .client = index, .server = server}, true, std::move(message.message));
  }
  for (const Member& member : out.connect) {
    const LinkKey key{.from_server = false, .client = index, .server = static_cast<int>(member.index)};
    After(RandomDelay(), [this, key] { OpenLink(key); });
  }
  if (out.lost && worker.fate == Fate::kRunning) EndProcess(worker, Fate::kLost);
  for (const Completion& completion : out.completions) {
    Digest(completion.call.value() * 31 + static_cast<uint64_t>(completion.status.code()));
    if (completion.call != CallId()) Program(index, completion);  // steps do not wait here
  }
  const MonotonicTime wake = worker.core->WakeAt();
  if (wake != kNever && (!worker.wake || wake < *worker.wake)) {
    worker.wake = wake;
    At(wake, [this, index, wake] {
      if (workers_[index]->wake != wake) return;
      workers_[index]->wake.reset();
      StepWorker(index, Timer{});
    });
  }
}

// ------------------------------------------------------------------------------------------- the worker's program

size_t Simulation::StartWorker(uint32_t index) {
  auto worker = std::make_unique<Worker>();
  worker->process = static_cast<uint32_t>(workers_.size());
  worker->index = index;
  worker->core = std::make_unique<WorkerCore>(WorkerOptions{.job_uid = kJob,
                                                            .incarnation = 1000 + workers_.size(),
                                                            .index = index,
                                                            .pushes_in_flight_max = parameters_.pushes_in_flight_max,
                                                            .keys_per_message_max = parameters_.keys_per_message_max,
                                                            .reissue_after = milliseconds(300),
                                                            .reissue_after_max = seconds(2),
                                                            .heartbeat_interval = milliseconds(200),
                                                            .mutations = mutations_});
  workers_.push_back(std::move(worker));
  const size_t place = workers_.size() - 1;
  Ask(place, Worker::At::kJoin);
  const LinkKey key{.from_server = false, .client = place, .server = -1};
  After(RandomDelay(), [this, key] { OpenLink(key); });
  return place;
}

CallId Simulation::NewCall(Worker& worker, const char* what, MonotonicTime deadline) {
  const CallId call(worker.next_call++);
  worker.calls[call] = {.deadline = deadline, .what = what};
  return call;
}

MonotonicTime Simulation::CallDeadline(bool may_be_short) {
  if (may_be_short && random_.Chance(parameters_.short_deadline_chance)) {
    return now_ + FromMilliseconds(random_.Uniform() * 2 * parameters_.delay_milliseconds_max);
  }
  return now_ + seconds(60);
}

void Simulation::EndProcess(Worker& worker, Fate fate) {
  worker.fate = fate;
  const bool failed = fate == Fate::kDead || fate == Fate::kLost;
  any_failure_ = any_failure_ || failed;
  result_.lost_workers += failed ? 1 : 0;
  for (int table = 1; table <= 2 && !failed; ++table) {  // everything a clean leaver issued is in the rows
    for (const auto& [key, sum] : worker.own[table]) {
      accounts_[table].sure[{key, worker.column()}] += sum - worker.counted[table][key];
    }
  }
  // What the platform would do: start a failed worker again.
  const uint32_t index = worker.index;
  const bool again = failed && random_.Chance(0.5);
  After(seconds(1), [this, index, again] {
    if (!finished_ && (again || Running() == 0)) StartWorker(index);
  });
}

void Simulation::Ask(size_t index, Worker::At at) {
  Worker& worker = *workers_[index];
  worker.at = at;
  const MonotonicTime deadline = CallDeadline(at == Worker::At::kLease || at == Worker::At::kFlush);
  const TableOptions options{.dim = kColumns, .optimizer = Sgd{.rate = -1}, .initializer = ConstantInitializer{}};
  switch (at) {
    case Worker::At::kJoin:
      return StepWorker(index, JoinCall{.call = NewCall(worker, "join", deadline), .deadline = deadline});
    case Worker::At::kRows:
    case Worker::At::kItems:
      return StepWorker(index, OpenTableCall{.call = NewCall(worker, "open table", deadline),
                                             .deadline = deadline,
                                             .spec = {at == Worker::At::kRows ? "rows" : "items", options}});
    case Worker::At::kData:
      return StepWorker(
          index,
          OpenDataSetCall{
              .call = NewCall(worker, "open data", deadline), .deadline = deadline, .name = "train", .options = {}});
    case Worker::At::kLease:
      return StepWorker(
          index,
          LeaseCall{.call = NewCall(worker, "lease", deadline), .deadline = deadline, .data_set = worker.data_set});
    case Worker::At::kFlush:
      return StepWorker(index, FlushCall{.call = NewCall(worker, "flush", deadline), .deadline = deadline});
    case Worker::At::kSave:
      return StepWorker(index,
                        SaveCall{.call = NewCall(worker, "save", deadline), .deadline = deadline, .directory = "m"});
    case Worker::At::kLeave:
      return StepWorker(index, LeaveCall{.call = NewCall(worker, "leave", deadline), .deadline = deadline});
    case Worker::At::kWork:
    case Worker::At::kEnd:
      return;
  }
}

void Simulation::Program(size_t index, const Completion& completion) {
  Worker& worker = *workers_[index];
  const auto call = worker.calls.find(completion.call);
  if (call == worker.calls.end()) return Violation("EveryCallEnds: a call completed twice");
  if (now_ > call->second.deadline) {
    Violation(std::string("EveryCallEnds: ") + call->second.what + " ended after its deadline");
  }
  worker.calls.erase(call);
  const bool late = completion.status.code() == StatusCode::kDeadlineExceeded;
  result_.deadlines_passed += late ? 1 : 0;
  if (worker.fate != Fate::kRunning) return;
  if (!completion.status.ok() && !late && completion.status.code() != StatusCode::kOutOfRange) {
    return Violation("a call failed: " + attune::ToString(completion.status));
  }

  if (const auto push = worker.pushes.find(completion.call); push != worker.pushes.end()) {
    if (completion.status.ok()) {
      const auto table = push->second.table.value();
      for (const auto& [key, sum] : push->second.added) {
        accounts_[table].sure[{key, worker.column()}] += sum;
        worker.counted[table][key] += sum;
      }
    }
    worker.pushes.erase(push);
    return;
  }
  if (const auto pull = worker.pulls.find(completion.call); pull != worker.pulls.end()) {
    if (completion.status.ok()) CheckPull(worker, pull->second);
    worker.pulls.erase(pull);
    worker.waiting_for_pull = false;
    After(FromMilliseconds(random_.Uniform() * 3), [this, index] { WorkOnBatch(index); });
    return;
  }

  using enum Worker::At;
  if (late && worker.at != kLease && worker.at != kFlush) return Violation("a call with a long deadline timed out");
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
      return WorkOnBatch(index);
    case kFlush:
      return Ask(index, random_.Chance(parameters_.save_chance) ? kSave : kLeave);
    case kSave:
      ++result_.saves;
      return Ask(index, kLeave);
    case kLeave:
      worker.at = kEnd;
      return EndProcess(worker, Fate::kLeft);
    case kWork:
    case kEnd:
      return Violation("an answer nobody asked for");
  }
}

void Simulation::WorkOnBatch(size_t index) {
  Worker& worker = *workers_[index];
  if (worker.fate != Fate::kRunning || worker.at != Worker::At::kWork || worker.waiting_for_pull) return;
  if (worker.core->open_pushes() > 2 * parameters_.pushes_in_flight_max) {  // wait for room
    After(milliseconds(2), [this, index] { WorkOnBatch(index); });
    return;
  }
  if (worker.asked_to_leave && random_.Chance(0.5)) return Ask(index, Worker::At::kLeave);  // hands back the rest
  if (worker.position == worker.lease.end || worker.asked_to_leave) {
    StepWorker(index, EndLease{.lease = worker.lease.lease, .position = worker.position});
    if (worker.fate != Fate::kRunning) return;
    return Ask(index, worker.asked_to_leave ? Worker::At::kFlush : Worker::At::kLease);
  }

  std::vector<Key> items;
  const uint64_t batch = 1 + random_.Below(4);
  for (uint64_t i = 0; i < batch && worker.position < worker.lease.end; ++i, ++worker.position) {
    ++processed_[{worker.lease.epoch, worker.position}];
    items.push_back(worker.position);
  }
  std::vector<Key> keys(1 + random_.Below(parameters_.keys_per_call_max));
  for (Key& key : keys) key = random_.Below(1 + random_.Below(parameters_.keys));  // skewed
  worker.waiting_for_pull = true;
  Push(index, worker.items_table, items);
  Push(index, worker.rows_table, keys);
  keys.push_back(random_.Below(parameters_.keys));
  if (random_.Chance(0.2)) items.push_back(items.front());  // keys of a pull may repeat
  const bool rows = random_.Chance(0.8);
  StepWorker(index, StepCall{.call = CallId(), .deadline = now_ + seconds(60), .loss = 1.0, .samples = batch});
  StepWorker(index, AdvanceLease{.lease = worker.lease.lease, .position = worker.position});
  if (worker.fate == Fate::kRunning) Pull(index, rows ? worker.rows_table : worker.items_table, rows ? keys : items);
}

void Simulation::Push(size_t index, TableId table, const std::vector<Key>& keys) {
  Worker& worker = *workers_[index];
  if (worker.fate != Fate::kRunning) return;
  std::vector<float> gradients(keys.size() * kColumns, 0.0F);
  PushCheck check{.table = table, .added = {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    gradients[i * kColumns + worker.column()] = 1;
    check.added[keys[i]] += 1;
    worker.own[table.value()][keys[i]] += 1;
    accounts_[table.value()].issued[{keys[i], worker.column()}] += 1;
  }
  const MonotonicTime deadline = CallDeadline(true);
  const CallId call = NewCall(worker, "push", deadline);
  worker.pushes[call] = std::move(check);
  StepWorker(
      index,
      PushCall{.call = call, .deadline = deadline, .table = table, .keys = keys, .gradients = std::move(gradients)});
}

void Simulation::Pull(size_t index, TableId table, const std::vector<Key>& keys) {
  Worker& worker = *workers_[index];
  const MonotonicTime deadline = CallDeadline(true);
  const CallId call = NewCall(worker, "pull", deadline);
  PullCheck& check = worker.pulls[call];
  check.table = table;
  check.keys = keys;
  check.rows.assign(keys.size() * kColumns, -1);
  for (const Key key : keys) {
    check.own_before[key] = worker.own[table.value()][key];
    for (uint32_t column = 0; column < kColumns; ++column) {
      check.seen_before[{key, column}] = worker.seen[table.value()][{key, column}];
    }
  }
  StepWorker(index, PullCall{.call = call, .deadline = deadline, .table = table, .keys = keys, .rows = check.rows});
}

void Simulation::CheckPull(Worker& worker, const PullCheck& pull) {
  Account& account = accounts_[pull.table.value()];
  for (size_t i = 0; i < pull.keys.size(); ++i) {
    const Key key = pull.keys[i];
    for (uint32_t column = 0; column < kColumns; ++column) {
      const double value = pull.rows[i * kColumns + column];
      const auto text = [&](const char* what, double bound) {
        std::ostringstream out;
        out << what << ": process " << worker.process << " reads " << value << " of key " << key << " column " << column
            << " of table " << pull.table << ", bound " << bound;
        return out.str();
      };
      if (column == worker.column() && value < pull.own_before.at(key)) {
        Violation(text("OwnPushes: an own push is missing", pull.own_before.at(key)));
      }
      if (value > account.issued[{key, column}]) {
        Violation(text("AtMostOnce: more than was ever pushed", account.issued[{key, column}]));
      }
      const double before = pull.seen_before.at({key, column});
      // After a crash a row continues from its copy: others' pushes that nobody was told of come once more.
      const bool may_fall = result_.server_deaths > 0 && column != worker.column();
      if (value < before && !may_fall) Violation(text("VersionsRise: less than was seen before", before));
      double& seen = worker.seen[pull.table.value()][{key, column}];
      seen = std::max(seen, value);
    }
  }
}

// --------------------------------------------------------------------------------------------------- run and check

size_t Simulation::Running() const {
  return static_cast<size_t>(
      std::ranges::count_if(workers_, [](const auto& worker) { return worker->fate == Fate::kRunning; }));
}

void Simulation::Kill(Fate how) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->fate == Fate::kRunning && workers_[i]->at == Worker::At::kWork) candidates.push_back(i);
  }
  if (candidates.empty()) return;
  const size_t victim = candidates[random_.Below(candidates.size())];
  const LinkKey to_coordinator{.from_server = false, .client = victim, .server = -1};
  if (how == Fate::kLeft) {
    if (Running() > 1) workers_[victim]->asked_to_leave = true;
  } else if (how == Fate::kLost) {
    BreakLink(to_coordinator, seconds(15));  // runs on, is declared lost, learns it when it comes back
  } else if (random_.Chance(0.5)) {
    Die(victim);
  } else {  // cut off from the servers first: it dies with pushes they have not got, while its heartbeats arrive
    for (auto& [key, link] : links_) {
      if (!key.from_server && key.client == victim && key.server >= 0) BreakLink(key, seconds(2));
    }
    After(milliseconds(500), [this, victim] { Die(victim); });
  }
}

void Simulation::Die(size_t index) {
  if (workers_[index]->fate != Fate::kRunning) return;
  EndProcess(*workers_[index], Fate::kDead);
  for (auto& [key, link] : links_) {
    if (!key.from_server && key.client == index) BreakLink(key, seconds(0));
  }
}

// One at a time, and only when what was lost before has its copies again.
void Simulation::KillServer() {
  std::vector<size_t> alive;
  const ShardMap* map = nullptr;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i].alive) continue;
    alive.push_back(i);
    if (map == nullptr || servers_[i].core->map().version > map->version) map = &servers_[i].core->map();
  }
  if (finished_ || alive.size() < 3 || map == nullptr || !map->formed()) return;
  const bool covered = std::ranges::all_of(map->shards, [](const Shard& shard) { return shard.backup != NodeId(); });
  const bool settled = std::ranges::all_of(alive, [&](size_t i) {
    return servers_[i].core->map().version == map->version && servers_[i].core->rows().Report().shards_not_ready == 0;
  });
  if (!covered || !settled) return After(seconds(1), [this] { KillServer(); });
  const size_t victim = alive[random_.Below(alive.size())];
  servers_[victim].alive = false;
  server_gone_.insert(victim);
  ++result_.server_deaths;
  if (trace_) std::printf("%10.6f server %zu dies\n", Seconds(now_ - MonotonicTime{}), victim);
  std::vector<LinkKey> touched;
  for (const auto& [key, link] : links_) {
    const bool its_own = key.from_server && key.client == victim;
    if (its_own || (key.server >= 0 && static_cast<size_t>(key.server) == victim)) touched.push_back(key);
  }
  for (const LinkKey& key : touched) BreakLink(key, seconds(1));
}

void Simulation::StartServer(size_t index) {
  Server& server = servers_[index];
  server.index = static_cast<uint32_t>(index);
  server.core = std::make_unique<ServerCore>(ServerOptions{.job_uid = kJob,
                                                           .incarnation = 1 + index,
                                                           .index = static_cast<uint32_t>(index),
                                                           .address = "server-" + std::to_string(index),
                                                           .create_store = MapStore::Make,
                                                           .link = {.window = 8},  // what a break loses is sent again
                                                           .mutations = mutations_});
  const LinkKey key{.from_server = true, .client = index, .server = -1};
  After(FromMilliseconds(random_.Uniform() * 20), [this, key] { OpenLink(key); });
}

void Simulation::ScheduleChanges() {
  // Within the time a run takes at least: some happen in the middle of everything.
  const double span = static_cast<double>(parameters_.items * parameters_.epochs) *
                      (parameters_.delay_milliseconds_max + 2) / (2.0 * parameters_.workers);
  const auto sometime = [&] { return FromMilliseconds(20 + random_.Uniform() * span); };
  for (uint32_t i = 0; i < parameters_.deaths; ++i) After(sometime(), [this] { Kill(Fate::kDead); });
  for (uint32_t i = 0; i < parameters_.isolations; ++i) After(sometime(), [this] { Kill(Fate::kLost); });
  for (uint32_t i = 0; i < parameters_.leaves; ++i) After(sometime(), [this] { Kill(Fate::kLeft); });
  for (uint32_t i = 0; i < parameters_.joins; ++i) {
    After(sometime(), [this] {
      if (!finished_) StartWorker(next_index_++);
    });
  }
  for (uint32_t i = 0; i < parameters_.server_deaths; ++i) After(sometime(), [this] { KillServer(); });
}

Result Simulation::Run() {
  coordinator_ = std::make_unique<CoordinatorCore>(CoordinatorOptions{.job_uid = kJob,
                                                                      .servers = parameters_.servers,
                                                                      .shards = parameters_.shards,
                                                                      .goal = {.epochs = parameters_.epochs},
                                                                      .items = parameters_.items,
                                                                      .lease_items = parameters_.lease_items,
                                                                      .backups = parameters_.backups,
                                                                      .mutations = mutations_});
  servers_.resize(parameters_.servers);
  for (size_t i = 0; i < servers_.size(); ++i) StartServer(i);
  for (uint32_t i = 0; i < parameters_.workers; ++i) {
    const uint32_t index = next_index_++;
    After(FromMilliseconds(random_.Uniform() * 30), [this, index] { StartWorker(index); });
  }
  ScheduleChanges();

  constexpr Duration kLongest = std::chrono::minutes(10);
  while (!(finished_ && Running() == 0) && !events_.empty() && result_.violations.empty() &&
         now_ - MonotonicTime{} < kLongest) {
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.at;
    event.run();
  }
  const MonotonicTime rest = now_ + seconds(3);  // lets the last news reach the servers
  while (!events_.empty() && events_.top().at < rest && result_.violations.empty()) {
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.at;
    event.run();
  }
  CheckEnd();
  result_.simulated_seconds = Seconds(now_ - MonotonicTime{});
  return result_;
}

void Simulation::CheckEnd() {
  const JobProgress progress = coordinator_->progress();
  result_.reprocessed = progress.reprocessed_items;
  for (const Server& server : servers_) {
    result_.replicated += server.core->counters().replicated_keys;
    result_.duplicate_pushes += server.core->counters().duplicate_pushes;
    result_.parked_pulls += server.core->counters().parked_pulls;
  }
  if (!result_.violations.empty()) return;
  if (!finished_) {
    return Violation("the job did not finish: " + std::to_string(progress.items_done) + " of " +
                     std::to_string(progress.items_total) + " items done, " + std::to_string(Running()) +
                     " workers running");
  }
  // EveryItem.
  uint64_t extra = 0;
  for (uint64_t epoch = 0; epoch < parameters_.epochs; ++epoch) {
    for (uint64_t item = 0; item < parameters_.items; ++item) {
      const uint64_t runs = processed_[{epoch, item}];
      if (runs == 0) Violation("EveryItem: item " + std::to_string(item) + " was never processed");
      extra += runs > 0 ? runs - 1 : 0;
    }
  }
  if (extra > progress.reprocessed_items) {
    Violation("EveryItem: " + std::to_string(extra) + " items were processed again, " +
              std::to_string(progress.reprocessed_items) + " are reported");
  }
  if (!any_failure_ && progress.reprocessed_items > 0) Violation("EveryItem: items were taken away without a failure");
  // SumOfPushes.
  std::map<std::pair<Key, uint32_t>, double> rows[3];
  // A job may end before anyone misses a server: its rows are with their backups then.
  const ShardMap* map = nullptr;
  std::set<NodeId> dead;
  for (const Server& server : servers_) {
    if (!server.alive) {
      dead.insert(server.core->node());
    } else if (map == nullptr || server.core->map().version > map->version) {
      map = &server.core->map();
    }
  }
  for (const Server& server : servers_) {
    for (uint32_t table = 1; table <= 2 && server.alive; ++table) {
      const auto add = [&](const std::vector<std::unique_ptr<TableStore>>& tables, bool copies) {
        if (tables.size() < table || tables[table - 1] == nullptr) return;
        tables[table - 1]->ForEachRow([&](const RowView& row) {
          if (copies && !dead.contains(map->HomeOf(row.key))) return;
          for (uint32_t column = 0; column < kColumns; ++column) rows[table][{row.key, column}] += row.values[column];
        });
      };
      add(server.core->tables(), false);
      add(server.core->rows().copies(), true);
    }
  }
  for (uint32_t table = 1; table <= 2; ++table) {
    for (const auto& [place, issued] : accounts_[table].issued) {
      const double value = rows[table][place];
      const double sure = accounts_[table].sure[place];
      if (value < sure || value > issued) {
        std::ostringstream text;
        text << "SumOfPushes: key " << place.first << " column " << place.second << " of table " << table << " is "
             << value << ", must be " << sure << " to " << issued;
        Violation(text.str());
      }
    }
  }
  // What counts as done is in the rows.
  const uint32_t items_table = 2;
  for (uint64_t item = 0; item < parameters_.items; ++item) {
    double runs = 0;
    for (uint32_t column = 0; column < kColumns; ++column) runs += rows[items_table][{item, column}];
    if (runs < static_cast<double>(parameters_.epochs)) {
      Violation("EveryItem: item " + std::to_string(item) + " is done but its pushes are not in the rows");
    }
  }
  // AtRest and EveryCallEnds.
  for (const Server& server : servers_) {
    if (server.alive && server.core->parked() > 0) Violation("AtRest: a pull is still parked at a server");
  }
  for (const auto& worker : workers_) {
    if (worker->fate == Fate::kLeft && !worker->calls.empty()) {
      Violation(std::string("EveryCallEnds: ") + worker->calls.begin()->second.what + " never ended");
    }
  }
}

Parameters Parameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0x5eed));
  Parameters p;
  p.seed = seed;
  p.servers = static_cast<uint32_t>(1 + random.Below(4));
  p.workers = static_cast<uint32_t>(1 + random.Below(4));
  p.shards = static_cast<uint32_t>(p.servers + random.Below(32));
  p.items = 20 + random.Below(100);
  p.epochs = 1 + random.Below(2);
  p.lease_items = 1 + random.Below(25);
  p.keys = 4 + random.Below(60);
  p.pushes_in_flight_max = static_cast<uint32_t>(1 + random.Below(12));
  p.keys_per_message_max = 1 + random.Below(8);
  p.keys_per_call_max = 1 + random.Below(24);
  p.delay_milliseconds_max =
      random.Chance(0.2) ? 400 : 0.5 + random.Uniform() * 20;  // sometimes beyond the re-issue time
  // Every push crosses between servers then: through a network as slow as that no job would end.
  p.backups = p.servers > 1 && p.delay_milliseconds_max < 100 && random.Chance(0.5) ? 1 : 0;
  if (random.Chance(0.3)) return p;  // a calm network and no changes
  p.duplicate_chance = random.Chance(0.5) ? random.Uniform() * 0.2 : 0;
  p.break_chance = random.Chance(0.6) ? random.Uniform() * 0.02 : 0;
  p.late_copy_chance = random.Chance(0.5) ? random.Uniform() : 0;
  p.short_deadline_chance = random.Chance(0.4) ? random.Uniform() * 0.2 : 0;
  p.deaths = static_cast<uint32_t>(random.Chance(0.5) ? random.Below(3) : 0);
  p.isolations = static_cast<uint32_t>(random.Chance(0.2) ? 1 : 0);
  p.joins = static_cast<uint32_t>(random.Below(3));
  p.leaves = static_cast<uint32_t>(random.Below(3));
  p.save_chance = random.Chance(0.3) ? 0.5 : 0;
  if (p.backups > 0 && p.servers > 2 && random.Chance(0.5)) {
    p.server_deaths = 1;
    p.save_chance = 0;
  }
  return p;
}

std::string ToString(const Parameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " items=" << p.items << " epochs=" << p.epochs << " lease_items=" << p.lease_items << " keys=" << p.keys
       << " pushes_in_flight_max=" << p.pushes_in_flight_max << " keys_per_message_max=" << p.keys_per_message_max
       << " keys_per_call_max=" << p.keys_per_call_max << " delay_milliseconds_max=" << p.delay_milliseconds_max
       << " duplicate_chance=" << p.duplicate_chance << " break_chance=" << p.break_chance
       << " late_copy_chance=" << p.late_copy_chance << " short_deadline_chance=" << p.short_deadline_chance
       << " deaths=" << p.deaths << " isolations=" << p.isolations << " joins=" << p.joins << " leaves=" << p.leaves
       << " save_chance=" << p.save_chance << " backups=" << p.backups << " server_deaths=" << p.server_deaths;
  return text.str();
}

Result Simulate(const Parameters& parameters, const Mutations& mutations, bool trace) {
  return Simulation(parameters, mutations, trace).Run();
}

}  // namespace attune::ps::simulation
