// The store against a plain array loop, side by side: million keys/s of pulls and pushes of random rows.
//   bench_store --help
// Contract: dim 16, 64, 128; batches of 256 unique keys; uniform, and Zipf 1.1 whose ranks are spread over the keys;
// one and two threads. Candidates of a case take turns in short slices, so that other load hits all alike; the median
// of the slices is shown (--best: the fastest, which is what a busy machine disturbed least). `array`: the row number
// is the key, nothing is looked up or counted, later rows are prefetched. `store`: for one thread. `locked`: the store
// for several threads.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "bench/cpu_seconds.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/table_store.h"

namespace attune::ps {
namespace {

constexpr size_t kBatch = 256;
constexpr size_t kBatches = 1024;  // 262,144 random keys, used in turn

struct Flags {
  uint64_t bytes = 256ULL << 20;  // of values
  double seconds = 0.1;           // of a slice
  int repetitions = 5;
  std::string filter;
  bool is_cpu_time = false;
  bool is_best = false;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Key KeyOf(uint64_t row) { return row * 7919 + 13; }

// Row numbers of Zipf's law with exponent 1.1, by inversion of the continuous law; ranks are dealt over all rows.
class Zipf {
 public:
  explicit Zipf(uint64_t rows) : rows_(rows), top_(1 - std::pow(static_cast<double>(rows) + 1, -kTail)) {}
  uint64_t Next(Random& random) const {
    const double rank = std::pow(1 - random.Uniform() * top_, -1 / kTail) - 1;
    return SplitMix64(std::min(static_cast<uint64_t>(rank), rows_ - 1)) % rows_;
  }

 private:
  static constexpr double kTail = 0.1;
  uint64_t rows_;
  double top_;
};

// Batches of unique row numbers.
std::vector<uint64_t> RandomRows(uint64_t rows, bool is_zipf, uint64_t seed) {
  Random random(seed);
  const Zipf zipf(rows);
  std::vector<uint64_t> numbers;
  std::unordered_set<uint64_t> batch;
  for (size_t b = 0; b < kBatches; ++b) {
    batch.clear();
    while (batch.size() < kBatch) {
      const uint64_t row = is_zipf ? zipf.Next(random) : random.Below(rows);
      if (batch.insert(row).second) numbers.push_back(row);
    }
  }
  return numbers;
}

// What all candidates of a case work on.
struct Bed {
  Bed(const Flags& flags, const TableOptions& table) : options(table), kernel(SelectKernel(table.optimizer)) {
    rows = flags.bytes / (sizeof(float) * options.dim);
    store = *TableStore::Create({"bench", options});
    locked = *TableStore::Create({"bench", options}, {.concurrent = true});
    stride = (options.dim + StateFloats(options.optimizer, options.dim) + 15) / 16 * 16;
    array.reset(static_cast<float*>(std::aligned_alloc(64, rows * stride * sizeof(float))));
    std::memset(array.get(), 0, rows * stride * sizeof(float));
    std::vector<Key> keys;
    for (uint64_t row = 0; row < rows; ++row) {
      keys.push_back(KeyOf(row));
      if (keys.size() < kBatch && row + 1 < rows) continue;
      ATTUNE_CHECK(store->CreateRows(keys, {}).ok() && locked->CreateRows(keys, {}).ok());
      keys.clear();
    }
  }

  TableOptions options;
  RowKernel kernel;
  uint64_t rows;
  size_t stride;  // floats of a row of the array
  std::unique_ptr<TableStore> store, locked;
  std::unique_ptr<float, decltype(&std::free)> array{nullptr, &std::free};
};

// A bed is made when the first case that --filter lets through wants it.
struct Lazy {
  TableOptions options;
  std::unique_ptr<Bed> made;
  Bed& bed(const Flags& flags) {
    if (!made) made = std::make_unique<Bed>(flags, options);
    return *made;
  }
};

// Keys and buffers of one thread.
struct Load {
  Load(const Bed& bed, bool is_zipf, uint64_t seed)
      : rows(RandomRows(bed.rows, is_zipf, seed)), batch(kBatch * bed.options.dim, 1e-6F) {
    for (const uint64_t row : rows) keys.push_back(KeyOf(row));
  }
  std::span<const Key> Keys(size_t b) const { return std::span(keys).subspan(b % kBatches * kBatch, kBatch); }
  const uint64_t* Rows(size_t b) const { return &rows[b % kBatches * kBatch]; }

