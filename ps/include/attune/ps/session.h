// The worker's door to the parameter server: connect, open tables, take data leases, pull rows, push gradients, step.
//
//   ASSIGN_OR_RETURN(auto session, Session::Connect(*SessionOptions::FromEnvironment()));
//   ASSIGN_OR_RETURN(Table words, session->OpenTable("words", {.dim = 64, .optimizer = Adagrad{.rate = 0.05F}}));
//   for (const DataLease& lease : session->DataLeases("train", {.items = item_count})) {  // survives scaling
//     RETURN_IF_ERROR(words.Pull(keys, rows));
//     Compute(lease, rows, gradients);
//     words.PushAsync(keys, gradients);
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

#include "base/status.h"
#include "base/time_source.h"
#include "ps/types/access.h"
#include "ps/types/data_set_options.h"
#include "ps/types/key.h"
#include "ps/types/localize_result.h"
#include "ps/types/read_options.h"
#include "ps/types/sampling.h"
#include "ps/types/table_options.h"

namespace attune::ps {

// --- asynchronous results

// Handle to a pull or push in flight. Copyable. A pull whose last copy is dropped is given up: nothing is written to
// its rows after that. A push continues without its future.
class Future {
 public:
  Future() = default;
  // Of an operation that has ended with this.
  static Future Ended(Status status);
  // Blocks until the operation ended; returns its result. Always ends by the operation's deadline.
  Status Wait() const;
  bool Done() const;

  struct State;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  friend class LocalizeFuture;
  std::shared_ptr<State> state_;
};

// Handle to a Localize in flight. Copyable; dropping it does not cancel the operation.
class LocalizeFuture {
 public:
  LocalizeFuture() = default;
  // Blocks until the operation ended, by its deadline. See Table::Localize for the errors.
  Status Wait() const { return future_.Wait(); }
  bool Done() const { return future_.Done(); }
  // After Wait: what has come, also when Wait returned an error.
  LocalizeResult result() const;

  explicit LocalizeFuture(Future future) : future_(std::move(future)) {}

 private:
  Future future_;
};

class Sampler;
class Session;

class Table {
 public:
  uint32_t dim() const;
  const std::string& name() const;

  // rows[i * dim .. ] = row of keys[i], own earlier pushes included. `rows` holds keys.size() * dim values. A row
  // no worker has pushed to has its initial values. Keys may repeat. Memory of `keys` and `rows` must live until the
  // end of the call.
  Status Pull(std::span<const Key> keys, std::span<float> rows) const;
  // The same without waiting; `keys` are copied, `rows` must live until the future is done or dropped: after that
  // nothing is written to them.
  Future PullAsync(std::span<const Key> keys, std::span<float> rows) const;

  // At once, when every row can be read in this process: it is owned here, or there is a copy of it (announced for this
  // step or not) that is no older than ReadOptions::replica_age_max and that the job's pace allows, or it has been
  // fetched. False: nothing has happened, but `rows` may have been written.
  bool PullIfHere(std::span<const Key> keys, std::span<float> rows) const;

  // Applies one gradient per key with the table's optimizer. Equal keys within a call are summed first. Returns when
  // the owners have acknowledged. A push past its deadline returns DeadlineExceeded: its outcome is open, the session
  // keeps re-issuing it, and it is applied exactly once or, if the server is gone, not at all.
  Status Push(std::span<const Key> keys, std::span<const float> gradients) const;
  // The same without waiting; both spans are copied. At most SessionOptions::pushes_in_flight_max are in flight; one
  // more waits for room.
  Future PushAsync(std::span<const Key> keys, std::span<const float> gradients) const;

  // Brings rows to this worker, which then owns them: it reads and writes them in its own memory, and other workers'
  // operations on them come here. Worth it for rows that this worker alone will use many times, before it needs them.
  // Training continues meanwhile, here and elsewhere; a row that two workers localize goes to one after the other. Rows
  // stay until another worker localizes them or the worker leaves, which gives them back. `keys` are copied and may
  // repeat. Ends when every row has come, with
  //   ResourceExhausted  SessionOptions::row_bytes_max is reached: the rows that fit have come, others stay;
  //   DeadlineExceeded   some have not come within the call's time; they may still come;
  //   NotFound, InvalidArgument, FailedPrecondition  nothing was asked for (table not open, too many keys, leaving).
  // Costs a message to the home of the rows per batch, nothing per row and nothing at other nodes.
  LocalizeFuture Localize(std::span<const Key> keys) const;

