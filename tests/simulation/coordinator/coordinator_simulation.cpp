#include "tests/simulation/coordinator/coordinator_simulation.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <sstream>

#include "base/random.h"
#include "ps/core/coordinator_core.h"
#include "ps/core/worker_core.h"

namespace attune::ps::coordinator_simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kJob[] = "job-1";
constexpr Duration kCallTimeout = seconds(100);

Duration FromMilliseconds(double value) { return Duration(static_cast<int64_t>(value * 1e6)); }

class Simulation {
 public:
  Simulation(const Parameters& parameters, const Mutations& mutations, bool trace)
      : parameters_(parameters), mutations_(mutations), random_(parameters.seed), trace_(trace) {}

  Result Run();

 private:
  struct Party {
    bool is_server;
    size_t place;
    auto operator<=>(const Party&) const = default;
  };
  // A server as the coordinator sees it: it takes maps, takes its time with them, and acknowledges pushes.
  struct Server {
    uint32_t index = 0;
    uint64_t incarnation = 0;
    bool alive = true, connected = false, finished = false;
    ConnectionId connection;
    uint64_t link = 0;  // generation of the stream
    NodeId node;
    ShardMap map;
    uint64_t heartbeat = 0, report = 0;
    uint32_t not_ready = 0;
    uint64_t rows_to_come = 0;
    std::set<MapVersion> joins_done;
    uint64_t map_change = 0;   // counts adoptions, so that late timers do nothing
    std::set<size_t> applied;  // pushes, by their place in pushes_
    CutId cut;                 // marked for it
    size_t office = 0;         // it joins there
    uint32_t term = 0;
    std::optional<CoordinatorRecord> mirror;
    std::vector<InstallTable> tables;
    LivenessLease lease;
  };
  struct Worker {
    std::unique_ptr<WorkerCore> core;
    uint32_t index = 0;
    bool alive = true, left = false, lost = false, asked_to_leave = false, connected = false;
    ConnectionId connection;
    uint64_t link = 0;
    std::optional<MonotonicTime> wake;
    uint64_t next_call = 1;
    std::map<CallId, MonotonicTime> calls;
    enum class At { kJoin, kTable, kData, kLease, kWork, kStep, kLeave, kEnd } at = At::kJoin;
    TableId table;
    DataSetId data_set;
    LeaseResult lease;
    bool has_lease = false;
    uint64_t position = 0, pushes = 0;
    uint64_t lifted = 0;  // the checkers' account: slowest one with work when it got work
    bool slow = false;
    size_t office = 0;
  };
  // One coordinator, in a server.
  struct Office {
    std::unique_ptr<CoordinatorCore> core;
    uint32_t term = 1;
    size_t host = 0;
    bool alive = true, taken_over = true;
    std::optional<MonotonicTime> wake;
  };
  struct Stream {
    Party party;
    size_t office;
  };
  // One item's push.
  struct PushAccount {
    size_t worker;
    uint64_t epoch, item, step;
  };
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
  Duration Delay() { return FromMilliseconds(random_.Uniform() * parameters_.delay_milliseconds_max) + Duration(1); }
  double Time() const { return Seconds(now_ - MonotonicTime{}); }
  void Violation(const std::string& text) {
    if (result_.violations.size() < 5) result_.violations.push_back("at " + std::to_string(Time()) + " s: " + text);
  }
  void Trace(const std::string& text) const {
    if (trace_) std::printf("%10.6f %s\n", Time(), text.c_str());
  }
  void Digest(uint64_t value) { result_.digest = SplitMix64(result_.digest ^ value); }

  // Streams to the coordinator. Messages of one stream keep their order.
  bool Alive(Party party) const { return party.is_server ? servers_[party.place].alive : workers_[party.place]->alive; }
  void Connect(Party party);
  void Break(Party party, Duration away);
  void ToCoordinator(Party party, Message message);
  void FromCoordinator(ConnectionId connection, Message message);
  size_t& OfficeOf(Party party) {
    return party.is_server ? servers_[party.place].office : workers_[party.place]->office;
  }
  void StepCoordinator(size_t office, CoordinatorInput input);
  void OnMapPublished(size_t office);

  // Another coordinator.
  size_t StartOffice(CoordinatorOptions options, size_t host);
  void EndOffice(size_t office);
  void Appoint(std::vector<NodeGone> gone, uint32_t index_below);
  void Redirect(Party party, size_t office);
  void CrashCoordinator(bool really);
  bool CopyIsSafe(const Server* but) const;
  bool Settled() const { return chief_ + 1 == offices_.size() && offices_[chief_].alive && !appointing_; }
  CoordinatorCore& Chief() { return *offices_[chief_].core; }
  const CoordinatorCore& Chief() const { return *offices_[chief_].core; }
  void OnMark(size_t place, const Mark& mark);
  void CheckCut(CutId cut, const CutRecord& record);
  void CheckEven();

  size_t StartServer(uint32_t index);
  void SayServer(size_t place, Message message) { ToCoordinator({true, place}, std::move(message)); }
  void OnServer(size_t place, const Message& message);
  void AdoptMap(size_t place, const ShardMap& map);
  void OnInstall(Server& server, const InstallTable& install);
  void Report(size_t place);
  void ServerHeartbeat(size_t place);
  void KillServer(size_t place);

  size_t StartWorker(uint32_t index);
  void StepWorker(size_t place, WorkerInput input);
  void ConnectPeer(size_t place, NodeId peer, int tries);
  void Ask(size_t place, Worker::At at);
  void Completed(size_t place, const Completion& completion);
  void Work(size_t place);
  void BeganStep(size_t place);
  uint64_t ClockOf(const Worker& worker) const { return std::max(worker.core->gate().clock(), worker.lifted); }
  std::optional<uint64_t> Slowest(const Worker* but) const;
  void KillWorker(size_t place);
  size_t Running() const;

