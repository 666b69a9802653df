// Rows that workers fetch to themselves: sessions against servers in the same process.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "tests/local/ps/session_fixture.h"

namespace attune::ps::localize_test {
namespace {

using LocalizeTest = SessionTest;

constexpr TableOptions kCounting{.dim = 4, .optimizer = Sgd{.rate = 1.0F}};

Table Open(Session& session, const TableOptions& options = kCounting) {
  StatusOr<Table> table = session.OpenTable("counts", options);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

Status Add(const Table& table, const std::vector<Key>& keys) {
  return table.Push(keys, std::vector<float>(keys.size() * table.dim(), -1.0F));
}

void ExpectAll(const Table& table, const std::vector<Key>& keys, float value) {
  std::vector<float> rows(keys.size() * table.dim());
  const Status pulled = table.Pull(keys, rows);
  ASSERT_TRUE(pulled.ok()) << pulled;
  for (const float row : rows) ASSERT_EQ(row, value);
}

TEST_F(LocalizeTest, ALocalizedRowIsReadByOthersThroughItsHome) {
  StartServers(2);
  const auto owner = Connect(0), reader = Connect(1);
  ASSERT_TRUE(owner != nullptr && reader != nullptr);
  const Table mine = Open(*owner), theirs = Open(*reader);
  const std::vector<Key> keys = KeysFrom(0, 1000);
  ASSERT_TRUE(Add(theirs, keys).ok());
  const LocalizeFuture localized = mine.Localize(keys);
  ASSERT_TRUE(localized.Wait().ok()) << localized.Wait();
  EXPECT_EQ(localized.result(), (LocalizeResult{.moved = 1000}));
  EXPECT_EQ(servers_[0]->row_count() + servers_[1]->row_count(), 0U) << "they are all at the worker";
  ASSERT_TRUE(Add(mine, keys).ok());
  ExpectAll(theirs, keys, 2.0F);
  ASSERT_TRUE(Add(theirs, keys).ok());
  ExpectAll(mine, keys, 3.0F);
  const LocalizeFuture again = mine.Localize(keys);
  ASSERT_TRUE(again.Wait().ok()) << again.Wait();
  EXPECT_EQ(again.result(), (LocalizeResult{.already_here = 1000}));
}

TEST_F(LocalizeTest, AWorkerThatLeavesGivesItsRowsBack) {
  StartServers(2);
  const std::vector<Key> keys = KeysFrom(0, 5000);
  const auto reader = Connect(1);
  {
    const auto owner = Connect(0);
    const Table mine = Open(*owner);
    ASSERT_TRUE(Add(mine, keys).ok());
    ASSERT_TRUE(mine.Localize(keys).Wait().ok());
    ASSERT_TRUE(Add(mine, keys).ok());
  }
  EXPECT_EQ(servers_[0]->row_count() + servers_[1]->row_count(), keys.size());
  ExpectAll(Open(*reader), keys, 2.0F);
}

// The sum of all pushes, no matter who owned the row when.
void PushWhileRowsMove(SessionTest* test, const std::function<std::unique_ptr<Session>(uint32_t)>& connect) {
  constexpr int kWorkers = 3, kRounds = 60;
  const std::vector<Key> keys = KeysFrom(0, 300);
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = 0; i < kWorkers; ++i) sessions.push_back(connect(i));
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] {
      const Table table = Open(*sessions[static_cast<size_t>(i)]);
      std::vector<LocalizeFuture> localized;
      for (int round = 0; round < kRounds; ++round) {
        const size_t first = static_cast<size_t>((round * 37 + i * 11) % 200);
        if (round % 4 == i) localized.push_back(table.Localize(std::span(keys).subspan(first, 100)));
        const Future pushed = table.PushAsync(keys, std::vector<float>(keys.size() * table.dim(), -1.0F));
        std::vector<float> rows(keys.size() * table.dim());
        ASSERT_TRUE(table.Pull(keys, rows).ok());
        for (const float row : rows) ASSERT_GE(row, static_cast<float>(round + 1)) << "own pushes are read";
        ASSERT_TRUE(pushed.Wait().ok()) << pushed.Wait();
      }
      for (const LocalizeFuture& future : localized) EXPECT_TRUE(future.Wait().ok()) << future.Wait();
    });
  }
  for (std::thread& worker : workers) worker.join();
  const Table table = Open(*sessions[0]);
  ExpectAll(table, keys, kWorkers * kRounds);
  for (size_t i = 1; i < kWorkers; ++i) sessions[i].reset();
  ExpectAll(table, keys, kWorkers * kRounds);
  (void)test;
}

TEST_F(LocalizeTest, WorkersLocalizeTheSameRowsInTurnWhileAllPush) {
  StartServers(2);
  PushWhileRowsMove(this, [&](uint32_t index) { return Connect(index); });
}

