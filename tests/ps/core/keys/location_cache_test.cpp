#include "ps/core/keys/location_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <list>
#include <vector>

#include "base/random.h"

namespace attune::ps::location_cache_test {
namespace {

TEST(LocationCache, KnowsWhatItWasToldLast) {
  LocationCache cache(64);
  EXPECT_TRUE(cache.empty());
  EXPECT_EQ(cache.Find(TableId(1), 7), NodeId());
  cache.Put(TableId(1), 7, NodeId(3));
  cache.Put(TableId(2), 7, NodeId(4));
  cache.Put(TableId(1), 7, NodeId(5));
  EXPECT_EQ(cache.Find(TableId(1), 7), NodeId(5));
  EXPECT_EQ(cache.Find(TableId(2), 7), NodeId(4));
  EXPECT_EQ(cache.size(), 2U);
  cache.Erase(TableId(1), 7);
  EXPECT_EQ(cache.Find(TableId(1), 7), NodeId());
  cache.ForgetNode(NodeId(4));
  EXPECT_TRUE(cache.empty());
}

TEST(LocationCache, IsBounded) {
  LocationCache cache(100);
  EXPECT_EQ(cache.entries_max(), 128U);
  for (Key key = 0; key < 10'000; ++key) cache.Put(TableId(1), key, NodeId(2));
  EXPECT_LE(cache.size(), 128U);
  EXPECT_GT(cache.size(), 100U);
}

// The slow twin: per bucket of two, a list with the newest first.
class Twin {
 public:
  explicit Twin(size_t buckets) : buckets_(buckets) {}
  NodeId Find(TableId table, Key key) const {
    for (const Entry& entry : BucketOf(table, key)) {
      if (entry.table == table && entry.key == key) return entry.owner;
    }
    return {};
  }
  void Put(TableId table, Key key, NodeId owner) {
    Erase(table, key);
    auto& bucket = BucketOf(table, key);
    bucket.push_front({table, key, owner});
    if (bucket.size() > 2) bucket.pop_back();
  }
  void Erase(TableId table, Key key) {
    std::erase_if(BucketOf(table, key), [&](const Entry& entry) { return entry.table == table && entry.key == key; });
  }
  void ForgetNode(NodeId owner) {
    for (auto& bucket : buckets_) std::erase_if(bucket, [&](const Entry& entry) { return entry.owner == owner; });
  }
  size_t size() const {
    size_t size = 0;
    for (const auto& bucket : buckets_) size += bucket.size();
    return size;
  }

 private:
  struct Entry {
    TableId table;
    Key key;
    NodeId owner;
  };
  const std::list<Entry>& BucketOf(TableId table, Key key) const {
    return buckets_[SplitMix64(key ^ (uint64_t{table.value()} << 40)) % buckets_.size()];
  }
  std::list<Entry>& BucketOf(TableId table, Key key) {
    return const_cast<std::list<Entry>&>(std::as_const(*this).BucketOf(table, key));
  }

  std::vector<std::list<Entry>> buckets_;
};

TEST(LocationCache, AgreesWithItsTwin) {
  const char* given = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20'261;
  std::cout << "ATTUNE_TEST_SEED=" << seed << '\n';
  Random random(seed);
  for (int round = 0; round < 50; ++round) {
    const size_t buckets = size_t{1} << random.Below(5);
    LocationCache cache(buckets * 2);
    Twin twin(buckets);
    for (int step = 0; step < 500; ++step) {
      const TableId table(static_cast<uint32_t>(1 + random.Below(2)));
      const Key key = random.Below(40);
      const NodeId owner(static_cast<uint32_t>(1 + random.Below(4)));
      const uint64_t action = random.Below(20);
      if (action == 0) {
        cache.ForgetNode(owner);
        twin.ForgetNode(owner);
      } else if (action < 4) {
        cache.Erase(table, key);
        twin.Erase(table, key);
      } else if (action < 12) {
        cache.Put(table, key, owner);
        twin.Put(table, key, owner);
      }
      ASSERT_EQ(cache.Find(table, key), twin.Find(table, key)) << "round " << round << " step " << step;
      ASSERT_EQ(cache.size(), twin.size()) << "round " << round << " step " << step;
    }
  }
}

}  // namespace
}  // namespace attune::ps::location_cache_test