  void Order(Command command);
  void Scale();
  void ScheduleChanges();
  void CheckEnd();
  bool Shards(const std::function<bool(const Shard&)>& all) const {
    return std::ranges::all_of(Chief().map().shards, all);
  }

  Parameters parameters_;
  Mutations mutations_;
  Random random_;
  bool trace_;
  Result result_;
  MonotonicTime now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<Office> offices_;
  size_t chief_ = 0;         // the last one that leads the job
  bool appointing_ = false;  // its server is said to be dead
  bool finished_ = false;
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<ConnectionId, Stream> connections_;
  std::map<std::pair<Party, bool>, MonotonicTime> stream_time_;  // last delivery per direction
  uint64_t next_connection_ = 1, next_incarnation_ = 1, next_command_ = 1;
  uint32_t next_worker_index_ = 0;
  struct Asked {
    MonotonicTime until;
    size_t office;
  };
  std::map<CommandId, Asked> commands_;
  std::set<CommandId> scalings_;
  uint32_t servers_wanted_ = 1;
  std::map<MapVersion, ShardMap> maps_;
  MapVersion last_map_;
  struct Begun {
    SyncMode mode;
    size_t worker;
  };
  std::map<uint64_t, Begun> mode_of_step_;  // of a worker that is still there
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> processed_;
  std::vector<PushAccount> pushes_;
  std::map<std::pair<size_t, uint64_t>, size_t> push_of_sequence_;  // by worker and its n-th push
  std::set<size_t> copied_;                                         // by the cut under way
  bool any_server_died_ = false;
  bool any_failure_ = false;
};

// ------------------------------------------------------------------------------------------------------------ streams

void Simulation::Connect(Party party) {
  if (!Alive(party)) return;
  bool& connected = party.is_server ? servers_[party.place].connected : workers_[party.place]->connected;
  if (connected) return;
  const size_t office = OfficeOf(party);
  if (!offices_[office].alive) return After(milliseconds(50), [this, party] { Connect(party); });
  connected = true;
  const ConnectionId id(next_connection_++);
  connections_[id] = {party, office};
  ++(party.is_server ? servers_[party.place].link : workers_[party.place]->link);
  (party.is_server ? servers_[party.place].connection : workers_[party.place]->connection) = id;
  if (!party.is_server) return StepWorker(party.place, PeerConnected{.peer = kCoordinator});
  const Server& server = servers_[party.place];
  SayServer(party.place, Join{.incarnation = server.incarnation,
                              .job_uid = kJob,
                              .role = Role::kServer,
                              .index = server.index,
                              .address = "127.0.0.1:" + std::to_string(7000 + party.place),
                              .node = server.node,
                              .term = server.term});
}

void Simulation::Break(Party party, Duration away) {
  bool& connected = party.is_server ? servers_[party.place].connected : workers_[party.place]->connected;
  if (!connected) return;
  connected = false;
  ++result_.breaks;
  const ConnectionId id = party.is_server ? servers_[party.place].connection : workers_[party.place]->connection;
  const size_t office = connections_.at(id).office;
  connections_.erase(id);
  After(Delay(), [this, office, id] { StepCoordinator(office, ConnectionClosed{.connection = id}); });
  if (!party.is_server && Alive(party)) StepWorker(party.place, PeerDisconnected{.peer = kCoordinator});
  if (Alive(party)) After(away, [this, party] { Connect(party); });
}

void Simulation::ToCoordinator(Party party, Message message) {
  const bool connected = party.is_server ? servers_[party.place].connected : workers_[party.place]->connected;
  if (!connected) return;
  const ConnectionId id = party.is_server ? servers_[party.place].connection : workers_[party.place]->connection;
  MonotonicTime& last = stream_time_[{party, true}];
  last = std::max(last, now_ + Delay());
  At(last, [this, id, message = std::move(message)]() mutable {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return;
    StepCoordinator(it->second.office, FromConnection{.from = id, .message = std::move(message)});
  });
  if (random_.Chance(parameters_.break_chance)) {
    After(Delay(), [this, party] { Break(party, FromMilliseconds(random_.Uniform() * 300)); });
  }
}

void Simulation::FromCoordinator(ConnectionId connection, Message message) {
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  const Party party = it->second.party;
  const uint32_t term = offices_[it->second.office].term;
  MonotonicTime& last = stream_time_[{party, false}];
  last = std::max(last, now_ + Delay());
  At(last, [this, party, connection, term, message = std::move(message)]() mutable {
    if (!connections_.contains(connection) || !Alive(party)) return;
    Digest(message.index() * 31 + party.place);
    if (party.is_server) {
      Server& server = servers_[party.place];
      if (term < server.term && !mutations_.old_term_not_refused) return;
      server.term = std::max(server.term, term);
      return OnServer(party.place, message);
    }
    if (trace_ && std::holds_alternative<SessionLost>(message)) {
      Trace("worker " + std::to_string(party.place) +
            " hears: " + attune::ToString(std::get<SessionLost>(message).status));
    }
    StepWorker(party.place, Received{.from = kCoordinator, .message = std::move(message), .term = term});
  });
}

