// What a WorkerCore is stepped with and what it gives back, as values: calls of the program in, messages and
// completions out. Slices and spans refer to memory of the caller, as each says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/link/link.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/store/table_store.h"
#include "ps/types/access.h"
#include "ps/types/localize_result.h"

namespace attune::ps {

using CallId = StrongId<struct CallIdTag, uint64_t>;  // chosen by the shell, unique per core

struct WorkerOptions {
  std::string job_uid;
  uint64_t incarnation = 0;  // which process (incarnation.h)
  uint32_t index = 0;
  std::string address;                 // see SetAddress
  uint32_t pushes_in_flight_max = 64;  // sequence numbers beyond the oldest open push; <= kPushWindowMax
  size_t keys_per_message_max = kKeysPerMessageMax;
  Duration reissue_after = std::chrono::seconds(2);  // doubles per attempt up to reissue_after_max
  Duration reissue_after_max = std::chrono::seconds(16);
  Duration heartbeat_interval = std::chrono::milliseconds(500);
  // Makes the store of rows that this worker owns; null: it never owns any, and Localize is refused.
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_store;
  // Memory for rows on their way to a node, see RowOptions.
  std::function<std::shared_ptr<void>(NodeId to, size_t bytes)> row_memory;
  uint64_t row_bytes_max = 0;  // rows owned here may take so much, with state and index; more stay where they are
  size_t locations_max = kLocationsMax;
  size_t intents_max = kIntentsMax;
  size_t fetched_bytes_max = kFetchedBytesMax;
  Duration fetch_timeout = std::chrono::seconds(30);
  LinkOptions link;  // to others that may hold rows
  Mutations mutations;
};

// --- inputs: calls of the program

// Joins the job; done when the map is known and every server is connected.
struct JoinCall {
  CallId call;
  MonotonicTime deadline;
};
struct OpenTableCall {
  CallId call;
  MonotonicTime deadline;
  TableSpec spec;
};
struct PullCall {
  CallId call;
  MonotonicTime deadline;
  TableId table;
  Slice<Key> keys;        // may repeat
  std::span<float> rows;  // keys.size() * dim; written until the completion, never after it
};
// The program gives a pull up: it ends with Cancelled. No completion of its own.
struct CancelPull {
  CallId call;
};
// Steps [begin, end) of the program touch these rows (Table::Intend). No completion.
struct IntendCall {
  TableId table;
  std::vector<Key> keys;        // may repeat
  uint64_t begin = 0, end = 0;  // begin < end
  Access access = Access::kReadWrite;
  Duration age_max{};  // ReadOptions::replica_age_max
};
// Which copies a read may take: of rows that the program has announced for its step, of which it knows that they may be
// as old as the table's ReadOptions::replica_age_max; or any, when it says that it knows.
enum class CopyReads : uint8_t { kAnnounced, kAny };

// Keys and gradients may be without an owner: they are copied within the step.
struct PushCall {
  CallId call;
  MonotonicTime deadline;
  TableId table;
  Slice<Key> keys;         // gradients of equal keys are summed
  Slice<float> gradients;  // keys.size() * dim
};
struct OpenDataSetCall {
  CallId call;
  MonotonicTime deadline;
  std::string name;
  DataSetOptions options;
};
// Result: LeaseResult, or OutOfRange when there are no more (all done, or the goal is reached).
struct LeaseCall {
  CallId call;
  MonotonicTime deadline;
  DataSetId data_set;
};
// Items before `position` are processed and their pushes issued. No completion.
struct AdvanceLease {
  LeaseId lease;
  uint64_t position = 0;
};
// The program is through with the lease: items from `position` on, if any, go back. No completion.
struct EndLease {
  LeaseId lease;
  uint64_t position = 0;
};
// A value of the model as the program measured it; nothing when it is not finite. While one of the same name is on its
// way the newest waits behind it. The caller has checked the name. No completion.
struct ReportMetricCall {
  std::string name;
  std::optional<double> value;
};
// Ends a step. Done when the next one may begin, which other workers and the coordinator may delay (BSP, SSP, a
// checkpoint). DeadlineExceeded: the step has ended, the next one may not begin yet; a further StepCall only waits for
// that.
struct StepCall {
  CallId call;  // 0: no caller waits, no completion
  MonotonicTime deadline;
  double loss = 0;  // mean over the samples; NaN: none
  uint64_t samples = 0;
};
// Done when every push issued before it is settled.
struct FlushCall {
  CallId call;
  MonotonicTime deadline;
};
struct SaveCall {
  CallId call;
  MonotonicTime deadline;
  std::string directory;
};
// Makes this worker the owner of these rows. Done when they are here (LocalizeResult); with ResourceExhausted, when
// those are here for which there is memory; with DeadlineExceeded, and what came so far.
struct LocalizeCall {
  CallId call;
  MonotonicTime deadline;
  TableId table;
  Slice<Key> keys;  // may repeat
};
// Settles pushes, hands back leases and rows, then leaves. Later calls are refused.
struct LeaveCall {
  CallId call;
  MonotonicTime deadline;
  bool drained = false;  // it was asked to
};

// What WorkerOutputs::revoke asked for has been done.
struct RowsRevoked {
  RequestId request;
};

using WorkerInput =
    std::variant<JoinCall, OpenTableCall, PullCall, CancelPull, IntendCall, PushCall, OpenDataSetCall, LeaseCall,
                 AdvanceLease, EndLease, ReportMetricCall, StepCall, FlushCall, SaveCall, LocalizeCall, LeaveCall,
                 Received, PeerConnected, PeerDisconnected, RowsRevoked, Timer>;

// --- outputs

struct TableResult {
  TableId table;
};
struct DataSetResult {
  DataSetId data_set;
  DataSetOptions options;  // resolved
};
struct LeaseResult {
  LeaseId lease;
  uint64_t epoch = 0, begin = 0, end = 0;
};
using CallResult = std::variant<std::monostate, TableResult, DataSetResult, LeaseResult, LocalizeResult>;

struct Completion {
  CallId call;
  Status status;
  CallResult result;
};

// Nothing received is to be written into these rows any more (WorkerCore::PlaceOf): RowsRevoked says that it is so.
struct RevokeRows {
  RequestId request;
  std::span<const float> rows;
};

struct WorkerOutputs {
  std::vector<Outgoing> send;
  std::vector<RevokeRows> revoke;
  std::vector<Completion> completions;
  std::vector<Member> connect;                  // nodes to keep a link to, from now on
  std::vector<NodeId> disconnect;               // of these, members no longer
  std::optional<std::string> goal_reached;      // reason; leases end
  std::optional<CoordinatorPlace> coordinator;  // join there from now on
  std::vector<RejectedMessage> rejected;
  std::optional<Status> lost;  // the session is over; every call has been completed with this

  void Clear();
};

}  // namespace attune::ps
