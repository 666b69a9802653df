// What it costs to keep copies of rows up to date (docs/protocol.md#copies-at-workers), without what the link costs: a
// home and a holder in one thread, which hand each other their messages. All rows are changed by another worker, then
// one round refreshes all copies. And what a copy takes in memory beside its values, its optimizer state and the same
// again as the base of its fold.
//   adaptive_round_bench [--rows N] [--repetitions N]
#include <malloc.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "bench/cpu_seconds.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/worker/rows/worker_rows.h"
#include "ps/store/table_store.h"

namespace attune::ps {
namespace {

constexpr uint32_t kDim = 64;
constexpr NodeId kHome{1}, kHolder{2}, kOther{3};
constexpr TableId kTable{1};

TableSpec Spec() { return {"rows", {.dim = kDim, .optimizer = Adagrad{.rate = 0.1F}}}; }

ShardMap Map() {
  ShardMap map;
  map.version = MapVersion(1, 1);
  map.shards = {{.home = kHome}};
  map.members = {{.node = kHome, .role = Role::kServer},
                 {.node = kHolder, .role = Role::kWorker},
                 {.node = kOther, .role = Role::kWorker}};
  return map;
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "adaptive_round_bench: %s\n", what);
  std::exit(1);
}

RowOptions HomeOptions() {
  const auto create = [](const TableSpec& spec) { return TableStore::Create(spec); };
  return {.create_store = create, .create_copies = create};
}

WorkerOptions HolderOptions() {
  WorkerOptions options;
  options.row_bytes_max = uint64_t{1} << 32;
  return options;
}

ClusterView ViewOf(NodeId self) {
  ClusterView cluster;
  cluster.SetSelf(self);
  cluster.Adopt(Map());
  for (const Member& member : cluster.map().members) cluster.SetConnected(member.node);
  return cluster;
}

class HomeAndHolder {
 public:
  explicit HomeAndHolder(size_t rows) : keys_(rows) {
    std::iota(keys_.begin(), keys_.end(), Key{1});
    home_.SetSelf(kHome);
    if (!home_.InstallTable(kTable, Spec()).ok()) Fail("the home refuses the table");
    RowOutputs out;
    home_.AdoptMap(Map(), now_, out);
    holder_.own().SetSelf(kHolder);
    holder_.Connected(kHome, now_, out_);
    holder_.routes().OpenTable(kTable, Spec());
    ChangeAll();
  }

  // The holder announces all rows for many steps, and is given copies. Returns the bytes that they take there.
  size_t GiveCopies() {
    const size_t before = ::mallinfo2().uordblks;
    holder_.On(
        IntendCall{.table = kTable, .keys = keys_, .begin = 1, .end = 2000, .age_max = std::chrono::milliseconds(200)},
        at_, now_, out_);
    const size_t book = ::mallinfo2().uordblks - before;
    if (RefreshAll() != keys_.size()) Fail("not every row has a copy");
    return ::mallinfo2().uordblks - before - book;
  }

  // By another worker.
  void ChangeAll() {
    const std::vector<float> gradients(kPushed * kDim, 0.01F);
    for (size_t at = 0; at < keys_.size(); at += kPushed) {
      const size_t count = std::min(kPushed, keys_.size() - at);
      Push push{.origin = kOther,
                .sequence = SequenceNumber(pushes_ + 1),
                .table = kTable,
                .map_version = Map().version,
                .acked_below = SequenceNumber(pushes_++)};
      push.positions = {.first = 0, .count = static_cast<uint32_t>(count), .list = {}};
      push.keys = std::vector<Key>(keys_.begin() + static_cast<ptrdiff_t>(at),
                                   keys_.begin() + static_cast<ptrdiff_t>(at + count));
      push.gradients = std::vector<float>(gradients.begin(), gradients.begin() + static_cast<ptrdiff_t>(count * kDim));
      RowOutputs out;
      home_.Receive(kOther, std::move(push), now_, out);
    }
  }
  // One round. Returns how many rows have come.
  size_t RefreshAll() {
    now_ += std::chrono::milliseconds(150);
    ++at_.clock;
    ++at_.step;
    holder_.fetches().StepBegan(at_, now_, out_);
    RowOutputs answers;
    for (Outgoing& sent : std::exchange(out_.send, {})) {
      if (std::holds_alternative<Round>(sent.message)) home_.Receive(kHolder, std::move(sent.message), now_, answers);
    }
    size_t rows = 0;
    for (Outgoing& sent : answers.send) {
      auto* const reply = std::get_if<RoundReply>(&sent.message);
      if (reply == nullptr) continue;
      rows += reply->keys.size();
      holder_.OnMessage(kHome, std::move(*reply), now_, out_);
    }
    return rows;
  }

 private:
  static constexpr size_t kPushed = 4096;

  std::vector<Key> keys_;
  RowNode home_{HomeOptions()};
  const WorkerOptions options_ = HolderOptions();
  ClusterView cluster_ = ViewOf(kHolder);
  LivenessLease lease_;
  WorkerRows holder_{options_, cluster_, lease_};
  WorkerOutputs out_;
  StepPoint at_;
  MonotonicTime now_{std::chrono::seconds(100)};
  uint64_t pushes_ = 0;
};

int Main(int argc, char** argv) {
  size_t rows = 50'000;
  int repetitions = 9;
  CLI::App app("Copies of rows: refreshes a second, and memory.");
  app.add_option("--rows", rows, "rows, all of which have copies")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--repetitions", repetitions, "the median is shown")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  HomeAndHolder job(rows);
  const size_t copies = job.GiveCopies();
  std::vector<double> rates;
  for (int i = 0; i < repetitions; ++i) {
    job.ChangeAll();
    const double start = ThreadCpuSeconds();
    const size_t refreshed = job.RefreshAll();
    rates.push_back(static_cast<double>(refreshed) / (ThreadCpuSeconds() - start));
    if (refreshed != rows) Fail("not every copy was refreshed");
  }
  std::ranges::sort(rates);
  const double rate = rates[rates.size() / 2] / 1e6, count = static_cast<double>(rows);
  const double values = 2.0 * 2 * kDim * sizeof(float);  // and state; and the same as the base of the fold
  const double bytes = static_cast<double>(copies) / count - values;
  std::printf("%zu copies, dim %u, Adagrad\n", rows, kDim);
  std::printf("refreshed: %.2f million rows a second of one thread, home and holder together (goal 1.5: %s)\n", rate,
              rate >= 1.5 ? "met" : "MISSED");
  std::printf("memory of a copy at its holder beside %.0f bytes of values, state and base: %.0f bytes (goal 48: %s)\n",
              values, bytes, bytes <= 48 ? "met" : "MISSED");
  return 0;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) { return attune::ps::Main(argc, argv); }