void Simulation::StepCoordinator(size_t office, CoordinatorInput input) {
  if (!offices_[office].alive) return;
  CoordinatorOutputs out;
  CoordinatorCore& core = *offices_[office].core;
  core.Step(std::move(input), now_, out);
  for (const std::string& event : out.events) Trace("event: " + event);
  if (out.superseded) return EndOffice(office);
  if (!offices_[office].taken_over && !core.progress().taking_over) {
    ++result_.takeovers;
    offices_[office].taken_over = true;
    chief_ = std::max(chief_, office);
  }
  OnMapPublished(office);
  for (ToConnection& message : out.send) FromCoordinator(message.to, std::move(message.message));
  for (const CommandResult& result : out.command_results) {
    const auto it = commands_.find(result.id);
    if (it == commands_.end()) {
      Violation("EveryCallEnds: a command was answered twice");
      continue;
    }
    Trace("command " + std::to_string(result.id.value()) + ": " + attune::ToString(result.status) + " " + result.text);
    if (now_ > it->second.until + seconds(1)) Violation("EveryCallEnds: a command ended after its time");
    if (result.status.code() == StatusCode::kDeadlineExceeded) {
      Violation("EveryCallEnds: a command was not carried out: " + attune::ToString(result.status));
    }
    if (result.status.ok() && scalings_.erase(result.id) > 0) CheckEven();
    commands_.erase(it);
  }
  if (out.begin_checkpoint) {
    const CutId cut = out.begin_checkpoint->cut;
    copied_.clear();
    After(FromMilliseconds(random_.Uniform() * 20), [this, office, cut] {
      StepCoordinator(office, CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = cut.value()});
    });
  }
  if (out.commit_checkpoint) {
    ++result_.cuts;
    CheckCut(out.commit_checkpoint->cut, out.commit_checkpoint->record);
    const CutId cut = out.commit_checkpoint->cut;
    After(FromMilliseconds(random_.Uniform() * 20),
          [this, office, cut] { StepCoordinator(office, CheckpointCommitted{.cut = cut, .status = OkStatus()}); });
  }
  if (out.failed) Violation("the job failed: " + attune::ToString(*out.failed));
  finished_ = finished_ || out.finished;
  const MonotonicTime wake = core.WakeAt();
  std::optional<MonotonicTime>& armed = offices_[office].wake;
  if (wake != kNever && (!armed || wake < *armed)) {
    armed = wake;
    At(wake, [this, office, wake] {
      if (offices_[office].wake != wake) return;
      offices_[office].wake.reset();
      StepCoordinator(office, CoordinatorTimer{});
    });
  }
}

// ------------------------------------------------------------------------------------------------ another coordinator

size_t Simulation::StartOffice(CoordinatorOptions options, size_t host) {
  Office office;
  office.term = options.term;
  office.host = host;
  office.taken_over = !options.takeover;
  office.core = std::make_unique<CoordinatorCore>(std::move(options));
  offices_.push_back(std::move(office));
  return offices_.size() - 1;
}

// Its process is gone, or another one is obeyed: what was asked of it is asked again of the next one.
void Simulation::EndOffice(size_t office) {
  if (!offices_[office].alive) return;
  Trace("coordinator of term " + std::to_string(offices_[office].term) + " ends");
  offices_[office].alive = false;
  std::vector<Party> parties;
  for (const auto& [id, stream] : connections_) {
    if (stream.office == office) parties.push_back(stream.party);
  }
  for (const Party party : parties) Break(party, milliseconds(20));
  bool scaling = false;
  std::erase_if(commands_, [&](const auto& entry) {
    if (entry.second.office != office) return false;
    scaling = scalings_.erase(entry.first) > 0 || scaling;
    return true;
  });
  if (scaling) After(milliseconds(300), [this] { Scale(); });
}

// The copy that answers have waited for is at a server that lives.
bool Simulation::CopyIsSafe(const Server* but) const {
  uint64_t newest = 0;
  for (const Server& server : servers_) newest = std::max(newest, server.mirror ? server.mirror->number : 0);
  return std::ranges::any_of(servers_, [&](const Server& server) {
    return &server != but && server.alive && !server.finished && server.mirror && server.mirror->number == newest &&
           newest >> 32 == offices_[chief_].term && Chief().map().Contains(server.node);
  });
}

// The operator's part: the server with the lowest index that fits, under a higher term.
void Simulation::Appoint(std::vector<NodeGone> gone, uint32_t index_below) {
  const size_t old_host = offices_.back().host;
  appointing_ = false;
  size_t host = servers_.size();
  for (size_t place = 0; place < servers_.size(); ++place) {
    const Server& server = servers_[place];
    if (place == old_host || !server.alive || server.finished || server.index >= index_below) continue;
    if (!Chief().map().Contains(server.node)) continue;
    if (host == servers_.size() || server.index < servers_[host].index) host = place;
  }
  if (host == servers_.size() || finished_) return;
  const size_t office = StartOffice({.job_uid = kJob,
                                     .term = offices_.back().term + 1,
                                     .takeover = true,
                                     .proven_gone = std::move(gone),
                                     .shards = parameters_.shards,
                                     .liveness_lease = seconds(2),
                                     .shard_changes_max = 4,
                                     .host_index = servers_[host].index,
                                     .mutations = mutations_},
                                    host);
  Trace("server " + std::to_string(servers_[host].index) + " runs the coordinator of term " +
        std::to_string(offices_.back().term));
  Redirect({true, host}, office);
  const auto later = [&](Party party) {
    Duration delay = Delay();
    if (random_.Chance(0.05)) {
      delay = FromMilliseconds(random_.Uniform() * 9000);
      any_failure_ = true;
    }
    After(delay, [this, party, office] { Redirect(party, office); });
  };
  for (size_t place = 0; place < servers_.size(); ++place) {
    if (place != host && servers_[place].alive) later({true, place});
  }
  for (size_t place = 0; place < workers_.size(); ++place) later({false, place});
}

// It hears where the new coordinator is.
void Simulation::Redirect(Party party, size_t office) {
  if (!Alive(party) || OfficeOf(party) >= office) return;
  if (party.is_server) {
    Server& server = servers_[party.place];
    server.term = std::max(server.term, offices_[office].term);
    for (size_t older = 0; older < office; ++older) {
      if (offices_[older].host == party.place) EndOffice(older);
    }
  } else {
    StepWorker(party.place, Received{.from = servers_[offices_[office].host].node,
                                     .message = CoordinatorAt{.term = offices_[office].term,
                                                              .host = servers_[offices_[office].host].node,
                                                              .port = 7400}});
    if (!Alive(party)) return;
  }
  OfficeOf(party) = office;
  Break(party, Delay());
}