TEST_F(LocalizeTest, TheSameWithBackups) {
  StartServers(2, {}, "", 1);
  PushWhileRowsMove(this, [&](uint32_t index) { return Connect(index); });
}

TEST_F(LocalizeTest, RowsForWhichThereIsNoMemoryStayWhereTheyAre) {
  StartServers(1);
  SessionOptions options = WorkerOptions();
  options.row_bytes_max = 100 * (4 * sizeof(float) + 32);
  auto session = Session::Connect(options);
  ASSERT_TRUE(session.ok());
  const Table table = Open(**session);
  const std::vector<Key> keys = KeysFrom(0, 250);
  ASSERT_TRUE(Add(table, keys).ok());
  const LocalizeFuture localized = table.Localize(keys);
  EXPECT_EQ(localized.Wait().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(attune::Message(localized.Wait()).find("100 rows have come, 150 stay"), std::string::npos)
      << localized.Wait();
  EXPECT_EQ(localized.result(), (LocalizeResult{.moved = 100, .refused = 150}));
  EXPECT_EQ(servers_[0]->row_count(), 150U);
  ASSERT_TRUE(Add(table, keys).ok());
  ExpectAll(table, keys, 2.0F);
}

// What a table promises about bad input holds wherever its rows are.
struct PushRule {
  const char* what;
  NonFiniteGradients policy;
  std::vector<Key> keys;
  std::vector<float> gradients;  // two values per key
  StatusCode code;
  const char* words;        // in the message
  std::vector<float> rows;  // of keys 1 and 2 afterwards, which were 0
};

TEST_F(LocalizeTest, BadInputIsAnsweredInTheSameWayHereAndElsewhere) {
  StartServers(1);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  using enum NonFiniteGradients;
  const std::vector<PushRule> rules = {
      {"equal keys are summed", kRefusePush, {1, 2, 1}, {1, 1, 2, 2, 3, 3}, StatusCode::kOk, "", {-4, -4, -2, -2}},
      {"too few values", kRefusePush, {1, 2}, {1, 1, 1}, StatusCode::kInvalidArgument, "keys * dim", {0, 0, 0, 0}},
      {"values of another dim", kRefusePush, {1}, {1, 1, 1}, StatusCode::kInvalidArgument, "dim 2", {0, 0, 0, 0}},
      {"not a number, refused",
       kRefusePush,
       {1, 2},
       {1, 1, kNan, 1},
       StatusCode::kInvalidArgument,
       "key 2",
       {0, 0, 0, 0}},
      {"not a number, skipped", kSkipRow, {1, 2}, {1, 1, kNan, 1}, StatusCode::kOk, "", {-1, -1, 0, 0}},
      {"nothing", kRefusePush, {}, {}, StatusCode::kOk, "", {0, 0, 0, 0}},
  };
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  int tables = 0;
  for (const PushRule& rule : rules) {
    for (const bool local : {false, true}) {
      const std::string name = "table-" + std::to_string(tables++);
      SCOPED_TRACE(std::string(rule.what) + (local ? ", rows here" : ", rows at the server"));
      StatusOr<Table> table =
          session->OpenTable(name, {.dim = 2, .optimizer = Sgd{.rate = 1.0F}, .non_finite_gradients = rule.policy});
      ASSERT_TRUE(table.ok()) << table.status();
      ASSERT_TRUE(table->Push(std::vector<Key>{1, 2}, std::vector<float>(4, 0.0F)).ok());
      if (local) {
        ASSERT_TRUE(table->Localize(std::vector<Key>{1, 2}).Wait().ok());
      }
      const Status pushed = table->Push(rule.keys, rule.gradients);
      EXPECT_EQ(pushed.code(), rule.code) << pushed;
      EXPECT_NE(std::string(attune::Message(pushed)).find(rule.words), std::string::npos) << pushed;
      if (!pushed.ok()) {
        EXPECT_NE(std::string(attune::Message(pushed)).find(name), std::string::npos) << pushed;
      }
      std::vector<float> rows(4);
      ASSERT_TRUE(table->Pull(std::vector<Key>{1, 2}, rows).ok());
      EXPECT_EQ(rows, rule.rows);
      const Status pulled = table->Pull(std::vector<Key>{1, 2}, std::span(rows).first(3));
      EXPECT_EQ(pulled.code(), StatusCode::kInvalidArgument) << pulled;
      std::vector<float> twice(4);
      ASSERT_TRUE(table->Pull(std::vector<Key>{2, 2}, twice).ok());
      EXPECT_EQ(twice, (std::vector<float>{rows[2], rows[3], rows[2], rows[3]}));
    }
  }
}

}  // namespace
}  // namespace attune::ps::localize_test
