// The world of this simulation: real CoordinatorCores, real WorkerCores, servers that only answer. The parts of the
// class are in files of their own: streams, servers, workers, leaders (one coordinator after the other), stopped
// (processes that stand still, clocks), script (what is done to the job), checkers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/membership/support_given.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/worker/worker_core.h"
#include "tests/simulation/coordinator/parameters.h"
#include "tests/simulation/network.h"
#include "tests/simulation/step_checker.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

constexpr char kJob[] = "job-1";
constexpr Duration kCallTimeout = std::chrono::seconds(100);

class CoordinatorSimulation : public World {
 public:
  CoordinatorSimulation(const CoordinatorParameters& parameters, const Mutations& mutations, bool keep_history)
      : World(parameters.seed, keep_history),
        parameters_(parameters),
        mutations_(mutations),
        network_(*this, {.delay_max = parameters.delay_milliseconds_max, .break_chance = parameters.break_chance},
                 [this](Place, Place to) { Break(PartyAt(to), FromMilliseconds(random().Uniform() * 300)); }) {}

  Outcome Simulate();

 private:
  // To the coordinator.
  struct Stream {
    bool connected = false;
    ConnectionId connection;  // the last one
    size_t leader = 0;        // whom it joins
  };
  // A server as the coordinator sees it: it takes maps, takes its time with them, and acknowledges pushes.
  struct Server {
    uint32_t index = 0;
    uint64_t incarnation = 0;
    Stream stream;
    bool alive = true, finished = false, released = false;
    NodeId node;
    ShardMap map;
    uint64_t heartbeat = 0, report = 0, load_report = 0;
    uint32_t not_ready = 0;
    uint64_t rows_to_come = 0;
    std::set<MapVersion> joins_done;
    uint64_t map_change = 0;   // counts adoptions, so that late timers do nothing
    std::set<size_t> applied;  // pushes, by their place in pushes_
    CutId cut;                 // marked for it
    uint32_t term = 0;
    std::optional<CoordinatorRecord> mirror;
    std::vector<InstallTable> tables;
    LivenessLease lease;
    SupportGiven support;
    double clock_rate = 1;  // of its machine: of the coordinators in it too
  };
  struct Worker {
    std::unique_ptr<WorkerCore> core;
    uint32_t index = 0;
    Stream stream;
    bool alive = true, lost = false, asked_to_leave = false;
    std::optional<MonotonicTime> wake;
    uint64_t next_call = 1;
    std::map<CallId, MonotonicTime> calls;
    std::set<CallId> more_tables;  // calls that open tables beside the first
    enum class At { kJoin, kTable, kData, kLease, kWork, kStep, kLeave, kEnd } at = At::kJoin;
    TableId table;
    DataSetId data_set;
    LeaseResult lease;
    uint64_t position = 0, pushes = 0;
    bool slow = false;
    MonotonicTime leaves_at = kNever;  // it pushes nothing from then on
    std::optional<size_t> left_under;  // the coordinator that has answered so
  };
  // The last cut that a coordinator has marked.
  struct MarkedCut {
    CutId id;
    MonotonicTime at{};
    ShardMap members;         // as the coordinator knew them
    std::set<size_t> copied;  // pushes that are in its rows, by their place in pushes_
  };
  // One coordinator, in a server. One that has not heard of its successor still marks cuts for a while.
  struct Leader {
    std::unique_ptr<CoordinatorCore> core;
    uint32_t term = 1;
    size_t host = 0;
    bool alive = true, leads = true;
    std::optional<MonotonicTime> wake;
    MarkedCut cut;
  };
  // One item's push.
  struct PushAccount {
    size_t worker;
    uint64_t epoch, item, step;
  };
  // Streams to the coordinator. Messages of one stream keep their order.
  struct Party {
    bool is_server;
    size_t place;
    auto operator<=>(const Party&) const = default;
  };
  // Each coordinator has a place of its own: what one has sent does not wait for what another has.
  static Place LeaderPlace(size_t leader) { return static_cast<Place>(1'000'000 + leader); }
  static Party PartyAt(Place place) { return {.is_server = place % 2 == 1, .place = (place - 1) / 2}; }
  static Place PlaceOf(Party party) { return static_cast<Place>(2 * party.place + (party.is_server ? 1 : 2)); }
  Stream& StreamOf(Party party) {
    return party.is_server ? servers_[party.place].stream : workers_[party.place]->stream;
  }
  std::string Name(Party party) const;
  bool Alive(Party party) const { return party.is_server ? servers_[party.place].alive : workers_[party.place]->alive; }
  void Connect(Party party);
  void Break(Party party, Duration away);
  void Check(const Message& message);  // as a decoder does
  void ToCoordinator(Party party, Message message);
  void FromCoordinator(ConnectionId connection, Message message);
  void Arrive(Party party, uint32_t term, const Message& message);
  void StepCoordinator(size_t leader, CoordinatorInput input);
  void OnMapPublished(size_t leader);
  void CrashAtTable(const CoordinatorOutputs& out);
  MapVersion MapBefore(const ShardMap& map) const;