// The server that runs the coordinator dies, or (not really) the platform says so and it runs on for a while.
void Simulation::CrashCoordinator(bool really) {
  if (finished_ || !Settled()) return;
  const size_t host = offices_[chief_].host;
  if (!CopyIsSafe(&servers_[host])) return;
  any_failure_ = true;
  any_server_died_ = true;
  const uint32_t index = servers_[host].index;
  Trace(really ? "the coordinator dies" : "the coordinator is said to be dead");
  if (really) {
    KillServer(host);
  } else {
    appointing_ = true;
    After(seconds(12), [this, host] { KillServer(host); });
    After(FromMilliseconds(random_.Uniform() * 1500), [this, index] { Appoint({{Role::kServer, index}}, UINT32_MAX); });
  }
}

// What an answered scaling promises.
void Simulation::CheckEven() {
  const ShardMap& map = Chief().map();
  std::map<NodeId, int> homes;
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) homes[member.node] = 0;
  }
  for (const Shard& shard : map.shards) {
    ++homes[shard.home];
    if (homes.size() > 1 && parameters_.backups > 0 && shard.backup == NodeId()) Violation("AtRest: a copy is missing");
  }
  const auto [least, most] = std::ranges::minmax_element(homes, {}, [](const auto& entry) { return entry.second; });
  if (homes.size() != servers_wanted_) Violation("AtRest: " + std::to_string(homes.size()) + " servers");
  if (most->second - least->second > 1) Violation("AtRest: homes are uneven");
}

