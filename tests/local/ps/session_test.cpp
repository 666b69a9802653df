// Sessions against servers in the same process, over real sockets on loopback.
#include "attune/ps/session.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/saved_table.h"
#include "ps/runtime/server/server_runtime.h"
#include "tests/local/ps/session_fixture.h"

namespace attune::ps::session_test {
namespace {

using std::chrono::seconds;

TEST_F(SessionTest, OwnPushesAreReadBackAtOnce) {
  StartServers(2);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable(
      "embedding", {.dim = 8, .optimizer = Sgd{.rate = 1.0F}, .initializer = ConstantInitializer{2.0F}});
  ASSERT_TRUE(table.ok()) << table.status();
  const std::vector<Key> keys = KeysFrom(0, 1000);
  std::vector<float> rows(keys.size() * 8), gradients(keys.size() * 8, -1.0F);
  ASSERT_TRUE(table->Pull(keys, rows).ok());
  EXPECT_EQ(rows.front(), 2.0F) << "a row no worker has pushed to has its initial values";
  for (int round = 1; round <= 20; ++round) {
    const Future pushed = table->PushAsync(keys, gradients);
    ASSERT_TRUE(table->Pull(keys, rows).ok());
    for (const float value : rows) ASSERT_EQ(value, 2.0F + static_cast<float>(round));
    ASSERT_TRUE(pushed.Wait().ok());
  }
  EXPECT_EQ(servers_[0]->row_count() + servers_[1]->row_count(), 1000U);
  EXPECT_GT(servers_[0]->row_count(), 300U) << "rows are spread";
}

TEST_F(SessionTest, TwoServersAndTwoWorkersCountEveryItemExactlyOnce) {
  constexpr uint64_t kItems = 5000, kEpochs = 3;
  StartServers(2, {.epochs = kEpochs});
  const auto train = [&](uint32_t index) {
    const auto session = Connect(index);
    ASSERT_NE(session, nullptr);
    auto table = session->OpenTable("counts", {.dim = 4, .optimizer = Sgd{.rate = 1.0F}});
    ASSERT_TRUE(table.ok()) << table.status();
    for (const DataLease& lease : session->DataLeases("train", {.items = kItems, .lease_items = 37})) {
      const std::vector<Key> keys = KeysFrom(lease.begin(), lease.end() - lease.begin());
      table->PushAsync(keys, std::vector<float>(keys.size() * 4, -1.0F));
      ASSERT_TRUE(session->Step({.loss = 1.0, .samples = keys.size()}).ok());
    }
    ASSERT_TRUE(session->status().ok()) << session->status();
    std::vector<float> rows(kItems * 4);
    ASSERT_TRUE(table->Pull(KeysFrom(0, kItems), rows).ok());
    for (const float value : rows) ASSERT_EQ(value, static_cast<float>(kEpochs));
  };
  std::thread other([&] { train(1); });
  train(0);
  other.join();
  for (const auto& server : servers_) EXPECT_TRUE(server->Wait().ok()) << "servers end with the job";
}

TEST_F(SessionTest, ManyThreadsOfOneWorkerPushAndPull) {
  StartServers(2);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable("shared", {.dim = 16, .optimizer = Sgd{.rate = 1.0F}});
  ASSERT_TRUE(table.ok());
  const std::vector<Key> keys = KeysFrom(0, 100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<float> rows(keys.size() * 16);
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(table->Push(keys, std::vector<float>(keys.size() * 16, -1.0F)).ok());
        EXPECT_TRUE(table->Pull(keys, rows).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> rows(keys.size() * 16);
  ASSERT_TRUE(table->Pull(keys, rows).ok());
  for (const float value : rows) ASSERT_EQ(value, 200.0F);
}

// The address may be another job's today and the own one's again tomorrow, so the worker asks until its deadline.
TEST_F(SessionTest, WrongJobIdFailsAtTheDeadlineAndSaysSo) {
  StartServers(1);
  SessionOptions options = WorkerOptions();
  options.job_uid = "another uid";
  options.connect_timeout = std::chrono::seconds(2);
  const Status status = Session::Connect(options).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(attune::Message(status).find("another job"), std::string_view::npos) << status;
}

TEST_F(SessionTest, CoordinatorThatIsNotThereIsNamedAtTheDeadline) {
  const Status status = Session::Connect({.job = "test",
                                          .job_uid = kJobUid,
                                          .coordinator = "127.0.0.1:1",
                                          .connect_timeout = std::chrono::milliseconds(300)})
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(attune::Message(status).find("127.0.0.1:1"), std::string_view::npos) << status;
}

TEST_F(SessionTest, MissingServersAreNamedAtTheDeadline) {
  StartServers(1);
  servers_.clear();
  ServerRuntime::Options options{.job_uid = kJobUid};
  options.coordinator_here.emplace();
  options.coordinator_here->core.job_uid = kJobUid;
  options.coordinator_here->core.servers = 2;
  servers_.push_back(*ServerRuntime::Start(options, time_));
  SessionOptions worker = WorkerOptions();
  worker.connect_timeout = seconds(2);
  const Status status = Session::Connect(worker).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(attune::Message(status).find("of 2 servers"), std::string_view::npos) << status;
}

TEST_F(SessionTest, OpeningATableWithOtherOptionsIsRefused) {
  StartServers(1);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->OpenTable("a", {.dim = 8}).ok());
  EXPECT_EQ(session->OpenTable("a", {.dim = 16}).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, ServerThatDiesEndsCallsWithinTheirDeadline) {
  StartServers(2);
  SessionOptions options = WorkerOptions();
  options.call_timeout = seconds(2);
  const auto session = Session::Connect(options);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto table = (*session)->OpenTable("a", {.dim = 8});
  ASSERT_TRUE(table.ok());
  servers_[1].reset();
  const std::vector<Key> keys = KeysFrom(0, 100);
  std::vector<float> rows(800);
  const auto start = time_.Now();
  const Status pulled = table->Pull(keys, rows);
  EXPECT_FALSE(pulled.ok());
  EXPECT_NE(attune::Message(pulled).find("server 1"), std::string_view::npos) << pulled;
  EXPECT_FALSE(table->Push(keys, rows).ok());
  EXPECT_LT(time_.Now() - start, seconds(15));
}

TEST_F(SessionTest, SavedTablesAreLoadedByAnotherNumberOfServers) {
  const std::vector<Key> keys = KeysFrom(0, 3000);
  std::vector<float> gradients(keys.size() * 4), saved(keys.size() * 4), loaded(keys.size() * 4);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i % 97) - 48.0F;
  const TableOptions table_options{.dim = 4, .optimizer = Adagrad{.rate = 0.1F}, .initializer = UniformInitializer{}};
  StartServers(2);
  {
    const auto session = Connect();
    ASSERT_NE(session, nullptr);
    const auto table = session->OpenTable("in/out", table_options);
    ASSERT_TRUE(table.ok());
    ASSERT_TRUE(table->Push(keys, gradients).ok());
    ASSERT_TRUE(table->Push(keys, gradients).ok());
    const Status status = session->SaveTables();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(table->Push(keys, gradients).ok());
    ASSERT_TRUE(table->Pull(keys, saved).ok());
  }
  const std::string tables = directory_ / "model" / "tables";
  for (const uint32_t count : {1U, 3U}) {
    StartServers(count, {}, tables);
    const auto session = Connect();
    ASSERT_NE(session, nullptr);
    const auto table = session->OpenTable("in/out", table_options);
    ASSERT_TRUE(table.ok()) << table.status();
    ASSERT_TRUE(table->Push(keys, gradients).ok());
    ASSERT_TRUE(table->Pull(keys, loaded).ok());
    EXPECT_EQ(loaded, saved) << "values and optimizer state, with " << count << " servers";
  }
}

TEST_F(SessionTest, LoadingRefusesADirectoryWithoutManifestAndADamagedFile) {
  ServerRuntime::Options options{.job_uid = kJobUid, .load_directory = directory_};
  options.coordinator_here.emplace();
  EXPECT_EQ(ServerRuntime::Start(options, time_).status().code(), StatusCode::kNotFound);

  StartServers(1);
  {
    const auto session = Connect();
    ASSERT_NE(session, nullptr);
    const auto table = session->OpenTable("t", {.dim = 2});
    ASSERT_TRUE(table->Push(KeysFrom(0, 10), std::vector<float>(20, 1.0F)).ok());
    ASSERT_TRUE(session->SaveTables().ok());
  }
  const std::filesystem::path file = directory_ / "model" / "tables" / "00000001.t.0.rows";
  ASSERT_TRUE(std::filesystem::exists(file));
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('x');  // within the rows
  StartServers(1, {}, directory_ / "model" / "tables");
  {
    const auto session = Connect();
    ASSERT_NE(session, nullptr);
    const Status status = session->OpenTable("t", {.dim = 2}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(attune::Message(status).find("00000001.t.0.rows"), std::string_view::npos) << status;
  }
  std::ofstream(file, std::ios::app) << "x";  // seen when the server starts
  options.load_directory = directory_ / "model";
  EXPECT_EQ(ServerRuntime::Start(options, time_).status().code(), StatusCode::kDataLoss);
}

// Every push raises all rows at once, so a consistent copy has equal rows, however much continues while it is written.
TEST_F(SessionTest, ACheckpointIsOneMomentOfRowsThatGoOnChangingAndTheNextHoldsWhatChanged) {
  const std::vector<Key> keys = KeysFrom(0, 2000);
  const std::vector<float> gradients(keys.size() * 4, 1.0F);
  StartServers(1);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable("t", {.dim = 4, .optimizer = Sgd{.rate = 1}});
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE(table->Push(keys, gradients).ok());
  {
    std::atomic<bool> stop = false;
    std::jthread pusher([&] {
      while (!stop) EXPECT_TRUE(table->Push(keys, gradients).ok());
    });
    for (int i = 0; i < 3; ++i) {
      const Status saved = session->SaveTables();
      EXPECT_TRUE(saved.ok()) << saved;
    }
    stop = true;
  }
  ASSERT_TRUE(table->Push(std::span(keys).first(5), std::span(gradients).first(20)).ok());
  for (const uint64_t number : {2U, 3U}) {
    const auto opened = OpenCheckpoint(RealFileSystem(), directory_ / "model" / "tables", number);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto saved = SavedTable::Open(RealFileSystem(), *opened, "t");
    ASSERT_TRUE(saved.ok()) << saved.status();
    RowMerge rows = saved->Rows(HashRanges::All());
    StoredRow row;
    std::set<uint64_t> versions;
    size_t count = 0;
    for (; *rows.Next(row); ++count) versions.insert(row.row_version);
    EXPECT_EQ(count, keys.size());
    EXPECT_EQ(versions.size(), 1U) << "checkpoint " << number;
  }
  ASSERT_TRUE(session->SaveTables().ok());  // of two: what had changed after the third, and these five
  ASSERT_TRUE(table->Push(std::span(keys).first(5), std::span(gradients).first(20)).ok());
  CheckpointDirectory checkpoints(RealFileSystem(), directory_ / "model" / "tables");
  uint64_t number = 4;
  Manifest last = *checkpoints.ReadManifest(number);
  while (last.base != 0) {  // until a full one comes, because the increments have grown; the next builds on it
    ASSERT_TRUE(session->SaveTables().ok());
    ASSERT_TRUE(table->Push(std::span(keys).first(5), std::span(gradients).first(20)).ok());
    last = *checkpoints.ReadManifest(++number);
    ASSERT_LT(number, 20U);
  }
  ASSERT_TRUE(session->SaveTables().ok());
  last = *checkpoints.ReadManifest(number + 1);
  EXPECT_EQ(last.base, number);
  EXPECT_EQ(last.tables[0].files.back().rows, 5U);
  EXPECT_EQ(last.rows(), keys.size());
}

TEST_F(SessionTest, SavingWhereNothingCanBeWrittenFailsClearlyAndTrainingGoesOn) {
  StartServers(2);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable("t", {.dim = 2});
  ASSERT_TRUE(table->Push(KeysFrom(0, 10), std::vector<float>(20, 1.0F)).ok());
  std::ofstream(directory_ / "model" / "tables") << "a file where the directory should be";
  const Status status = session->SaveTables();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(attune::Message(status).find("tables"), std::string_view::npos) << status;
  EXPECT_TRUE(table->Push(KeysFrom(0, 10), std::vector<float>(20, 1.0F)).ok());
}

TEST_F(SessionTest, AFullDiskLeavesTheCheckpointBeforeAndTrainingUntouched) {
  StartServers(2);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable("t", {.dim = 64});
  const std::vector<Key> keys = KeysFrom(0, 4000);
  const std::vector<float> gradients(keys.size() * 64, 1.0F);
  ASSERT_TRUE(table->Push(keys, gradients).ok());
  ASSERT_TRUE(session->SaveTables().ok());
  struct Limit {  // no file may grow beyond 100 kB
    rlimit before{};
    Limit() {
      signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &small);
    }
    ~Limit() { setrlimit(RLIMIT_FSIZE, &before); }
  };
  {
    const Limit limit;
    ASSERT_TRUE(table->Push(keys, gradients).ok());
    const Status status = session->SaveTables();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
    EXPECT_NE(attune::Message(status).find("00000002.t."), std::string_view::npos) << status;
    EXPECT_NE(attune::Message(status).find("server "), std::string_view::npos) << status;
    EXPECT_TRUE(table->Push(keys, gradients).ok());
  }
  const std::filesystem::path tables = directory_ / "model" / "tables";
  const auto before = OpenCheckpoint(RealFileSystem(), tables);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->manifest.number, 1U);
  ASSERT_TRUE(session->SaveTables().ok());
  const auto after = OpenCheckpoint(RealFileSystem(), tables);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->manifest.rows(), keys.size());
  std::set<std::string> expected = {ManifestFileName(1), ManifestFileName(after->manifest.number)};
  for (const CheckpointFile& file : before->manifest.AllFiles()) expected.insert(file.name);
  for (const CheckpointFile& file : after->manifest.AllFiles()) expected.insert(file.name);
  for (const auto& entry : std::filesystem::directory_iterator(tables)) {
    EXPECT_TRUE(expected.contains(entry.path().filename().string())) << entry.path() << " is left over";
  }
}

TEST_F(SessionTest, LeavingALoopEarlyHandsBackWhatIsNotDone) {
  constexpr uint64_t kItems = 1000;
  StartServers(1);
  const auto first = Connect(0), second = Connect(1);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  uint64_t done_by_first = 0;
  for (const DataLease& lease : first->DataLeases("train", {.items = kItems, .lease_items = 100})) {
    lease.Advance(lease.begin() + 30);
    done_by_first = 30;
    break;
  }
  std::vector<int> seen(kItems);
  for (const DataLease& lease : second->DataLeases("train", {.items = kItems, .lease_items = 100})) {
    for (uint64_t i = lease.begin(); i < lease.end(); ++i) ++seen[i];
  }
  EXPECT_TRUE(second->status().ok());
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), uint64_t{0}), kItems - done_by_first);
}

