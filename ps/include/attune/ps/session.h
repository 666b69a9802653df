// The worker's door to the parameter server: connect, open tables, take data leases, pull rows, push gradients, step.
//
//   ASSIGN_OR_RETURN(auto session, Session::Connect(*SessionOptions::FromEnvironment()));
//   ASSIGN_OR_RETURN(Table embedding, session->OpenTable("embedding", {.dim = 64, .optimizer = Adagrad{.rate =
//   0.05F}})); for (const DataLease& lease : session->DataLeases("train", {.items = item_count})) {   // survives
//   scaling
//     RETURN_IF_ERROR(embedding.Pull(keys, rows));   /* compute */
//     embedding.PushAsync(keys, gradients);
//     RETURN_IF_ERROR(session->Step({.loss = loss, .samples = n}));
//   }
//   RETURN_IF_ERROR(session->Finish({.metrics = {{"held_out_loss", loss}}}));
//
// Threads: Session and Table may be used from several threads at once; one DataLeases range belongs to one thread.
// Errors: every call ends by its deadline with a result or a Status that names table, server and key range. After the
// session is lost for good (`status()` not OK) every call returns that status at once, and lease ranges end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "base/time_source.h"

namespace attune::ps {

using Key = uint64_t;  // 64-bit row id, chosen by the program

// --- what a table is

// w -= rate * g
struct Sgd {
  float rate = 0.01F;
};
// Duchi, Hazan, Singer 2011: a += g^2; w -= rate * g / (sqrt(a) + epsilon), element-wise.
struct Adagrad {
  float rate = 0.05F;
  float initial_accumulator = 0.0F;
  float epsilon = 1e-8F;
};
using Optimizer = std::variant<Sgd, Adagrad>;

// Initial values are a function of (seed, table name, key, position): the same on every server and after every move.
struct ConstantInitializer {
  float value = 0.0F;
};
struct UniformInitializer {
  float low = -0.01F;
  float high = 0.01F;
};
struct NormalInitializer {
  float mean = 0.0F;
  float standard_deviation = 0.01F;
};
using Initializer = std::variant<ConstantInitializer, UniformInitializer, NormalInitializer>;

struct TableOptions {
  uint32_t dim = 0;             // values per row, 1 .. 65536
  Optimizer optimizer = Sgd{};  // applied by the owner of a row to every pushed gradient
  Initializer initializer = ConstantInitializer{};
  uint64_t seed = 1;
  uint64_t rows_max = 0;  // per server; 0: no limit. One more row is refused with ResourceExhausted
};

// --- asynchronous results

// Handle to a pull or push under way. Copyable; dropping it does not cancel the operation.
class Future {
 public:
  Future() = default;
  // Blocks until the operation ended; returns its result. Always ends by the operation's deadline.
  Status Wait() const;
  bool Done() const;

  struct State;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

class Session;

class Table {
 public:
  uint32_t dim() const;
  const std::string& name() const;

  // rows[i * dim .. ] = row of keys[i], own earlier pushes included. `rows` holds keys.size() * dim values. A row
  // nobody has pushed to has its initial values. Keys may repeat. Memory of `keys` and `rows` must live until the end
  // of the call.
  Status Pull(std::span<const Key> keys, std::span<float> rows) const;
  // The same without waiting; `keys` are copied, `rows` must live until the future is done.
  Future PullAsync(std::span<const Key> keys, std::span<float> rows) const;

  // Applies one gradient per key with the table's optimizer. Equal keys within a call are summed first. Returns when
  // the owners have acknowledged. A push past its deadline returns DeadlineExceeded: its outcome is open, the session
  // keeps re-issuing it, and it is applied exactly once or, if the server is gone, not at all.
  Status Push(std::span<const Key> keys, std::span<const float> gradients) const;
  // The same without waiting; both spans are copied. At most SessionOptions::pushes_in_flight_max are under way; one
  // more waits for room.
  Future PushAsync(std::span<const Key> keys, std::span<const float> gradients) const;