// MapUnique and OneChange, at the moment a map is made.
void Simulation::OnMapPublished(size_t office) {
  const ShardMap& map = offices_[office].core->map();
  if (!map.formed() || office != chief_) return;
  const auto [it, is_new] = maps_.try_emplace(map.version, map);
  if (!is_new) {
    if (!(it->second == map)) Violation("MapUnique: two maps with one version");
    return;
  }
  ++result_.maps;
  if (map.version < last_map_) Violation("MapUnique: an older map after a newer one");
  if (const Status status = Validate(map); !status.ok()) return Violation("MapUnique: " + attune::ToString(status));
  const auto before = maps_.find(last_map_);
  last_map_ = map.version;
  if (before == maps_.end() || before->second.recovered_at != map.recovered_at) {
    result_.recoveries += before == maps_.end() ? 0 : 1;
    return;
  }
  bool planned = false;
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const Shard& was = before->second.shards[i];
    const Shard& is = map.shards[i];
    planned = planned || !(was == is);
    result_.promotions += was.next_backup != NodeId() && is.backup == was.next_backup ? 1 : 0;
    if (was.home != is.home && was.backup == is.home) Violation("OneChange: a home moves to its own backup");
    if (was.next_backup != NodeId() && is.next_backup != was.next_backup && is.backup != was.next_backup) {
      Violation("OneChange: a copy under way was dropped without a failure");
    }
    if (is.backup == was.next_backup && was.next_backup != NodeId() && is.backup != was.backup) {
      for (const Server& server : servers_) {
        if (server.alive && map.Contains(server.node) && !server.joins_done.contains(was.join_id)) {
          Violation("OneChange: a backup was appointed before all members had sent it their copies");
        }
      }
    }
  }
  if (!planned) return;
  for (const Server& server : servers_) {
    if (!server.alive || !map.Contains(server.node) || !before->second.Contains(server.node)) continue;
    if (server.not_ready > 0 || server.map.version < before->second.version) {
      Violation("OneChange: shards change while server " + std::to_string(server.index) + " is not ready");
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ servers

// The copy is made at once; writing takes a while.
void Simulation::OnMark(size_t place, const Mark& mark) {
  Server& server = servers_[place];
  if (server.cut != mark.cut) {
    server.cut = mark.cut;
    copied_.insert(server.applied.begin(), server.applied.end());
  }
  SayServer(place, MarkDone{.cut = mark.cut});
  const CutId cut = mark.cut;
  After(FromMilliseconds(random_.Uniform() * 100), [this, place, cut] {
    if (servers_[place].alive) SayServer(place, SnapshotDone{.cut = cut, .status = OkStatus(), .files = {}});
  });
}

// CutExact. What a server had that was drained since is elsewhere now.
void Simulation::CheckCut(CutId cut, const CutRecord& record) {
  for (const Server& server : servers_) {
    if (server.finished && server.cut != cut) copied_.insert(server.applied.begin(), server.applied.end());
  }
  if (any_server_died_ || record.data_sets.empty()) return;  // rows may have been restored
  const CutRecord::DataSet& data = record.data_sets.front();
  const auto contained = [&](uint64_t epoch, uint64_t item) {
    if (epoch < data.finished_epochs) return true;
    return std::ranges::any_of(
               data.done,
               [&](const auto& range) { return range.epoch == epoch && range.begin <= item && item < range.end; }) ||
           std::ranges::any_of(data.open, [&](const auto& lease) {
             return lease.epoch == epoch && lease.begin <= item && item < lease.position;
           });
  };
  const bool exact = record.synchronization != "async";
  std::map<std::pair<uint64_t, uint64_t>, bool> in_rows;
  for (size_t i = 0; i < pushes_.size(); ++i) {
    const PushAccount& push = pushes_[i];
    const bool copied = copied_.contains(i);
    in_rows[{push.epoch, push.item}] = in_rows[{push.epoch, push.item}] || copied;
    const std::string name = "item " + std::to_string(push.item) + " of epoch " + std::to_string(push.epoch) +
                             ", pushed in step " + std::to_string(push.step) + ", cut at " +
                             std::to_string(record.clock);
    if (!exact || workers_[push.worker]->lost) continue;
    if (copied && push.step >= record.clock) Violation("CutExact: in the rows too early: " + name);
    if (push.step < record.clock && !copied) Violation("CutExact: not in the rows: " + name);
    if (push.step < record.clock && !contained(push.epoch, push.item)) {
      Violation("CutExact: would be processed again: " + name);
    }
  }
  for (const auto& [item, copied] : in_rows) {
    if (contained(item.first, item.second) && !copied) {
      Violation("CutExact: item " + std::to_string(item.second) + " of epoch " + std::to_string(item.first) +
                " would be omitted");
    }
  }
}

size_t Simulation::StartServer(uint32_t index) {
  Server server;
  server.index = index;
  server.office = offices_.size() - 1;
  server.incarnation = next_incarnation_++;
  servers_.push_back(std::move(server));
  const size_t place = servers_.size() - 1;
  After(Delay(), [this, place] { Connect({true, place}); });
  After(milliseconds(200), [this, place] { ServerHeartbeat(place); });
  return place;
}

void Simulation::ServerHeartbeat(size_t place) {
  Server& server = servers_[place];
  if (!server.alive || server.finished) return;
  if (server.node != NodeId()) {
    server.lease.Sent(++server.heartbeat, now_);
    SayServer(place, Heartbeat{.number = server.heartbeat, .map_version = server.map.version, .leases = {}});
    Report(place);
  }
  After(milliseconds(200), [this, place] { ServerHeartbeat(place); });
}

void Simulation::Report(size_t place) {
  Server& server = servers_[place];
  RowsReport report{.number = ++server.report,
                    .map_version = server.map.version,
                    .shards_not_ready = server.not_ready,
                    .joins_done = {server.joins_done.begin(), server.joins_done.end()},
                    .rows_to_come = server.rows_to_come};
  const bool named =
      std::ranges::any_of(server.map.shards, [&](const Shard& shard) { return shard.home == server.node; });
  report.rows_held = named || server.rows_to_come > 0 ? 10 : 0;
  SayServer(place, std::move(report));
}

void Simulation::OnServer(size_t place, const Message& message) {
  Server& server = servers_[place];
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    server.node = welcome->node;
    if (welcome->map.formed()) AdoptMap(place, welcome->map);
  } else if (const auto* update = std::get_if<MapUpdate>(&message)) {
    AdoptMap(place, update->map);
  } else if (const auto* ack = std::get_if<HeartbeatAck>(&message)) {
    server.lease.Answered(ack->number, ack->liveness);
  } else if (const auto* mirror = std::get_if<MirrorUpdate>(&message)) {
    if (!server.mirror || server.mirror->number < mirror->record.number) server.mirror = mirror->record;
    SayServer(place, MirrorAck{.number = mirror->record.number});
  } else if (std::holds_alternative<Promise>(message)) {
    SayServer(place, Promised{.map = server.map,
                              .standing = {.number = server.heartbeat, .map_version = server.map.version},
                              .sync = {},
                              .tables = server.tables,
                              .mirror = server.mirror});
  } else if (const auto* install = std::get_if<InstallTable>(&message)) {
    OnInstall(server, *install);
    SayServer(place, TableInstalled{.table = install->table, .status = OkStatus()});
  } else if (const auto* mark = std::get_if<Mark>(&message)) {
    OnMark(place, *mark);
  } else if (std::holds_alternative<Finished>(message)) {
    server.finished = true;
    if (!finished_) {
      const bool named = !Shards([&](const Shard& shard) {
        return shard.home != server.node && shard.backup != server.node && shard.next_backup != server.node;
      });
      if (named) Violation("a server was released while shards lie on it");
      Break({true, place}, seconds(0));
      server.alive = false;
    }
  } else if (std::holds_alternative<SessionLost>(message) || std::holds_alternative<JoinRefused>(message)) {
    any_failure_ = true;
    KillServer(place);
  }
}

// OneTable: an id means the same table at every server for ever.
void Simulation::OnInstall(Server& server, const InstallTable& install) {
  for (const InstallTable& table : server.tables) {
    if (table.table != install.table) continue;
    if (!(table == install)) Violation("OneTable: two tables with one number");
    return;
  }
  server.tables.push_back(install);
}

void Simulation::AdoptMap(size_t place, const ShardMap& map) {
  Server& server = servers_[place];
  if (map.version <= server.map.version || !map.Contains(server.node)) return;
  uint32_t changed = 0;
  bool joins = false;
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const bool was_home = !server.map.formed() || server.map.shards[i].home == server.node;
    changed += map.shards[i].home == server.node && (!was_home || map.recovered_at != server.map.recovered_at) ? 1 : 0;
    joins = joins || map.shards[i].next_backup != NodeId();
  }
  if (!server.map.formed()) changed = 0;
  server.map = map;
  const uint64_t change = ++server.map_change;
  server.not_ready += changed;
  server.rows_to_come += changed;
  if (server.not_ready > 0) {
    After(FromMilliseconds(random_.Uniform() * 50), [this, place] {
      servers_[place].not_ready = 0;
      if (servers_[place].alive) Report(place);
      After(FromMilliseconds(random_.Uniform() * 100), [this, place] {
        servers_[place].rows_to_come = 0;
        if (servers_[place].alive) Report(place);
      });
    });
  }
  if (joins) {
    After(FromMilliseconds(random_.Uniform() * 100), [this, place, change] {
      Server& late = servers_[place];
      if (!late.alive || late.map_change != change) return;
      for (const Shard& shard : late.map.shards) {
        if (shard.next_backup != NodeId()) late.joins_done.insert(shard.join_id);
      }
      Report(place);
    });
  }
  Report(place);
}

void Simulation::KillServer(size_t place) {
  Server& server = servers_[place];
  if (!server.alive) return;
  Trace("server " + std::to_string(server.index) + " dies");
  any_server_died_ = true;
  server.alive = false;
  Break({true, place}, seconds(0));
  const uint32_t index = server.index;
  const NodeId node = server.node;
  for (size_t office = 0; office < offices_.size(); ++office) {
    if (offices_[office].host != place || !offices_[office].alive) continue;
    EndOffice(office);
    if (office + 1 < offices_.size()) continue;
    appointing_ = true;
    After(FromMilliseconds(random_.Uniform() * 1500), [this, index] { Appoint({{Role::kServer, index}}, UINT32_MAX); });
  }
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (workers_[worker]->alive) StepWorker(worker, PeerDisconnected{.peer = node});
  }
  if (random_.Chance(0.5)) {  // the platform notices
    After(FromMilliseconds(random_.Uniform() * 500), [this, index] { Order(NodeGone{Role::kServer, index}); });
  }
  After(FromMilliseconds(random_.Uniform() * 4000), [this, index] {
    if (!finished_ && index < servers_wanted_) StartServer(index);
  });
}