  void StartLeader(CoordinatorOptions options, size_t host);
  void EndLeader(size_t leader);
  void Appoint(std::vector<NodeGone> gone, uint32_t index_below);
  void ConfirmWhenWanted();
  void Confirm(size_t leader, const Voters& voters);
  void BeginAnew();
  void Redirect(Party party, size_t leader);
  void CrashCoordinator(bool really);
  void KillWhenSafe(size_t place);
  bool CopyIsSafe(size_t but) const;
  // One coordinator leads the job, and no process says that it is dead.
  bool Settled() const { return chief_ + 1 == leaders_.size() && leaders_[chief_]->alive && !appointing_; }
  CoordinatorCore& Chief() { return *leaders_[chief_]->core; }
  const CoordinatorCore& Chief() const { return *leaders_[chief_]->core; }
  void OnMark(size_t place, const Mark& mark);
  void OnWriteSnapshot(size_t place, CutId cut);
  void CheckCut(const CutRecord& record, size_t leader);
  void CheckBest(const CheckpointCommit& commit, size_t leader);
  void ReportHeldOut(size_t place);
  void CheckEven();

  // stopped.cpp
  void StopProcess();
  void Resume(Party party, Duration stopped);
  void FollowTheSilent(size_t leader);
  bool IsStopped(Party party) const { return network_.IsPaused(PlaceOf(party)); }
  // What a server does by itself, when it runs.
  void AfterAt(size_t place, Duration delay, std::function<void()> run);
  MonotonicTime ClockOf(size_t place) const;
  MonotonicTime WhenClockShows(size_t place, MonotonicTime time) const;
  void CheckOneLeader();

  size_t StartServer(uint32_t index);
  void StartMissingServer(uint32_t index);
  bool HasServer(uint32_t index) const;
  std::optional<size_t> LiveServer(NodeId node) const;
  void SayServer(size_t place, Message message) { ToCoordinator({true, place}, std::move(message)); }
  void OnServer(size_t place, const Message& message);
  void AdoptMap(size_t place, const ShardMap& map);
  void OnInstall(Server& server, const InstallTable& install);
  void Report(size_t place);
  void ReportLoad(size_t place);
  RebalanceRules Rules() const;
  std::string MachineOf(size_t place) const;
  void SayJoin(size_t place);
  void ServerHeartbeat(size_t place);
  void SayHeartbeat(size_t place);
  void KillServer(size_t place);

  size_t StartWorker(uint32_t index);
  void StepWorker(size_t place, WorkerInput input);
  void OnPush(size_t server, size_t worker, size_t account, PushAck ack);
  void ConnectPeer(size_t place, NodeId peer);
  void Ask(size_t place, Worker::At at);
  void Completed(size_t place, const Completion& completion);
  void Work(size_t place);
  void OpenAnotherTable(size_t place);
  void KillWorker(size_t place);
  size_t Running() const;

  void Order(Command command);
  void Scale();
  void ScheduleChanges();
  void CheckEnd();
  bool Shards(const std::function<bool(const Shard&)>& all) const {
    return std::ranges::all_of(Chief().map().shards, all);
  }

  CoordinatorParameters parameters_;
  Mutations mutations_;
  Network network_;
  CoordinatorOptions first_options_;
  std::vector<std::unique_ptr<Leader>> leaders_;
  size_t chief_ = 0;                 // the last one that leads the job
  bool appointing_ = false;          // its server is said to be dead
  std::optional<Voters> confirmed_;  // as the operator has recorded
  bool finished_ = false;
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  struct Connection {
    Party party;
    size_t leader;
  };
  std::map<ConnectionId, Connection> connections_;
  std::set<ConnectionId> left_;  // for another coordinator: what was in progress on them arrives late
  uint64_t next_connection_ = 1, next_command_ = 1;
  uint32_t next_pod_ = 1;
  uint32_t next_worker_index_ = 0;
  struct Asked {
    MonotonicTime until;
    size_t leader;
  };
  std::map<CommandId, Asked> commands_;
  std::map<CommandId, uint32_t> scalings_;  // to so many servers
  std::map<CommandId, NodeGone> words_;     // that processes have ended
  uint32_t servers_wanted_ = 1;
  std::map<MapVersion, ShardMap> maps_;
  MapVersion last_map_;
  StepChecker steps_{*this};
  ItemChecker items_{*this};
  std::vector<PushAccount> pushes_;
  std::map<std::pair<size_t, uint64_t>, size_t> push_of_sequence_;  // by worker and its n-th push
  std::set<size_t> moved_;                                          // applied by servers that were drained since
  bool crashed_at_table_ = false;
  bool any_stopped_ = false;  // now
  bool any_server_died_ = false;
  static constexpr char kHeldOut[] = "held_out";
  std::set<double> reported_;  // values of it
  bool any_failure_ = false;
};
}  // namespace attune::ps::simulation