TEST_F(SessionTest, EvaluationsAreHandedOutWhenTheyAreDueAndToOneWorker) {
  StartServers(1, {.epochs = 6, .evaluate_every_epochs = 2});
  const auto first = Connect(0), second = Connect(1);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  uint64_t evaluations = 0;
  std::vector<uint64_t> numbers;
  const auto evaluate = [&](Session& session) {
    for (const DataLease& lease : session.DataLeases("validate", {.when_due = true})) {
      ++evaluations;
      numbers.push_back(lease.epoch());
      EXPECT_TRUE(session.ReportMetric("held_out_loss", 4.0 - static_cast<double>(evaluations)).ok());
    }
  };
  for (const DataLease& lease : first->DataLeases("train", {.items = 4, .lease_items = 2})) {
    for (uint64_t i = lease.begin(); i < lease.end(); ++i) {
      lease.Advance(i + 1);
      ASSERT_TRUE(first->Step({.samples = 1}).ok());
      // It is due when both epochs are done by the coordinator's word, which comes in its own time.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      do {
        evaluate(*first);
        evaluate(*second);
      } while (evaluations < lease.epoch() / 2 && std::chrono::steady_clock::now() < until);
    }
  }
  EXPECT_TRUE(first->status().ok()) << first->status();
  EXPECT_TRUE(second->status().ok()) << second->status();
  EXPECT_EQ(numbers, (std::vector<uint64_t>{0, 1})) << "after epochs 2 and 4; that of the last epoch is closing work";
}

