// The world of this simulation: a real CoordinatorCore, ServerCores and WorkerCores, each with the program a user might
// write. The parts of the class are in files of their own: connections (the network between the processes), processes
// (steps of the cores), leaders (one coordinator after the other), program (of a worker), closing (what it does at the
// end), script (what is done to the job), checkers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/server/server_core.h"
#include "ps/core/worker/worker_core.h"
#include "tests/simulation/counting_store.h"
#include "tests/simulation/job/parameters.h"
#include "tests/simulation/network.h"
#include "tests/simulation/step_checker.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

constexpr char kJob[] = "job-1";
constexpr uint32_t kColumns = 8;             // of the rows; each worker process adds to one of them
constexpr char kClosingName[] = "evaluate";  // of the data set for the closing work
constexpr uint32_t kTables = 2;              // "rows", by chance, and "items", one row for each item of the data

// What checkers know of one table from outside, by key and column.
struct Account {
  std::map<std::pair<Key, uint32_t>, double> issued;  // all pushes ever issued
  std::map<std::pair<Key, uint32_t>, double> sure;    // at least this much must be there at the end
  // Of what is sure: what each step has added, and how much it was at which time.
  std::map<std::pair<Key, uint32_t>, std::map<uint64_t, double>> by_step;
  std::map<std::pair<Key, uint32_t>, std::map<MonotonicTime, double>> by_time;
};

class JobSimulation : public World {
 public:
  JobSimulation(const JobParameters& parameters, const Mutations& mutations, bool keep_history)
      : World(parameters.seed, keep_history),
        parameters_(parameters),
        mutations_(mutations),
        network_(*this,
                 {.delay_max = parameters.delay_milliseconds_max,
                  .loss = parameters.loss_chance,
                  .duplicate = parameters.duplicate_chance,
                  .break_chance = parameters.break_chance,
                  .late_copy = parameters.late_copy_chance},
                 [this](Place a, Place b) { Break(a, b, FromMilliseconds(random().Uniform() * 400)); }) {}

  virtual ~JobSimulation() = default;

  Outcome Simulate();

 protected:
  enum class Fate { kRunning, kDead, kLost, kLeft };

  struct Server {
    std::unique_ptr<ServerCore> core;
    uint32_t index = 0;
    std::string machine;
    Fate fate = Fate::kRunning;
    bool may_be_given_up = false;  // a link of it is cut
    bool taken_for_dead = false;   // others continue without it; it may not know yet
    bool released = false;         // drained, whether it has heard so or not
    CutId writing, called_off;     // the part that is not wanted any more
    std::optional<MonotonicTime> wake;
  };
  struct PullCheck {
    TableId table;
    std::vector<Key> keys;
    std::vector<float> rows;
    std::map<Key, double> own_before;  // own column
    std::map<std::pair<Key, uint32_t>, double> seen_before;
    std::map<std::pair<Key, uint32_t>, double> needed_by_pace;  // what steps below the floor that it needs have added
    std::map<std::pair<Key, uint32_t>, double> needed_by_age;   // what was there as long ago as a row may be old
  };
  struct PushCheck {
    TableId table;
    uint64_t step = 0;
    std::map<Key, double> added;
    bool is_to_copies = false;  // to some: done for others once the worker's pushes up to then are settled
  };
  struct CallCheck {
    MonotonicTime deadline;
    const char* what;
  };
  struct Worker {
    std::unique_ptr<WorkerCore> core;
    uint32_t process = 0;  // its place in workers_
    uint32_t index = 0;
    Fate fate = Fate::kRunning;
    bool asked_to_leave = false;
    std::optional<MonotonicTime> wake;
    uint64_t next_call = 1;
    std::map<CallId, CallCheck> calls;
    std::map<CallId, PullCheck> pulls;
    std::map<CallId, PushCheck> pushes;
    std::set<CallId> localizes;
    std::deque<std::pair<SequenceNumber, PushCheck>> unsettled;    // done for the program, and not for others yet
    std::map<std::pair<Key, uint32_t>, double> seen[kTables + 1];  // by table: highest value seen
    std::map<Key, double> own[kTables + 1];                        // own pushes issued
    std::map<Key, double> counted[kTables + 1];                    // of these, in Account::sure
    // The program's place.
    enum class At {
      kJoin,
      kRows,
      kItems,
      kData,
      kLease,
      kWork,
      kStep,
      kFlush,
      kClosingData,
      kClosingLease,
      kClosingWork,
      kSave,
      kLeave,
      kEnd
    } at = At::kJoin;
    TableId rows_table, items_table;
    DataSetId data_set;
    LeaseResult lease;
    DataSetId closing_set;
    LeaseResult closing_lease;
    bool gave_up = false;  // its closing work; it leaves in order and ends with an error
    uint64_t position = 0, batch_begin = 0;
    bool waiting_for_pull = false;
    std::map<uint64_t, std::vector<Key>> announced;  // what is pulled in a step, by Session::clock()
    std::map<Key, uint64_t> announced_until;         // the end of its last use
    uint32_t column() const { return process % kColumns; }
  };