  // Announces that this worker's steps [begin, end), by Session::clock(), will touch these rows, so that they are here
  // by then: a hint, which promises nothing and costs some CPU (docs/worker.md). Rows are fetched ahead of their
  // step, as late as possible; a Pull takes them from here as long as they are no older than
  // ReadOptions::replica_age_max, the job's pace allows it, and this worker has not pushed to them since (then they are
  // fetched again). Under BSP nothing can be read ahead, so nothing is fetched.
  //
  // Announce a step some milliseconds before it begins; earlier costs 16 bytes per key and step and fetches nothing
  // earlier. Never blocks; `keys` are copied and may repeat. What is announced too late, or beyond what is kept (16
  // million uses), is counted in telemetry and ignored.
  //   InvalidArgument     no step lies in [begin, end), or too many keys
  //   the session's error when it is lost
  Status Intend(std::span<const Key> keys, uint64_t begin, uint64_t end, Access access = Access::kReadWrite) const;
  Status Intend(std::span<const Key> keys, uint64_t step) const { return Intend(keys, step, step + 1); }

  // Draws keys at random, to be announced and pulled (attune/ps/sampler.h). InvalidArgument: `options` name no keys,
  // or a weight or an exponent that is not a number of at least 0.
  StatusOr<Sampler> OpenSampler(const SamplerOptions& options) const;

  struct State;
  explicit Table(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  // For batches of which some row is elsewhere.
  Future PullRemote(std::span<const Key> keys, std::span<float> rows) const;
  Future PushRemote(std::span<const Key> keys, std::span<const float> gradients) const;

  std::shared_ptr<State> state_;
};

// --- data

// A range of items of one epoch, handed to this worker. Items are done, in order, when the program says so with
// Advance, or when the loop body ends (DataLeaseRange); what is not done goes to another worker. Copyable; Advance may
// be called from any thread.
class DataLease {
 public:
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint64_t epoch() const { return epoch_; }
  // Items [begin, position) have been processed and their pushes issued. Call it after each item: it is what a worker
  // that leaves has done. A lower position than before changes nothing.
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

// An input range of the leases this worker gets. Ends when every item of the last epoch is done by the worker that held
// it, when the goal is reached, when the worker is asked to leave (Session::draining), or on error (Session::status).
// How much of a lease is done:
//   - its body ended and the worker is not asked to leave: all of it;
//   - its body ended while the worker drains: what lies before the last Advance, however the body's own loops ended. A
//     body that never called Advance is done whole if the program could not know of the drain (draining() has not
//     returned true), else not at all: its items are processed again rather than lost;
//   - the loop was left by break, return or an exception: what lies before the last Advance.
// The rest goes back and is handed out again.
// Items of a lease that comes next.
struct LeaseAhead {
  uint64_t epoch = 0, begin = 0, end = 0;
};

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
  // The lease that follows the present one, when it has been granted already: for preparing its items. It is this
  // worker's when the loop comes to it, and goes back untouched if the worker drains before that.
  std::optional<LeaseAhead> Ahead() const;

 private:
  std::shared_ptr<State> state_;
};

// --- the session

struct SessionOptions {
  std::string job = {};      // for messages
  std::string job_uid = {};  // id checked in every handshake
  std::string pod_uid = {};  // by which the platform knows this process; empty: started by hand
  uint32_t index = 0;
  std::string coordinator = {};                         // host:port
  std::string bind_address = "127.0.0.1";               // any but loopback needs a token or certificates
  std::string token = {};                               // the job's secret; empty: it has none
  std::string tls_directory = {};                       // tls.crt, tls.key, ca.crt of the job; empty: no TLS
  bool encrypted = false;                               // rows in TLS by certificates that the token gives
  bool shared_memory = true;                            // with servers on this machine
  std::string sidecar_socket = {};                      // empty: no telemetry
  std::string model_directory = {};                     // see Session::model_directory
  Duration connect_timeout = std::chrono::seconds(60);  // whole of Connect, servers included
  Duration call_timeout = std::chrono::seconds(30);     // each Pull, Push, lease request, ...
  Duration step_timeout = std::chrono::minutes(5);      // of Step: slower workers may take so long
  uint32_t pushes_in_flight_max = 64;
  // Memory that rows owned by this worker (Table::Localize) may take, with optimizer state and index, all tables.
  uint64_t row_bytes_max = uint64_t{1} << 30;
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
  std::map<std::string, double> metrics = {};
  std::string summary = {};  // for people; cut at 4 KiB
  std::string model_path = {};
};

// With how many threads a program can compute a step.
struct ThreadOffer {
  uint32_t initial = 1;  // until a user asks otherwise
  uint32_t most = 1;     // never more; both at least 1
};

class Session {
 public:
  // Joins the job: coordinator, then every server. Retries within connect_timeout while they start; a wrong job id or
  // protocol version fails at once. OutOfRange: the job is finished, and nothing is left to do; the process notes that
  // for who judges its end, so any exit code will do.
  static StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options);
  // Leaves cleanly: waits (within call_timeout) for open pushes, hands back leases.
  virtual ~Session() = default;