// ------------------------------------------------------------------------------------------------------------ workers

size_t Simulation::StartWorker(uint32_t index) {
  auto worker = std::make_unique<Worker>();
  worker->index = index;
  worker->slow = random_.Chance(0.3);
  worker->office = offices_.size() - 1;
  worker->core = std::make_unique<WorkerCore>(WorkerOptions{.job_uid = kJob,
                                                            .incarnation = 100'000 + workers_.size(),
                                                            .index = index,
                                                            .reissue_after = milliseconds(300),
                                                            .reissue_after_max = seconds(1),
                                                            .heartbeat_interval = milliseconds(200),
                                                            .mutations = mutations_});
  workers_.push_back(std::move(worker));
  const size_t place = workers_.size() - 1;
  Ask(place, Worker::At::kJoin);
  After(Delay(), [this, place] { Connect({false, place}); });
  return place;
}

void Simulation::StepWorker(size_t place, WorkerInput input) {
  Worker& worker = *workers_[place];
  if (!worker.alive) return;
  WorkerOutputs out;
  worker.core->Step(std::move(input), now_, out);
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
    After(Delay(), [this, place, to, account, ack = std::move(ack)]() mutable {
      const auto server = std::ranges::find(servers_, to, &Server::node);
      if (server == servers_.end() || !server->alive || !server->lease.Valid(now_)) return;
      server->applied.insert(account);
      After(Delay(), [this, place, to, ack = std::move(ack)]() mutable {
        StepWorker(place, Received{.from = to, .message = std::move(ack)});
      });
    });
  }
  for (const Member& member : out.connect) {
    const NodeId peer = member.node;
    After(Delay(), [this, place, peer] { ConnectPeer(place, peer, 100); });
  }
  if (out.lost) {
    Trace("worker " + std::to_string(place) + " lost: " + attune::ToString(*out.lost));
    any_failure_ = true;
    worker.lost = true;
    worker.has_lease = false;
    worker.alive = false;
    Break({false, place}, seconds(0));
    const uint32_t index = worker.index;
    After(seconds(1), [this, index] {
      if (!finished_) StartWorker(index);
    });
    return;
  }
  for (const Completion& completion : out.completions) Completed(place, completion);
  const MonotonicTime wake = worker.core->WakeAt();
  if (wake != kNever && (!worker.wake || wake < *worker.wake)) {
    worker.wake = wake;
    At(wake, [this, place, wake] {
      if (workers_[place]->wake != wake) return;
      workers_[place]->wake.reset();
      StepWorker(place, Timer{});
    });
  }
}

// A server that has not heard its own id yet does not answer.
void Simulation::ConnectPeer(size_t place, NodeId peer, int tries) {
  const auto server = std::ranges::find(servers_, peer, &Server::node);
  if (server != servers_.end()) {
    if (server->alive) StepWorker(place, PeerConnected{.peer = peer});
  } else if (tries > 0) {
    After(milliseconds(20), [this, place, peer, tries] { ConnectPeer(place, peer, tries - 1); });
  }
}

void Simulation::Ask(size_t place, Worker::At at) {
  Worker& worker = *workers_[place];
  worker.at = at;
  const MonotonicTime deadline = now_ + (at == Worker::At::kLease ? seconds(5) : kCallTimeout);
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
      return StepWorker(place, StepCall{.call = call, .deadline = deadline, .loss = 1, .samples = 1});
    case Worker::At::kLeave:
      return StepWorker(place, LeaveCall{.call = call, .deadline = deadline});
    case Worker::At::kWork:
    case Worker::At::kEnd:
      worker.calls.erase(call);
  }
}

void Simulation::Completed(size_t place, const Completion& completion) {
  Worker& worker = *workers_[place];
  const auto call = worker.calls.find(completion.call);
  if (call == worker.calls.end()) return;  // a push
  if (now_ > call->second) Violation("EveryCallEnds: a call ended after its deadline");
  worker.calls.erase(call);
  Digest(completion.call.value() * 7 + place);
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
      worker.lifted = std::max(worker.lifted, Slowest(&worker).value_or(0));
      worker.has_lease = true;
      worker.at = kWork;
      return Work(place);
    case kStep:
      BeganStep(place);
      worker.at = kWork;
      return Work(place);
    case kLeave:
      worker.left = true;
      worker.alive = false;
      worker.at = kEnd;
      Break({false, place}, seconds(0));
      if (Running() == 0) {
        const uint32_t index = worker.index;
        After(seconds(1), [this, index] {
          if (!finished_ && Running() == 0) StartWorker(index);
        });
      }
      return;
    case kWork:
    case kEnd:
      return;
  }
}

// The clock of the slowest other worker that has work.
std::optional<uint64_t> Simulation::Slowest(const Worker* but) const {
  std::optional<uint64_t> slowest;
  for (const auto& worker : workers_) {
    if (worker.get() == but || !worker->alive || !worker->has_lease) continue;
    // What it has finished, its pushes acknowledged: it may have ended a step whose pushes are open.
    uint64_t finished = ClockOf(*worker);
    if (worker->core->open_pushes() > 0 && !worker->core->gate().in_step()) finished -= std::min<uint64_t>(finished, 1);
    finished = std::max(finished, worker->lifted);
    slowest = slowest ? std::min(*slowest, finished) : finished;
  }
  return slowest;
}

