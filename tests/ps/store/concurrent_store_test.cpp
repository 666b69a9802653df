// Several threads on one store: every push counts once, rows are read whole, versions rise. Meant for the thread
// sanitizer as well. Threads begin together at a latch and end by themselves.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <thread>
#include <vector>

#include "base/random.h"
#include "ps/store/table_store.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::concurrent_store_test {
namespace {

#if defined(ATTUNE_THREAD_SANITIZER)
constexpr int kBatches = 150;
#else
constexpr int kBatches = 1500;
#endif
constexpr uint32_t kDim = 24;
constexpr size_t kBatch = 64;

std::unique_ptr<TableStore> Make(Optimizer optimizer = Sgd{.rate = 1}) {
  return *TableStore::Create({"embedding", {.dim = kDim, .optimizer = optimizer}}, {.concurrent = true});
}

void RunTogether(int threads, const std::function<void(int)>& body) {
  std::latch start(threads);
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  }
}

std::vector<Key> UniqueKeys(Random& random, uint64_t range) {
  std::vector<Key> keys(kBatch);
  const uint64_t stripe = range / kBatch;
  for (size_t i = 0; i < kBatch; ++i) keys[i] = SplitMix64(i * stripe + random.Below(stripe));
  return keys;
}

// Gradients of one, whole numbers of pushes: sums are exact in float32.
TEST(ConcurrentStore, EveryPushCountsOnceAndRowsAreReadWhole) {
  const uint64_t seed = TestSeed("4 threads, rows created meanwhile");
  const auto store = Make();
  std::atomic<uint64_t> pushed{0};
  std::atomic<bool> failed{false};
  RunTogether(4, [&](int t) {
    Random random(seed + static_cast<uint64_t>(t));
    const std::vector<float> gradients(kBatch * kDim, -1.0F);
    std::vector<float> rows(kBatch * kDim);
    std::vector<RowVersion> versions(kBatch);
    std::map<Key, RowVersion> seen;
    for (int batch = 0; batch < kBatches; ++batch) {
      const std::vector<Key> keys = UniqueKeys(random, 20'000);
      if (t % 2 == 0) {
        failed = failed || !store->Push(keys, gradients, {.versions = versions}).ok();
        pushed += kBatch;
      }
      store->Pull(keys, rows);
      for (size_t i = 0; i < kBatch; ++i) {
        const float first = rows[i * kDim];
        for (size_t d = 1; d < kDim; ++d) failed = failed || rows[i * kDim + d] != first;
        failed = failed || first < static_cast<float>(seen[keys[i]].counter());
      }
      store->VisitRows(keys, [&](const RowView& row) {
        for (const float value : row.values) failed = failed || value != static_cast<float>(row.version.counter());
        RowVersion& before = seen[row.key];
        failed = failed || row.version < before;
        before = row.version;
      });
    }
  });
  EXPECT_FALSE(failed);
  uint64_t counted = 0;
  double sum = 0;
  store->ForEachRow([&](const RowView& row) {
    counted += row.version.counter();
    sum += row.values[kDim - 1];
  });
  EXPECT_EQ(counted, pushed);
  EXPECT_EQ(sum, static_cast<double>(pushed));
}

// Rows that come and go: what a thread erases and inserts it alone owns, so it knows what must be there.
TEST(ConcurrentStore, RowsComeAndGoWhileOthersReadAndWrite) {
  const uint64_t seed = TestSeed("4 threads, each with keys of its own and some in common");
  const auto store = Make(Adagrad{});
  std::atomic<bool> failed{false};
  RunTogether(4, [&](int t) {
    Random random(seed + static_cast<uint64_t>(t));
    std::map<Key, uint64_t> mine;  // pushes
    const std::vector<float> row(kDim, 1.0F);
    for (int batch = 0; batch < kBatches * 4; ++batch) {
      const Key key = random.Below(500) * 8 + static_cast<uint64_t>(t);
      switch (random.Below(4)) {
        case 0:
          failed = failed || store->Erase({&key, 1}) != mine.erase(key);
          break;
        case 1:
          failed = failed || !store->Insert({key, RowVersion(5), 1, row, row}).ok();
          mine[key] = 5;
          break;
        case 2:
          failed = failed || !store->Push({&key, 1}, row).ok();
          ++mine[key];
          break;
        default: {
          const Key common = random.Below(500) * 8 + 7;
          failed = failed || !store->Push({&common, 1}, row).ok();
          uint64_t counter = 0;
          store->VisitRows({&key, 1}, [&](const RowView& view) { counter = view.version.counter(); });
          failed = failed || counter != (mine.contains(key) ? mine[key] : 0);
        }
      }
    }
    for (const auto& [key, count] : mine) failed = failed || !store->Contains(key);
  });
  EXPECT_FALSE(failed);
}

TEST(ConcurrentStore, ASnapshotIsExactWhileOthersPush) {
  const uint64_t seed = TestSeed("2 pushing threads, 1 taking snapshots");
  const auto store = Make();
  std::atomic<bool> failed{false};
  std::atomic<bool> done{false};
  RunTogether(3, [&](int t) {
    Random random(seed + static_cast<uint64_t>(t));
    if (t < 2) {
      const std::vector<float> gradients(kBatch * kDim, -1.0F);
      for (int batch = 0; batch < kBatches; ++batch) {
        failed = failed || !store->Push(UniqueKeys(random, 4096), gradients).ok();
      }
      done = true;
      return;
    }
    std::map<Key, RowVersion> last;
    do {
      failed = failed || !store->BeginSnapshot().ok();
      std::map<Key, RowVersion> now;
      const auto visit = [&](const RowView& row, bool changed) {
        failed = failed || row.values[0] != static_cast<float>(row.version.counter());
        failed = failed || row.values[0] != row.values[kDim - 1];
        // Unchanged since the last mark exactly when the version is.
        failed = failed || changed != (!last.contains(row.key) || last[row.key] != row.version);
        failed = failed || !now.try_emplace(row.key, row.version).second;
      };
      while (store->NextRows(100, visit)) {
      }
      store->EndSnapshot(true);
      failed = failed || now.size() < last.size();
      last = std::move(now);
    } while (!done);
  });
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace attune::ps::concurrent_store_test