  // What one push was for.
  struct PushRecord {
    size_t worker;
    uint64_t epoch, item;  // the first of its batch
    uint32_t table;
    std::map<Key, double> added;
  };
  using RowsOfTables = std::map<std::pair<uint32_t, Key>, CountingStore::Row>;
  struct Checkpoint {
    CutRecord record;
    RowsOfTables rows;
    uint32_t life = 0;  // of the job, in which it was written
  };

  // --- connections
  // Each coordinator has a place of its own: what one has sent does not wait for what another has.
  static constexpr Place kFirstLeadersPlace = 1'000'000;
  static Place ServerPlace(size_t server) { return static_cast<Place>(2 * server + 1); }
  static Place WorkerPlace(size_t worker) { return static_cast<Place>(2 * worker + 2); }
  static bool IsLeader(Place place) { return place >= kFirstLeadersPlace; }
  static bool IsServer(Place place) { return !IsLeader(place) && place % 2 == 1; }
  static bool IsWorker(Place place) { return !IsLeader(place) && place % 2 == 0; }
  static size_t IndexOf(Place place) { return (place - 1) / 2; }
  // Who dials comes first: workers to servers, all to a coordinator; of two of a kind the one that was started first.
  using Wire = std::pair<Place, Place>;
  static Wire WireBetween(Place a, Place b);
  struct Connection {
    bool up = false;
    ConnectionId id;          // as the coordinator calls it
    NodeId dialer, listener;  // as they have introduced themselves: one may give its number up
  };
  void Open(Wire wire);
  void OpenTo(Place from, NodeId node);
  void OpenToLeader(Place from);
  void OpenAgain(Wire wire);
  static constexpr Duration kForGood = Duration::max();
  void Break(Place a, Place b, Duration away);
  void Disconnect(Place place, NodeId peer);
  void BreakAll(Place place, Duration away);
  void BreakFromLeaders(Place place, Duration away);
  void Carry(Place from, Place to, Message message, LinkHeader header = {});
  void Deliver(Place from, Place to, NodeId sender, ConnectionId connection, const Message& message, LinkHeader header);
  bool Runs(Place place) const;
  NodeId NodeAt(Place place) const;
  virtual std::optional<Place> PlaceOf(Place from, NodeId node) const;
  std::string Name(Place place) const;

  // --- leaders
  struct Leader {
    std::unique_ptr<CoordinatorCore> core;
    uint32_t term = 1;
    Place place = 0;
    size_t host = 0;              // the server it runs in
    bool taking_over = true;      // it does not lead the job yet
    uint64_t written = 0;         // number of the newest checkpoint of its own
    bool alive = true;            // after a handover two are, until the old one's server has heard of the new one
    MapVersion looked_at;         // of its maps the last one that NoteReleased has seen
    std::vector<NodeId> leaving;  // servers that map names as such
    std::optional<MonotonicTime> wake;
  };
  virtual CoordinatorOptions NextOptions(uint32_t term) const;
  CoordinatorOptions FirstOptions() const;
  void StartLeader(CoordinatorOptions options, size_t host);
  void EndLeader(Leader& leader);
  void Appoint(std::optional<NodeGone> gone, uint32_t index_below);
  void ConfirmWhenWanted();
  void HandOver(uint32_t index_below);
  bool Leads() const { return leader_ != nullptr && !leader_->taking_over; }
  bool MayMove() const { return parameters_.coordinator_deaths + parameters_.handovers > 0; }
  bool IsHost(size_t server) const { return leader_ != nullptr && MayMove() && leader_->host == server; }
  bool CopyIsSafe(size_t but) const;
  Leader* LeaderOf(Place place) const;
  Leader& LeaderOfTerm(uint32_t term) const;  // of this life; the last one, should there be several
  void Obeys(Place place, uint32_t term);
  void Hears(Place place, uint32_t term);