  std::vector<uint64_t> rows;
  std::vector<Key> keys;
  std::vector<float> batch;
};

template <typename Visit>
void ForEachArrayRow(const Bed& bed, const uint64_t* rows, Visit&& visit) {
  constexpr size_t kAhead = 8;
  const size_t prefetched = std::min<size_t>(bed.stride, 256);
  for (size_t i = 0; i < kBatch; ++i) {
    if (i + kAhead < kBatch) {
      const float* next = bed.array.get() + rows[i + kAhead] * bed.stride;
      for (size_t j = 0; j < prefetched; j += 16) __builtin_prefetch(next + j);
    }
    visit(i, bed.array.get() + rows[i] * bed.stride);
  }
}

using Operation = std::function<void(Bed&, Load&, size_t batch)>;

void PullArray(Bed& bed, Load& load, size_t b) {
  const size_t dim = bed.options.dim;
  ForEachArrayRow(bed, load.Rows(b),
                  [&](size_t i, const float* row) { std::memcpy(&load.batch[i * dim], row, dim * sizeof(float)); });
}
void PushArray(Bed& bed, Load& load, size_t b) {
  const size_t dim = bed.options.dim;
  ForEachArrayRow(bed, load.Rows(b), [&](size_t i, float* row) {
    bed.kernel.update(bed.kernel.settings, {row, row + dim, row + bed.stride - 1}, &load.batch[i * dim], dim, 1 + b);
  });
}
Operation Pull(std::unique_ptr<TableStore> Bed::*store) {
  return [store](Bed& bed, Load& load, size_t b) { (bed.*store)->Pull(load.Keys(b), load.batch); };
}
Operation Push(std::unique_ptr<TableStore> Bed::*store) {
  return [store](Bed& bed, Load& load, size_t b) {
    const Status pushed = (bed.*store)->Push(load.Keys(b), load.batch);
    ATTUNE_CHECK(pushed.ok()) << pushed;
  };
}

// Keys/s of all threads together in one slice.
double Slice(Bed& bed, std::vector<Load>& loads, const Operation& operation, double seconds, bool is_cpu_time) {
  std::latch ready(static_cast<ptrdiff_t>(loads.size()));
  std::vector<double> rates(loads.size());
  const auto run = [&](size_t t) {
    ready.arrive_and_wait();
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = ThreadCpuSeconds();
    const auto elapsed = [&] { return is_cpu_time ? ThreadCpuSeconds() - cpu_start : SecondsSince(start); };
    size_t b = 0;
    do {
      for (int i = 0; i < 32; ++i) operation(bed, loads[t], b++);
    } while (elapsed() < seconds);
    rates[t] = static_cast<double>(b * kBatch) / elapsed();
  };
  if (loads.size() == 1) {
    run(0);
    return rates[0];
  }
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < loads.size(); ++t) threads.emplace_back(run, t);
  }
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

double Shown(const Flags& flags, std::vector<double> values) {
  std::ranges::sort(values);
  return flags.is_best ? values.back() : values[values.size() / 2];
}

void RunCase(const Flags& flags, Lazy& lazy, const std::string& name, bool is_zipf, size_t threads, bool is_push) {
  char label[128];
  std::snprintf(label, sizeof label, "dim %3u %-7s %zu thread%s  %-14s", lazy.options.dim, is_zipf ? "zipf" : "uniform",
                threads, threads == 1 ? " " : "s", name.c_str());
  if (std::string(label).find(flags.filter) == std::string::npos) return;
  Bed& bed = lazy.bed(flags);
  std::vector<Load> loads;
  for (size_t t = 0; t < threads; ++t) loads.emplace_back(bed, is_zipf, t + 1);
  const std::vector<Operation> candidates =
      is_push ? std::vector<Operation>{PushArray, Push(&Bed::store), Push(&Bed::locked)}
              : std::vector<Operation>{PullArray, Pull(&Bed::store), Pull(&Bed::locked)};
  std::vector<std::vector<double>> rates(candidates.size());
  for (int repetition = -1; repetition < flags.repetitions; ++repetition) {  // the first one warms up
    for (size_t c = 0; c < candidates.size(); ++c) {
      if (c == 1 && threads > 1 && is_push) continue;  // a store for one thread
      const double rate = Slice(bed, loads, candidates[c], flags.seconds, flags.is_cpu_time);
      if (repetition >= 0) rates[c].push_back(rate / 1e6);
    }
  }
  const double array = Shown(flags, rates[0]), locked = Shown(flags, rates[2]);
  const double store = rates[1].empty() ? 0 : Shown(flags, rates[1]);
  std::printf("%s array %5.1f", label, array);
  if (store > 0) std::printf("  store %5.1f (%.2f)", store, store / array);
  if (store == 0) std::printf("  store     -       ");
  std::printf("  locked %5.1f (%.2f)  M keys/s", locked, locked / array);
  // Of the figures with a goal: a machine with a slower array loop is slower in everything.
  if (lazy.options.dim == 64 && !is_zipf && threads == 1 && (name == "pull" || name == "push sgd")) {
    const double goal = is_push ? 8 : 10, of_array = is_push ? 8.0 / 20 : 10.0 / 21;
    std::printf("  goal %.0f: %s; %.2f of the array: %s", goal, store >= goal ? "met" : "MISSED", of_array,
                store / array >= of_array ? "met" : "MISSED");
  }
  std::printf("\n");
  std::fflush(stdout);
}

void RunMatrix(const Flags& flags) {
  const std::vector<std::pair<std::string, Optimizer>> optimizers = {
      {"push sgd", Sgd{.rate = 0.01F}}, {"push momentum", Momentum{}}, {"push adagrad", Adagrad{}},
      {"push rmsprop", RmsProp{}},      {"push rowadam", RowAdam{}},   {"push ftrl", Ftrl{}}};
  for (const uint32_t dim : {16U, 64U, 128U}) {
    for (const auto& [name, optimizer] : optimizers) {
      const bool is_plain = std::holds_alternative<Sgd>(optimizer);
      if (!is_plain && dim != 64) continue;
      Lazy bed{.options = {.dim = dim, .optimizer = optimizer}, .made = {}};
      for (const bool is_zipf : {false, true}) {
        for (const size_t threads : {1, 2}) {
          if (is_plain) RunCase(flags, bed, "pull", is_zipf, threads, false);
          RunCase(flags, bed, name, is_zipf, threads, true);
        }
      }
    }
  }
  for (const ValueType type : {ValueType::kFloat16, ValueType::kBfloat16}) {
    const std::string suffix = type == ValueType::kFloat16 ? " f16" : " bf16";
    Lazy bed{.options = {.dim = 64, .optimizer = Sgd{}, .value_type = type}, .made = {}};
    RunCase(flags, bed, "pull" + suffix, false, 1, false);
    RunCase(flags, bed, "push sgd" + suffix, false, 1, true);
  }
}

// The longest single batch of one new row, and of 256, while a table grows.
void RunGrowth(uint64_t rows) {
  for (const size_t batch : {size_t{1}, kBatch}) {
    const auto store = *TableStore::Create({"bench", {.dim = 16}});
    std::vector<Key> keys(batch);
    std::vector<double> longest(3);
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t row = 0; row < rows;) {
      for (Key& key : keys) key = SplitMix64(row++);
      const double begin = ThreadCpuSeconds();  // a pause of this thread, not of the machine
      ATTUNE_CHECK(store->CreateRows(keys, {}).ok());
      const double seconds = ThreadCpuSeconds() - begin;
      if (seconds > longest.front()) {
        longest.front() = seconds;
        std::ranges::sort(longest);
      }
    }
    const double above = static_cast<double>(store->memory_bytes()) / static_cast<double>(rows) - 64;
    std::printf(
        "growth to %llu rows of dim 16, %zu rows per call: %.2f M rows/s; longest calls %.3f, %.3f, %.3f ms; "
        "%.1f bytes per row above its values; goal 32: %s\n",
        static_cast<unsigned long long>(rows), batch, static_cast<double>(rows) / SecondsSince(start) / 1e6,
        longest[2] * 1e3, longest[1] * 1e3, longest[0] * 1e3, above, above <= 32 ? "met" : "MISSED");
  }
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  attune::ps::Flags flags;
  uint64_t mebibytes = flags.bytes >> 20, growth_rows = 0;
  CLI::App app("The store against a plain array loop: million keys/s of pulls and pushes of random rows");
  app.add_option("--bytes", mebibytes, "MiB of values")->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Length of a slice")->capture_default_str();
  app.add_option("--repetitions", flags.repetitions, "Slices of each case")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--filter", flags.filter, "Only cases whose name has this text");
  app.add_flag("--cpu-time", flags.is_cpu_time, "Rates per second of CPU");
  app.add_flag("--best", flags.is_best, "Show the fastest slice, not the median: for a busy machine");
  app.add_flag("--growth{10000000}", growth_rows,
               "Instead: the longest single batch while a table grows to so many rows");
  CLI11_PARSE(app, argc, argv);
  flags.bytes = mebibytes << 20;
  if (growth_rows > 0) {
    attune::ps::RunGrowth(growth_rows);
  } else {
    attune::ps::RunMatrix(flags);
  }
  return 0;
}
