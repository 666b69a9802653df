#include "tests/examples/local_session.h"

#include <algorithm>
#include <utility>

#include "ps/store/table_store.h"

namespace attune::ps {

LocalSessionWorld& World() {
  static LocalSessionWorld world;
  return world;
}

struct Future::State {
  Status status;
};
Status Future::Wait() const {
  return state_ ? state_->status : Error(StatusCode::kFailedPrecondition, "an empty future has no result");
}
bool Future::Done() const { return true; }

struct Table::State {
  std::unique_ptr<TableStore> store;
};
uint32_t Table::dim() const { return state_->store->spec().options.dim; }
const std::string& Table::name() const { return state_->store->spec().name; }
Status Table::Pull(std::span<const Key> keys, std::span<float> rows) const {
  if (World().fail_pulls_after && World().pulls++ >= *World().fail_pulls_after) {
    return Error(StatusCode::kUnavailable, "server 0 is away");
  }
  state_->store->Pull(keys, rows);
  return OkStatus();
}
Status Table::Push(std::span<const Key> keys, std::span<const float> gradients) const {
  return state_->store->Push(keys, gradients);
}
Future Table::PullAsync(std::span<const Key> keys, std::span<float> rows) const {
  return Future(std::make_shared<Future::State>(Future::State{Pull(keys, rows)}));
}
Future Table::PushAsync(std::span<const Key> keys, std::span<const float> gradients) const {
  return Future(std::make_shared<Future::State>(Future::State{Push(keys, gradients)}));
}

Future Future::Ended(Status status) {
  return Future(std::make_shared<Future::State>(Future::State{std::move(status)}));
}
// Nothing is at hand, and announcements change nothing.
bool Table::PullIfHere(std::span<const Key>, std::span<float>) const { return false; }
Status Table::Intend(std::span<const Key>, uint64_t, uint64_t, Access) const { return OkStatus(); }

struct DataLease::State {
  std::vector<int>* items_done;
  uint64_t position;
};
void DataLease::Advance(uint64_t position) const {
  for (; state_->position < position; ++state_->position) ++(*state_->items_done)[state_->position];
}

struct DataLeaseRange::State {
  DataSetOptions options;
  std::vector<int>* items_done;
  uint64_t next = 0, epoch = 0;
  std::optional<DataLease> lease;

  bool Advance() {
    if (lease) lease->Advance(lease->end());
    if (next == options.items) {
      next = 0;
      ++epoch;
    }
    if (epoch == options.epochs) return false;
    const uint64_t begin = next;
    next = std::min(options.items, begin + options.lease_items);
    lease.emplace(epoch, begin, next, std::make_shared<DataLease::State>(DataLease::State{items_done, begin}));
    return true;
  }
};
DataLeaseRange::Iterator DataLeaseRange::begin() { return Iterator(state_->Advance() ? state_.get() : nullptr); }
const DataLease& DataLeaseRange::Iterator::operator*() const { return *state_->lease; }
DataLeaseRange::Iterator& DataLeaseRange::Iterator::operator++() {
  if (!state_->Advance()) state_ = nullptr;
  return *this;
}
std::optional<LeaseAhead> DataLeaseRange::Ahead() const { return std::nullopt; }
bool DataLeaseRange::Iterator::operator!=(const Iterator& other) const { return state_ != other.state_; }

namespace {

class LocalSession final : public Session {
 public:
  ~LocalSession() override {
    for (const auto& [name, table] : tables_) World().rows[name] = table->store->row_count();
  }
  StatusOr<Table> OpenTable(std::string_view name, const TableOptions& options, const ReadOptions&) override {
    auto& table = tables_[std::string(name)];
    table = std::make_shared<Table::State>();
    ASSIGN_OR_RETURN(table->store, TableStore::Create({std::string(name), options}));
    return Table(table);
  }
  DataLeaseRange DataLeases(std::string_view data_set, const DataSetOptions& options) override {
    auto state = std::make_shared<DataLeaseRange::State>();
    state->options = options;
    if (options.when_due) {
      const bool due = World().evaluations_due > 0;
      if (due) --World().evaluations_due;
      state->options = {.items = 1, .epochs = due ? 1U : 0U, .lease_items = 1};
      state->items_done = &World().items_done[std::string(data_set)];
      state->items_done->resize(1);
      return DataLeaseRange(state);
    }
    if (state->options.epochs == 0) state->options.epochs = World().epochs;
    if (state->options.lease_items == 0) state->options.lease_items = World().lease_items;
    state->items_done = &World().items_done[std::string(data_set)];
    state->items_done->resize(options.items);
    return DataLeaseRange(state);
  }
  Status Step(const StepReport& report) override {
    ++World().steps;
    World().samples += report.samples;
    World().losses.push_back(report.loss);
    return OkStatus();
  }
  uint64_t steps_ahead() const override { return 1; }
  uint64_t clock() const override { return World().steps; }
  void SetSampleUnit(std::string_view) override {}
  void OfferThreads(const ThreadOffer& offer) override { World().threads_max = offer.most; }
  uint32_t ThreadsForStep() override { return World().threads; }
  Status ReportMetric(std::string_view name, double value) override {
    World().metrics[std::string(name)].push_back(value);
    return OkStatus();
  }
  Status Flush() override { return OkStatus(); }
  Status SaveTables() override { return OkStatus(); }
  Status Finish(const FinalResult& result) override {
    World().result = result;
    return OkStatus();
  }
  const std::string& model_directory() const override { return model_directory_; }
  bool draining() const override { return World().drain_after_steps && World().steps >= *World().drain_after_steps; }
  Status status() const override { return OkStatus(); }

 private:
  std::map<std::string, std::shared_ptr<Table::State>> tables_;
  std::string model_directory_ = World().model_directory.string();
};

}  // namespace

StatusOr<SessionOptions> SessionOptions::FromEnvironment() { return SessionOptions{}; }
StatusOr<std::unique_ptr<Session>> Session::Connect(const SessionOptions&) {
  RETURN_IF_ERROR(World().connect_status);
  return std::make_unique<LocalSession>();
}

}  // namespace attune::ps