  // --- processes
  void StepCoordinator(Leader& leader, CoordinatorInput input);
  void StepServer(size_t server, ServerInput input);
  void StepWorker(size_t worker, WorkerInput input);
  void Step(Place place, NodeId peer, bool connected);
  void NoteReleased(Leader& leader);
  void OnCoordinatorsOrders(Leader& leader, CoordinatorOutputs& out);
  void WriteSnapshot(size_t server, const SnapshotOrder& order);
  void Commit(Leader& leader, const CheckpointCommit& order);
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> MakeStore(bool exclusive);
  void Load(size_t server, LoadOrder order);
  std::unique_ptr<TableStore> RowsOfCheckpoint(const TableSpec& spec, const std::vector<ShardId>& shards,
                                               uint32_t shard_count, bool exclusive);
  uint64_t RowBytesOfWorker() const;
  static uint32_t PodOfServer(size_t server) { return 1 + static_cast<uint32_t>(server); }
  size_t StartServer(uint32_t index);
  size_t StartWorker(uint32_t index);
  void EndServer(size_t server, Fate fate);
  void EndWorker(Worker& worker, Fate fate);
  size_t RunningWorkers() const;

  // --- the platform's part, where another one plays it
  virtual void OnServerEnded(size_t /*server*/) {}
  virtual void OnWorkerEnded(const Worker& worker, bool failed);
  // The coordinator's word that the job is over; false: the server ends.
  virtual bool StaysWhenFinished(size_t /*server*/) { return finished_; }
  // Whether a server may hear that it is no member any more.
  virtual bool MayBeLost(size_t server);
  // The job has been asked to give its machines back, and continues from a checkpoint: what becomes of this life does
  // not matter any more.
  virtual bool IsReleased() { return false; }
  virtual bool OnCommandResult(const CommandResult& /*result*/) { return false; }  // false: the script has asked for it
  virtual uint64_t IncarnationOfWorker(size_t worker) const { return 1000 + worker; }

  // --- a worker's program
  virtual double ComputeMilliseconds() { return random().Uniform() * 3; }  // of a batch
  virtual Duration CallTimeout() const { return std::chrono::seconds(parameters_.IsHarsh() ? 600 : 60); }
  // A call that has ended badly, by right: the program ends.
  virtual bool EndsProgram(const Worker& worker, const attune::Status& status);
  CallId NewCall(Worker& worker, const char* what, MonotonicTime deadline);
  MonotonicTime CallDeadline(bool may_be_short);
  void Ask(size_t worker, Worker::At at);
  void Completed(size_t worker, const Completion& completion);
  void GoOn(size_t worker, const Completion& completion);
  void WorkOnBatch(size_t worker);
  void Push(size_t worker, TableId table, const std::vector<Key>& keys);
  void Pull(size_t worker, TableId table, const std::vector<Key>& keys);
  std::vector<Key> DrawKeys();
  void Announce(size_t worker);
  void NoteWhatMustBeSeen(const Worker& worker, PullCheck& pull);
  void Localize(size_t worker);
  void Done(Worker& worker, const PushCheck& push);
  void NoteSettled(Worker& worker);
  void Acknowledged(Worker& worker, const PushCheck& push);
  void EndStepSoon(size_t worker);
  void LeaveSoon(size_t worker);
  void EndClosingLease(size_t worker);

  // --- receiving: of answers to pulls, straight into the place that the core names, while other things happen
  struct Receiving {
    size_t worker;
    Wire wire;
    NodeId from;
    PullReply reply;
    std::span<float> place = {};  // empty: in memory of its own
    size_t received = 0;          // values that have come
  };
  bool BeginReceiving(Place from, Place to, const PullReply& reply);
  void EndReceiving(uint64_t number);
  void BreakReceiving(Wire wire);
  void Revoke(std::span<const float> rows);
  void GiveBack(std::vector<float> rows);