  // Creates the table or finds it; options must agree with those of the first opener (FailedPrecondition names the
  // difference).
  // `reads`: this worker's own choice.
  virtual StatusOr<Table> OpenTable(std::string_view name, const TableOptions& options,
                                    const ReadOptions& reads = {}) = 0;
  virtual DataLeaseRange DataLeases(std::string_view data_set, const DataSetOptions& options = {}) = 0;

  // Ends a step: advances this worker's clock, adds to the telemetry window, notices directives. Returns when the next
  // step may begin: at once under Async, else (BSP, SSP) when slower workers are near enough, and after a checkpoint
  // that all workers must stand still for. DeadlineExceeded after step_timeout: the step has ended, the next may not
  // begin yet, and the text says who is waited for; call Step again to continue waiting. DataLease::Advance before
  // Step, so that a checkpoint at this step holds the step's items.
  virtual Status Step(const StepReport& report) = 0;
  virtual uint64_t clock() const = 0;
  // How many steps ahead of the one in progress announcements (Table::Intend) are acted on at present, by the time that
  // a row takes to come and the program's speed: to know how many items to prepare. At least 1.
  virtual uint64_t steps_ahead() const = 0;
  // The unit of StepReport::samples in displays, e.g. "words". Default "samples".
  virtual void SetSampleUnit(std::string_view unit) = 0;

  // Says that this program asks ThreadsForStep() before each step and computes with so many. A program that never says
  // it is not asked to change anything.
  virtual void OfferThreads(const ThreadOffer& offer) = 0;
  // How many threads the next step is to be computed with; the answer counts as obeyed. The request comes with a
  // directive of the operator and holds from the next step on, without another process. 1 before OfferThreads.
  virtual uint32_t ThreadsForStep() = 0;

  // Reports how good the model is now, at any step, e.g. the held-out loss that a lease of a data set `when_due` asks
  // for. The job keeps the last and the best value of each name, with the step and the epoch of its arrival; they are
  // shown wherever the training loss is, and goal.targetMetric and goal.earlyStopping are decided by them. A name
  // stands for one figure of the whole job: what every worker has of its own is StepReport::loss.
  //   Names: 1 to 64 letters, digits and "_-./", the first one a letter (InvalidArgument otherwise); at most 32 names
  //   in a job (ResourceExhausted).
  //   A value that is NaN or infinite is kept out, counted in the job's status under its name, and said once in the
  //   log; the call returns OK, and for early stopping it counts as a value that is no better.
  // Returns at once, from any thread. The value arrives once, in the order of the calls, also after a broken
  // connection, and before the worker leaves. While a value of a name is on its way (milliseconds) only the newest one
  // behind it is kept.
  virtual Status ReportMetric(std::string_view name, double value) = 0;

  // Waits until every push issued so far is acknowledged.
  virtual Status Flush() = 0;
  // Has every server write its rows of all tables below model_directory()/tables as one more checkpoint, which counts
  // when it is whole. FailedPrecondition when the servers do not share that directory.
  virtual Status SaveTables() = 0;
  // Reports the job's result through telemetry. The worker that evaluates calls it, once. Metrics that cannot be
  // reported (no finite number, no proper name, more than 64) are left out and named in the log and in the job's
  // status; the rest is reported.
  virtual Status Finish(const FinalResult& result) = 0;

  // Where this worker may write a model; created if missing.
  virtual const std::string& model_directory() const = 0;
  // True once the worker has been asked to leave: the program should end its loops. Takes effect on what open leases
  // count for, see DataLeaseRange.
  virtual bool draining() const = 0;
  virtual Status status() const = 0;
};

}  // namespace attune::ps