TEST_F(SessionTest, AFigureThatCannotBeKeptIsNamedAndTrainingGoesOn) {
  StartServers(1);
  const auto session = Connect(0);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->ReportMetric("held_out_loss", std::nan("")).ok());
  EXPECT_TRUE(session->ReportMetric("held_out_loss", 3).ok());
  for (const char* bad : {"", "held out loss", "5th", "loss\n"}) {
    const Status status = session->ReportMetric(bad, 1);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(std::string(attune::Message(status)).find("1 to 64 letters"), std::string::npos) << status;
  }
  for (int i = 1; i < 32; ++i) EXPECT_TRUE(session->ReportMetric("m" + std::to_string(i), i).ok()) << i;
  const Status one_more = session->ReportMetric("one_more", 1);
  EXPECT_EQ(one_more.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(attune::Message(one_more)).find("one_more"), std::string::npos);
  EXPECT_TRUE(session->status().ok());
}

// Over TCP, where rows are received straight into the program's memory.
TEST_F(SessionTest, RowsOfAPullWhoseFutureWasDroppedAreLeftAlone) {
  constexpr uint32_t kDim = 64;
  StartServers(2);
  SessionOptions options = WorkerOptions();
  options.shared_memory = false;
  const auto session = Session::Connect(options);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto table = (*session)->OpenTable("t", {.dim = kDim, .initializer = ConstantInitializer{.value = 1}});
  ASSERT_TRUE(table.ok()) << table.status();
  const std::vector<Key> keys = KeysFrom(0, 5000);
  std::vector<float> rows(keys.size() * kDim), others(rows.size());
  for (int round = 0; round < 50; ++round) {
    { const Future dropped = table->PullAsync(keys, rows); }
    std::ranges::fill(rows, 7.0F);
    ASSERT_TRUE(table->Pull(keys, others).ok());  // what was still in flight has come before this
    ASSERT_EQ(static_cast<size_t>(std::ranges::count(rows, 7.0F)), rows.size()) << "round " << round;
    ASSERT_EQ(static_cast<size_t>(std::ranges::count(others, 1.0F)), others.size());
  }
}

TEST_F(SessionTest, CallsAfterTheSessionEndedSaySo) {
  StartServers(1);
  auto session = Connect();
  ASSERT_NE(session, nullptr);
  const auto table = session->OpenTable("t", {.dim = 2});
  session.reset();
  std::vector<float> rows(2);
  EXPECT_EQ(table->Pull(KeysFrom(0, 1), rows).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune::ps::session_test