  // --- script
  void ScheduleChanges();
  void ChangeWorker(Fate how);
  void KillWorker(size_t worker);
  void KillServer(bool host);
  void WatchPlannedChanges(const Leader& leader);
  bool AnyDeadServerIsIn(const ShardMap& map) const;
  bool MayLoseMachine() const;
  void LoseMachine();
  void LoseServers(const std::vector<size_t>& victims);
  void CutLink();
  std::vector<size_t> ServersThatServe() const;
  bool AllRowsHaveTheirCopies() const;
  void Scale();
  void OrderServers();
  void StartMissingServer(uint32_t index);
  void Part();
  void CrashEverything();
  void BeginLife();
  void ContinueFromCheckpoint();
  void StartJob();
  void Order(Command command);
  const ShardMap* NewestMap() const;

  // --- checkers
  void CheckPull(Worker& worker, const PullCheck& pull);
  void CheckOwners();
  void CheckManifest(const CheckpointCommit& order);
  void CheckCut(const Checkpoint& checkpoint, const ShardMap& map);
  bool Failed(size_t worker, const ShardMap& map) const;
  void CheckEnd();
  void CheckSums();
  void CheckReturnedRows();
  void CheckClosingIsDone();
  void CheckClosingIsDoneOnce();
  void ResumeClosing(const CutRecord& record);
  using RowSums = std::map<std::pair<Key, uint32_t>, double>;
  void SumRows(RowSums (&sums)[kTables + 1]) const;

  JobParameters parameters_;
  Mutations mutations_;
  Network network_;
  std::vector<std::unique_ptr<Leader>> leaders_;  // of all lives; alarms stay where they are
  size_t first_leader_ = 0;                       // of this life
  std::optional<Voters> confirmed_;               // as the operator has recorded
  Leader* leader_ = nullptr;                      // the last appointed; null: none since that one died
  const Leader* finisher_ = nullptr;              // who said that the job is over
  std::map<Place, uint32_t> heard_;               // of coordinators, by their highest term
  struct {
    uint64_t number = 0;
    size_t server = 0;
  } copy_;  // of the coordinator's state: the newest that was acknowledged
  bool finished_ = false;
  uint64_t checkpoints_ = 0;  // numbers given
  std::map<std::string, RowsOfTables> files_;
  std::map<uint64_t, Checkpoint> taken_;  // by number
  std::optional<Checkpoint> checkpoint_;  // the newest, or the one that this life begins with
  bool resumed_ = false;
  uint32_t life_ = 0;        // of the job: how often everything has crashed
  size_t first_server_ = 0;  // of this life, in servers_: NodeIds are given again
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<Wire, Connection> connections_;
  std::map<ConnectionId, Wire> to_coordinator_;
  std::map<NodeId, Place> places_;
  uint64_t next_connection_ = 1, next_command_ = 1;
  uint32_t next_worker_index_ = 0;
  uint32_t servers_wanted_ = 1;
  struct Asked {
    MonotonicTime until;
    const Leader* leader;
  };
  std::map<CommandId, Asked> commands_;
  uint64_t deliveries_ = 0;
  std::map<uint64_t, Receiving> receiving_;
  uint64_t next_receiving_ = 0;
  std::vector<std::vector<float>> returned_;  // rows that are the program's again

  Account accounts_[kTables + 1];  // by TableId
  StepChecker steps_{*this};
  ItemChecker items_{*this};
  std::vector<PushRecord> pushes_;
  // By item of the closing work: the workers that have done it. One of a life before, as a checkpoint says: kBefore.
  static constexpr size_t kBefore = SIZE_MAX;
  std::map<uint64_t, std::vector<size_t>> closing_done_;
  uint32_t closing_failures_ = 0;
  std::map<std::pair<Key, uint32_t>, double> loaded_[kTables + 1];  // of the checkpoint the job has begun from
  // Of the map, while the coordinator was at rest last: set when no machine had a shard and its copy.
  std::optional<uint16_t> apart_at_rest_;
  bool amid_change_ = false;  // a home has moved beside its copy
  bool any_failure_ = false, any_server_died_ = false, any_owner_died_ = false;
};

}  // namespace attune::ps::simulation
