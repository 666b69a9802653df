// A server's side of the protocol: applies each push once, answers pulls that contain the asker's own pushes, installs
// and saves tables when the coordinator says so. No sockets, threads or clock; rows lie behind TableStore.
//
// Externally synchronized: one Step at a time. Nothing waits: a pull whose own pushes have not arrived is parked and
// dropped at its deadline (the worker ends its call by itself).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/duplicate_filter.h"
#include "ps/core/ids.h"
#include "ps/core/limits.h"
#include "ps/core/messages.h"
#include "ps/core/mutations.h"
#include "ps/core/node_inputs.h"
#include "ps/core/shard_map.h"
#include "ps/store/table_store.h"

namespace attune::ps {

struct ServerOptions {
  std::string job_uid;
  uint64_t incarnation = 0;  // random per process
  uint32_t index = 0;
  std::string address;  // of the data plane, as workers reach it
  Duration heartbeat_interval = std::chrono::seconds(1);
  Duration coordinator_lost_after = std::chrono::seconds(30);
  Duration ask_again_after = std::chrono::seconds(2);                                   // join, newer map
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_store;  // TableStore::Create
  // Memory for rows on their way to a node, which its transport need not copy; null, or giving null: any memory.
  std::function<std::shared_ptr<void>(NodeId to, size_t bytes)> row_memory;
  Mutations mutations;
};

// The shell's answer to ServerOutputs::save.
struct SaveEnded {
  SaveId save;
  Status status;
  std::vector<WrittenFile> files;
};

using ServerInput = std::variant<Received, PeerConnected, PeerDisconnected, SaveEnded, Timer>;

// Write every table's rows now; answer with SaveEnded. Tables stay valid; they must not be stepped meanwhile, or the
// shell copies what it needs first.
struct SaveOrder {
  SaveId save;
  std::string directory;
  uint32_t part = 0;
  uint64_t checkpoint = 0;  // the number its files carry
  uint64_t base = 0;        // rows unchanged since this checkpoint may be left out; 0: none
};

struct ServerOutputs {
  std::vector<Outgoing> send;
  std::optional<SaveOrder> save;
  bool finished = false;       // the job is over; end with success
  std::optional<Status> lost;  // end with this error

  void Clear();
};

// Totals since the start.
struct ServerCounters {
  uint64_t pulls = 0, pushes = 0;  // messages
  uint64_t pulled_keys = 0, pushed_keys = 0;
  uint64_t duplicate_pushes = 0;  // messages with at least one key already decided
  uint64_t refused = 0;
  uint64_t parked_pulls = 0;  // that had to wait for own pushes
};

class ServerCore {
 public:
  explicit ServerCore(ServerOptions options);

  void Step(ServerInput input, MonotonicTime now, ServerOutputs& out);
  MonotonicTime WakeAt() const;

  NodeId node() const { return node_; }
  const ShardMap& map() const { return map_; }
  const ServerCounters& counters() const { return counters_; }
  size_t parked() const;
  // By TableId - 1; null where a table is not installed here.
  const std::vector<std::unique_ptr<TableStore>>& tables() const { return tables_; }

 private:
  struct Parked {
    Pull pull;
    MonotonicTime deadline;
    size_t met = 0;  // entries of `after` before this are satisfied
  };
  struct Held {
    NodeId from;
    Message message;
    MonotonicTime deadline;
  };

  void On(Received input, MonotonicTime now, ServerOutputs& out);
  void On(PeerConnected input, MonotonicTime now, ServerOutputs& out);
  void On(PeerDisconnected input, MonotonicTime now, ServerOutputs& out);
  void On(SaveEnded input, MonotonicTime now, ServerOutputs& out);
  void On(Timer input, MonotonicTime now, ServerOutputs& out);

  template <typename Other>
  void OnMessage(NodeId, Other&&, MonotonicTime, ServerOutputs&) {}
  void OnMessage(NodeId from, Push&& push, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Pull&& pull, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Welcome&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, JoinRefused&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, MapUpdate&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, InstallTable&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, WriteTables&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Finished&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, SessionLost&& message, MonotonicTime now, ServerOutputs& out);

  // The view rule: true when the message may be handled now.
  template <typename RowMessage>
  bool Admit(NodeId from, RowMessage& message, MonotonicTime deadline, MonotonicTime now, ServerOutputs& out);
  void AdoptMap(ShardMap map, MonotonicTime now, ServerOutputs& out);
  void AskForMap(MonotonicTime now, ServerOutputs& out);

  Status CheckPush(NodeId from, const Push& push) const;
  Status CheckPull(NodeId from, const Pull& pull) const;
  bool AllMine(const Slice<Key>& keys) const;
  TableStore* Find(TableId table) const;
  void Apply(const Push& push, ServerOutputs& out);
  void AcknowledgeThenApply(Push&& push, ServerOutputs& out);  // mutation only
  void Refuse(const Push& push, Status status, ServerOutputs& out);
  void SendJoin(MonotonicTime now, ServerOutputs& out);
  void Lose(Status status, ServerOutputs& out);
  void HandleHeld(MonotonicTime now, ServerOutputs& out);
  void ApplyNew(const Push& push, const Positions& positions, std::span<const Key> keys,
                std::span<const float> gradients, ServerOutputs& out);
  void ApplyOpenKeys(const Push& push, ServerOutputs& out);
  bool OwnPushesContained(Parked& parked) const;
  void Answer(const Pull& pull, ServerOutputs& out);
  void Park(Parked parked, MonotonicTime now, ServerOutputs& out);
  void RetryParked(NodeId origin, ServerOutputs& out);
  void DropOverdue(MonotonicTime now);
  void SendHeartbeat(MonotonicTime now, ServerOutputs& out);

  ServerOptions options_;
  NodeId node_;
  ShardMap map_;
  bool ended_ = false;
  std::vector<std::unique_ptr<TableStore>> tables_;
  DuplicateFilter filter_;
  std::unordered_map<NodeId, std::vector<Parked>> parked_;  // by origin
  std::deque<Held> held_;                                   // for a newer map
  std::map<SaveId, std::optional<TablesWritten>> saves_;    // the last few; empty while being written
  ServerCounters counters_;

  std::deque<Push> acknowledged_early_;  // mutation only

  bool coordinator_connected_ = false;
  MonotonicTime coordinator_since_ = kNever;  // of the last change, or the first step
  MonotonicTime next_heartbeat_ = kNever;
  MonotonicTime join_sent_{};
  std::optional<MonotonicTime> map_asked_;
  MonotonicTime next_deadline_ = kNever;  // of a parked pull or held message; may be early
  uint64_t heartbeat_ = 0;
};

}  // namespace attune::ps