void Simulation::BeganStep(size_t place) {
  const Worker& worker = *workers_[place];
  const StepGate& gate = worker.core->gate();
  const uint64_t step = gate.clock();
  const SyncMode mode = gate.ModeAt(step);
  ++result_.steps;
  const auto [it, is_new] = mode_of_step_.try_emplace(step, Begun{mode, place});
  if (!workers_[it->second.worker]->alive) it->second = {mode, place};
  if (it->second.mode != mode) {
    Violation("CommonStep: worker " + std::to_string(worker.index) + " begins step " + std::to_string(step) + " as " +
              ToString(mode) + ", another one as " + ToString(it->second.mode));
  }
  const std::optional<uint64_t> slowest = Slowest(&worker);
  if (slowest && *slowest < mode.FloorNeeded(step)) {
    Violation("StepBound: worker " + std::to_string(worker.index) + " begins step " + std::to_string(step) + " (" +
              ToString(mode) + ") while another one has finished " + std::to_string(*slowest));
  }
}

void Simulation::Work(size_t place) {
  Worker& worker = *workers_[place];
  if (!worker.alive || worker.at != Worker::At::kWork) return;
  if (worker.position == worker.lease.end || worker.asked_to_leave) {
    StepWorker(place, EndLease{.lease = worker.lease.lease, .position = worker.position});
    worker.has_lease = false;
    return Ask(place, worker.asked_to_leave ? Worker::At::kLeave : Worker::At::kLease);
  }
  ++processed_[{worker.lease.epoch, worker.position}];
  push_of_sequence_[{place, ++worker.pushes}] = pushes_.size();
  pushes_.push_back({place, worker.lease.epoch, worker.position, worker.core->gate().clock()});
  ++worker.position;
  std::vector<Key> keys(1 + random_.Below(4));
  for (Key& key : keys) key = random_.Below(100);
  std::vector<float> gradients(keys.size(), 1.0F);
  StepWorker(place, PushCall{.call = CallId(1'000'000 + worker.next_call++),
                             .deadline = now_ + kCallTimeout,
                             .table = worker.table,
                             .keys = std::move(keys),
                             .gradients = std::move(gradients)});
  StepWorker(place, AdvanceLease{.lease = worker.lease.lease, .position = worker.position});
  const double computing = random_.Uniform() * 4 * (worker.slow ? parameters_.slow_worker_factor : 1);
  After(FromMilliseconds(computing), [this, place] {
    if (workers_[place]->alive && workers_[place]->at == Worker::At::kWork) Ask(place, Worker::At::kStep);
  });
}

void Simulation::KillWorker(size_t place) {
  Worker& worker = *workers_[place];
  if (!worker.alive) return;
  Trace("worker " + std::to_string(place) + " dies");
  any_failure_ = true;
  worker.alive = false;
  worker.lost = true;
  worker.has_lease = false;
  Break({false, place}, seconds(0));
  const uint32_t index = worker.index;
  After(FromMilliseconds(random_.Uniform() * 3000), [this, index] {
    if (!finished_) StartWorker(index);
  });
}

size_t Simulation::Running() const {
  return static_cast<size_t>(std::ranges::count_if(workers_, [](const auto& worker) { return worker->alive; }));
}

// ------------------------------------------------------------------------------------------------------- run and check

void Simulation::Order(Command command) {
  if (finished_) return;
  if (!Settled()) {  // the operator waits for a word of the new one
    if (std::holds_alternative<NodeGone>(command) && offices_.back().alive) {
      const CommandId id(next_command_++);
      commands_[id] = {now_ + kCallTimeout, offices_.size() - 1};
      return StepCoordinator(offices_.size() - 1, FromOperator{.id = id, .command = command, .timeout = kCallTimeout});
    }
    return After(milliseconds(100), [this, command] { Order(command); });
  }
  const CommandId id(next_command_++);
  commands_[id] = {now_ + kCallTimeout, chief_};
  if (std::holds_alternative<SetServers>(command)) scalings_.insert(id);
  StepCoordinator(chief_, FromOperator{.id = id, .command = std::move(command), .timeout = kCallTimeout});
}

// As the operator does it: the coordinator moves first when its server is to leave.
void Simulation::Scale() {
  if (finished_) return;
  if (!Settled() || !Chief().map().formed()) return After(milliseconds(100), [this] { Scale(); });
  const size_t host = offices_[chief_].host;
  if (servers_[host].index >= servers_wanted_) {
    ++result_.handovers;
    Appoint({}, servers_wanted_);
    return After(milliseconds(100), [this] { Scale(); });
  }
  Order(SetServers{servers_wanted_});
}