  struct State;
  explicit Table(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// --- data

struct DataSetOptions {
  uint64_t items = 0;  // 0: as the manifest says. All workers must say the same
  // 0: training, as the job's goal says and until it is reached. Otherwise closing or side work (evaluation, export):
  // the goal does not end it, and once the goal is reached it begins only when nobody holds a lease of the training
  // data.
  uint64_t epochs = 0;
  uint64_t lease_items = 0;  // items handed out at a time; 0: as the manifest says, else chosen from `items`
};

// A range of items of one epoch, handed to this worker. Items are done, in order, when the program says so (or when the
// next lease is taken): what is not done returns to the coordinator when the worker leaves.
class DataLease {
 public:
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint64_t epoch() const { return epoch_; }
  // Items [begin, position) have been processed and their pushes issued. Lets a leaving worker hand back the rest.
  void Advance(uint64_t position) const;

  struct State;
  DataLease(uint64_t epoch, uint64_t begin, uint64_t end, std::shared_ptr<State> state)
      : epoch_(epoch), begin_(begin), end_(end), state_(std::move(state)) {}

 private:
  uint64_t epoch_;
  uint64_t begin_;
  uint64_t end_;
  std::shared_ptr<State> state_;
};

// An input range of the leases this worker gets. Ends when every item of the last epoch is done by whoever held it,
// when the goal is reached, when the worker is asked to leave (Session::draining), or on error (Session::status). A
// lease whose loop body ended is done; leaving the loop early hands back what lies after the last Advance.
class DataLeaseRange {
 public:
  struct State;
  class Iterator {
   public:
    explicit Iterator(State* state) : state_(state) {}
    const DataLease& operator*() const;
    Iterator& operator++();
    bool operator!=(const Iterator& other) const;

   private:
    State* state_;  // null at the end
  };
  explicit DataLeaseRange(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Iterator begin();
  Iterator end() { return Iterator(nullptr); }

 private:
  std::shared_ptr<State> state_;
};

// --- the session

struct SessionOptions {
  std::string job;      // for messages
  std::string job_uid;  // id checked in every handshake
  uint32_t index = 0;
  std::string coordinator;  // host:port
  std::string bind_address = "127.0.0.1";
  std::string token;                                    // the job's secret; empty: it has none
  std::string tls_directory;                            // tls.crt, tls.key, ca.crt of the job; empty: no TLS
  bool shared_memory = true;                            // with servers on this machine
  std::string sidecar_socket;                           // empty: no telemetry
  std::string model_directory;                          // see Session::model_directory
  Duration connect_timeout = std::chrono::seconds(60);  // whole of Connect, servers included
  Duration call_timeout = std::chrono::seconds(30);     // each Pull, Push, lease request, ...
  Duration step_timeout = std::chrono::minutes(5);      // of Step: slower workers may take so long
  uint32_t pushes_in_flight_max = 64;
  // SIGTERM asks for a drain (Kubernetes ends pods that way). The previous handler returns with the session's end.
  bool drain_on_sigterm = true;

  // Reads the pod's environment (proto/contract.h). InvalidArgument lists every missing or malformed variable.
  static StatusOr<SessionOptions> FromEnvironment();
};

struct StepReport {
  double loss = 0;       // mean over the step's samples; NaN: none
  uint64_t samples = 0;  // in the program's unit
};

struct FinalResult {
  std::map<std::string, double> metrics;
  std::string summary;  // for people; cut at 4 KiB
  std::string model_path;
};

class Session {
 public:
  // Joins the job: coordinator, then every server. Retries within connect_timeout while they start; a wrong job id or
  // protocol version fails at once.
  static StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options);
  // Leaves cleanly: waits (within call_timeout) for open pushes, hands back leases.
  virtual ~Session() = default;

  // Creates the table or finds it; options must agree with whoever was first (FailedPrecondition names the difference).
  virtual StatusOr<Table> OpenTable(std::string_view name, const TableOptions& options) = 0;
  virtual DataLeaseRange DataLeases(std::string_view data_set, const DataSetOptions& options = {}) = 0;

  // Ends a step: advances this worker's clock, adds to the telemetry window, notices directives. Returns when the next
  // step may begin: at once under Async, else (BSP, SSP) when slower workers are near enough, and after a checkpoint
  // that all workers must stand still for. DeadlineExceeded after step_timeout: the step has ended, the next may not
  // begin yet, and the text says who is waited for; call Step again to go on waiting. DataLease::Advance before Step,
  // so that a checkpoint at this step holds the step's items.
  virtual Status Step(const StepReport& report) = 0;
  virtual uint64_t clock() const = 0;
  // The unit of StepReport::samples in displays, e.g. "words". Default "samples".
  virtual void SetSampleUnit(std::string_view unit) = 0;

  // Waits until every push issued so far is acknowledged.
  virtual Status Flush() = 0;
  // Has every server write its rows of all tables below model_directory()/tables; the manifest is written last, so a
  // directory without manifest is not a model. FailedPrecondition when the servers do not share that directory.
  virtual Status SaveTables() = 0;
  // Reports the job's result through telemetry. The worker that evaluates calls it, once.
  virtual Status Finish(const FinalResult& result) = 0;

  // Where this worker may write a model; created if missing.
  virtual const std::string& model_directory() const = 0;
  virtual bool draining() const = 0;
  virtual Status status() const = 0;
};

}  // namespace attune::ps
