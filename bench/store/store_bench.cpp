// The store against a plain array: keys/s of pulls and pushes of random rows of dim 64, and the ratio of both.
//   build/release/bin/bench_store            rows and bytes of the table: ATTUNE_BENCH_ROWS (default 1,000,000: 256 MB)
// The array is the ceiling: the row number is the key, nothing is looked up, the row after next is prefetched.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "ps/store/optimizer.h"
#include "ps/store/table_store.h"

namespace attune::ps {
namespace {

constexpr uint32_t kDim = 64;
constexpr size_t kBatch = 256;
constexpr size_t kBatches = 1024;  // 262,144 random keys, used in turn

uint64_t RowCount() {
  const char* text = std::getenv("ATTUNE_BENCH_ROWS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1'000'000;
}

// Batches of unique random row numbers.
const std::vector<uint64_t>& RandomRows() {
  static const std::vector<uint64_t> rows = [] {
    Random random(1);
    std::vector<uint64_t> numbers(kBatch * kBatches);
    const uint64_t stripe = RowCount() / kBatch;  // one key per stripe: unique within a batch
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = (i % kBatch) * stripe + random.Below(stripe);
    return numbers;
  }();
  return rows;
}
Key KeyOf(uint64_t row) { return row * 7919 + 13; }

struct Bed {
  std::unique_ptr<TableStore> store;
  std::unique_ptr<float, decltype(&std::free)> array{nullptr, &std::free};
  std::vector<Key> keys;
  std::vector<float> batch = std::vector<float>(kBatch * kDim, 1e-6F);
  RowKernel kernel;
  size_t stride;  // floats of a row of the array
};

Bed& BedFor(const Optimizer& optimizer) {
  static std::map<size_t, Bed> beds;
  Bed& bed = beds[optimizer.index()];
  if (bed.store) return bed;
  bed.store = *TableStore::Create({"bench", {.dim = kDim, .optimizer = optimizer}});
  bed.kernel = SelectKernel(optimizer);
  bed.stride = kDim * (1 + StatesPerValue(optimizer));
  bed.array.reset(static_cast<float*>(std::aligned_alloc(64, RowCount() * bed.stride * sizeof(float))));
  std::memset(bed.array.get(), 0, RowCount() * bed.stride * sizeof(float));
  std::vector<Key> keys(kBatch);
  for (uint64_t row = 0; row + kBatch <= RowCount(); row += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) keys[i] = KeyOf(row + i);
    const Status pushed = bed.store->Push(keys, bed.batch);
    ATTUNE_CHECK(pushed.ok()) << pushed;
  }
  for (const uint64_t row : RandomRows()) bed.keys.push_back(KeyOf(row));
  return bed;
}

void PrefetchRow(const float* row, size_t floats) {
  for (size_t i = 0; i < floats; i += 16) __builtin_prefetch(row + i);
}

template <typename Visit>
void ForEachArrayRow(Bed& bed, const uint64_t* rows, Visit&& visit) {
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < kBatch; ++i) {
    if (i + kAhead < kBatch) PrefetchRow(bed.array.get() + rows[i + kAhead] * bed.stride, bed.stride);
    visit(i, bed.array.get() + rows[i] * bed.stride);
  }
}

std::map<std::string, double>& Rates() {
  static std::map<std::string, double> rates;
  return rates;
}

template <typename Operation>
void Run(benchmark::State& state, const Optimizer& optimizer, const char* name, Operation&& operation) {
  Bed& bed = BedFor(optimizer);
  size_t batch = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    operation(bed, batch * kBatch);
    benchmark::ClobberMemory();
    batch = (batch + 1) % kBatches;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double keys = static_cast<double>(state.iterations()) * kBatch;
  state.counters["keys/s"] = benchmark::Counter(keys, benchmark::Counter::kIsRate);
  Rates()[name] = std::max(Rates()[name], keys / seconds);
}

void PullStore(Bed& bed, size_t at) { bed.store->Pull(std::span(bed.keys).subspan(at, kBatch), bed.batch); }
void PullArray(Bed& bed, size_t at) {
  ForEachArrayRow(bed, &RandomRows()[at],
                  [&](size_t i, const float* row) { std::memcpy(&bed.batch[i * kDim], row, kDim * sizeof(float)); });
}
void PushStore(Bed& bed, size_t at) {
  const Status pushed = bed.store->Push(std::span(bed.keys).subspan(at, kBatch), bed.batch);
  ATTUNE_CHECK(pushed.ok()) << pushed;
}
void PushArray(Bed& bed, size_t at) {
  ForEachArrayRow(bed, &RandomRows()[at], [&](size_t i, float* row) {
    bed.kernel.update(bed.kernel.settings, row, row + kDim, &bed.batch[i * kDim], kDim);
  });
}

void Register(const char* name, const Optimizer& optimizer, void (*operation)(Bed&, size_t)) {
  benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { Run(state, optimizer, name, operation); })
      ->Repetitions(5)
      ->ReportAggregatesOnly(true);
}

void PrintRatio(const char* what, const char* store, const char* array) {
  if (Rates()[array] > 0 && Rates()[store] > 0) {
    std::printf("%-12s store %5.1f M keys/s, array %5.1f M keys/s, store/array %.2f (best of repetitions)\n", what,
                Rates()[store] / 1e6, Rates()[array] / 1e6, Rates()[store] / Rates()[array]);
  }
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  using namespace attune::ps;
  benchmark::Initialize(&argc, argv);
  const Optimizer sgd = Sgd{.rate = 0.01F}, adagrad = Adagrad{.rate = 0.01F};
  Register("pull/store", sgd, PullStore);
  Register("pull/array", sgd, PullArray);
  Register("push_sgd/store", sgd, PushStore);
  Register("push_sgd/array", sgd, PushArray);
  Register("push_adagrad/store", adagrad, PushStore);
  Register("push_adagrad/array", adagrad, PushArray);
  benchmark::RunSpecifiedBenchmarks();
  PrintRatio("pull", "pull/store", "pull/array");
  PrintRatio("push sgd", "push_sgd/store", "push_sgd/array");
  PrintRatio("push adagrad", "push_adagrad/store", "push_adagrad/array");
  return 0;
}