void Simulation::ScheduleChanges() {
  const auto some_time = [&] { return FromMilliseconds(random_.Uniform() * 3000); };
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  for (uint32_t i = 0; i < parameters_.switches; ++i) {
    After(some_time(), [this] {
      ++result_.switches;
      Order(SetSynchronization{*ParseSyncMode(kModes[random_.Below(4)])});
    });
  }
  const auto any_worker = [this](auto action) {
    std::vector<size_t> places;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]->alive && workers_[i]->at != Worker::At::kJoin) places.push_back(i);
    }
    if (!places.empty()) action(places[random_.Below(places.size())]);
  };
  for (uint32_t i = 0; i < parameters_.worker_deaths; ++i) {
    After(some_time(), [this, any_worker] { any_worker([&](size_t place) { KillWorker(place); }); });
  }
  for (uint32_t i = 0; i < parameters_.leaves; ++i) {
    After(some_time(), [this, any_worker] {
      if (Running() > 1) any_worker([&](size_t place) { workers_[place]->asked_to_leave = true; });
    });
  }
  for (uint32_t i = 0; i < parameters_.worker_joins; ++i) {
    After(some_time(), [this] {
      if (!finished_) StartWorker(next_worker_index_++);
    });
  }
  for (uint32_t i = 0; i < parameters_.server_deaths; ++i) {
    After(some_time(), [this] {
      std::vector<size_t> places;
      for (size_t place = 0; place < servers_.size(); ++place) {
        if (servers_[place].alive && servers_[place].node != NodeId()) places.push_back(place);
      }
      if (places.empty() || finished_ || !Settled()) return;
      const size_t place = places[random_.Below(places.size())];
      // Both at once is the end of the job, and not of interest here.
      if (place == offices_[chief_].host && !CopyIsSafe(&servers_[place])) return;
      any_failure_ = true;
      KillServer(place);
    });
  }
  for (uint32_t i = 0; i < parameters_.coordinator_deaths; ++i) {
    After(some_time(), [this] { CrashCoordinator(random_.Chance(0.7)); });
  }
  for (uint32_t i = 0; i < parameters_.handovers; ++i) {
    After(some_time(), [this] {
      if (finished_ || !Settled() || !Chief().map().formed()) return;
      ++result_.handovers;
      Appoint({}, UINT32_MAX);
    });
  }
  for (uint32_t i = 0; i < parameters_.checkpoints; ++i) {
    After(some_time(), [this] {
      if (Settled() && Chief().map().formed()) Order(TakeCheckpoint{"checkpoints"});
    });
  }
  for (uint32_t i = 0; i < parameters_.scalings; ++i) {
    After(some_time(), [this] {
      if (finished_ || !Settled() || !Chief().map().formed()) return;
      for (const auto& [id, asked] : commands_) {
        if (asked.until > now_) return;  // one scaling at a time: the checker knows what is wanted
      }
      servers_wanted_ = static_cast<uint32_t>(1 + random_.Below(4));
      Scale();
      for (uint32_t index = 0; index < servers_wanted_; ++index) {
        const bool here =
            std::ranges::any_of(servers_, [&](const Server& server) { return server.alive && server.index == index; });
        if (!here)
          After(FromMilliseconds(random_.Uniform() * 500), [this, index] {
            const bool there = std::ranges::any_of(
                servers_, [&](const Server& server) { return server.alive && server.index == index; });
            if (!there && !finished_ && index < servers_wanted_) StartServer(index);
          });
      }
    });
  }
}

Result Simulation::Run() {
  servers_wanted_ = parameters_.servers;
  StartOffice({.job_uid = kJob,
               .servers = parameters_.servers,
               .shards = parameters_.shards,
               .goal = {.epochs = parameters_.epochs},
               .items = parameters_.items,
               .lease_items = parameters_.lease_items,
               .synchronization = *ParseSyncMode(parameters_.mode),
               .backups = parameters_.backups,
               .liveness_lease = seconds(2),
               .shard_changes_max = 4,
               .host_index = 0,
               .mutations = mutations_},
              0);
  for (uint32_t i = 0; i < parameters_.servers; ++i) StartServer(i);
  for (uint32_t i = 0; i < parameters_.workers; ++i) StartWorker(next_worker_index_++);
  ScheduleChanges();
  constexpr Duration kLongest = seconds(300);
  while (!events_.empty() && result_.violations.empty() && now_ - MonotonicTime{} < kLongest) {
    if (finished_ && commands_.empty()) break;
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.at;
    event.run();
  }
  CheckEnd();
  return result_;
}

void Simulation::CheckEnd() {
  const JobProgress progress = Chief().progress();
  result_.reprocessed = progress.reprocessed_items;
  if (!result_.violations.empty()) return;
  if (!finished_) {
    return Violation("EveryCallEnds: the job did not finish: " + std::to_string(progress.items_done) + " of " +
                     std::to_string(progress.items_total) + " items done, " + std::to_string(Running()) +
                     " workers, floor held by \"" + progress.floor_holder + "\"");
  }
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
}

}  // namespace

Parameters Parameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0xc00d));
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  Parameters p;
  p.seed = seed;
  p.servers = static_cast<uint32_t>(1 + random.Below(3));
  p.workers = static_cast<uint32_t>(1 + random.Below(4));
  p.shards = static_cast<uint32_t>(p.servers + random.Below(24));
  p.backups = static_cast<uint32_t>(random.Below(2));
  p.items = 40 + random.Below(400);
  p.epochs = 1 + random.Below(3);
  p.lease_items = 1 + random.Below(30);
  p.mode = kModes[random.Below(4)];
  p.delay_milliseconds_max = random.Chance(0.2) ? 50 : 0.2 + random.Uniform() * 5;
  p.slow_worker_factor = random.Chance(0.5) ? 1 : 20;
  p.switches = static_cast<uint32_t>(random.Below(4));
  p.checkpoints = static_cast<uint32_t>(random.Below(4));
  if (random.Chance(0.2)) return p;
  p.break_chance = random.Chance(0.5) ? random.Uniform() * 0.02 : 0;
  p.worker_deaths = static_cast<uint32_t>(random.Below(3));
  p.server_deaths = static_cast<uint32_t>(random.Below(3));
  p.worker_joins = static_cast<uint32_t>(random.Below(3));
  p.leaves = static_cast<uint32_t>(random.Below(3));
  p.scalings = static_cast<uint32_t>(random.Below(3));
  if (p.servers == 1 && p.scalings == 0) return p;
  p.coordinator_deaths = static_cast<uint32_t>(random.Below(3));
  p.handovers = static_cast<uint32_t>(random.Below(2));
  return p;
}

std::string ToString(const Parameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " backups=" << p.backups << " items=" << p.items << " epochs=" << p.epochs << " lease_items=" << p.lease_items
       << " mode=" << p.mode << " delay_milliseconds_max=" << p.delay_milliseconds_max
       << " break_chance=" << p.break_chance << " slow_worker_factor=" << p.slow_worker_factor
       << " switches=" << p.switches << " worker_deaths=" << p.worker_deaths << " server_deaths=" << p.server_deaths
       << " worker_joins=" << p.worker_joins << " leaves=" << p.leaves << " scalings=" << p.scalings
       << " drains=" << p.drains << " checkpoints=" << p.checkpoints << " coordinator_deaths=" << p.coordinator_deaths
       << " handovers=" << p.handovers;
  return text.str();
}

Result Simulate(const Parameters& parameters, const Mutations& mutations, bool trace) {
  return Simulation(parameters, mutations, trace).Run();
}

}  // namespace attune::ps::coordinator_simulation
