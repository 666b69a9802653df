// Strangers at the ports of a running job, by name: what they hear, and that the job does not notice. The sidecar of
// another namespace, whose port is the operator's, is in tests/operator/telemetry/service_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "base/os/file.h"
#include "base/os/random_seed.h"
#include "proto/contract.h"
#include "tests/local/ps/child_process.h"
#include "tests/ps/transport/node.h"

namespace attune::ps::strangers_test {
namespace {

using std::chrono::seconds;

constexpr char kJobUid[] = "0b9a4c0e-5f3e-4a39-a6c0-8e4f55d8f5d1";
constexpr char kToken[] = "a token that no stranger has";
const HandshakeIdentity kMember{.self = NodeId(4712), .incarnation = 77};

// What strangers can reach.
struct Ports {
  std::string rows, coordinator;
  std::string recorded;  // a handshake of a member, from its first byte to its proof
};

template <typename T>
std::string BytesOf(const T& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

// Everything a port says until it closes.
std::string AnswerTo(const std::string& address, const std::string& words) {
  BareSocket socket(address);
  socket.Write(words.data(), words.size());
  return socket.Read(SIZE_MAX);
}

void ExpectNothingLearned(const std::string& answer) {
  EXPECT_EQ(answer.find(kJobUid), std::string::npos);
  EXPECT_EQ(answer.find(kToken), std::string::npos);
}

// A worker in earnest, that means this job and has another token or none.
void ExpectNoSession(const Ports& ports, const std::string& job_uid, const std::string& token) {
  const auto session = Session::Connect({.job = "stranger",
                                         .job_uid = job_uid,
                                         .coordinator = ports.coordinator,
                                         .token = token,
                                         .connect_timeout = seconds(2),
                                         .drain_on_sigterm = false});
  EXPECT_FALSE(session.ok());
  ExpectNothingLearned(attune::ToString(session.status()));
}

void ExpectNoLink(const Ports& ports, const std::string& job_uid, const std::string& token) {
  for (const uint32_t node : {0U, 1U, 2U, 4711U}) {
    BareDialer dialer(ports.rows, kMember, NodeId(node), token, job_uid);
    EXPECT_EQ(dialer.ShakeHands().code(), StatusCode::kUnauthenticated) << node;
    EXPECT_EQ(BytesOf(dialer.reply), BytesOf(RefuseUnproved())) << "the same for every node that it asks for";
    EXPECT_EQ(dialer.Read(1), "") << "and the connection ends";
    ExpectNothingLearned(BytesOf(dialer.challenge));
  }
}

struct Stranger {
  const char* name;
  std::function<void(const Ports&)> tries;
};

const Stranger kStrangers[] = {
    {"has guessed the job's uid",
     [](const Ports& ports) {
       ExpectNoLink(ports, kJobUid, "");
       ExpectNoSession(ports, kJobUid, "");
     }},
    {"has guessed the uid, and a token",
     [](const Ports& ports) {
       ExpectNoLink(ports, kJobUid, "a token that a stranger has");
       ExpectNoSession(ports, kJobUid, "a token that a stranger has");
     }},
    {"is a worker of another job",
     [](const Ports& ports) {
       ExpectNoLink(ports, "another job", "the token of another job");
       ExpectNoSession(ports, "another job", "the token of another job");
     }},
    {"replays a handshake that it recorded",
     [](const Ports& ports) {
       const wire::HandshakeEnd end{.magic = wire::kHandshakeMagic, .shared_memory = 0};
       const std::string answer = AnswerTo(ports.rows, ports.recorded + BytesOf(end));
       ASSERT_GT(answer.size(), sizeof(wire::Challenge));
       EXPECT_EQ(answer.substr(sizeof(wire::Challenge)), BytesOf(RefuseUnproved()));
       ExpectNothingLearned(AnswerTo(ports.coordinator, ports.recorded));
     }},
    {"speaks another protocol",
     [](const Ports& ports) {
       const std::string others[] = {"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02"};
       for (const std::string& words : others) {
         EXPECT_EQ(AnswerTo(ports.rows, words), BytesOf(RefuseStranger()));
         ExpectNothingLearned(AnswerTo(ports.coordinator, words + std::string(64, '\n')));
       }
     }},
};

class JobWithStrangersTest : public testing::Test {
 protected:
  static constexpr uint64_t kItems = 3000;

  JobWithStrangersTest()
      : directory_(std::filesystem::temp_directory_path() / ("attune-strangers-" + std::to_string(RandomSeed()))) {
    std::filesystem::create_directories(directory_);
    EXPECT_TRUE(WriteFileAtomically(directory_ / "token", kToken, 0600).ok());
  }
  ~JobWithStrangersTest() override { std::filesystem::remove_all(directory_); }

  void SetUp() override {
    server_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", "0", "--data-port", "0"},
        Variables());
    ASSERT_TRUE(server_->AwaitOutput(" serving ")) << server_->output();
    ports_.rows = ValueOf("rows_at=");
    ports_.coordinator = ValueOf("coordinator=");
    auto observer = Session::Connect({.job = "strangers",
                                      .job_uid = kJobUid,
                                      .index = 9,
                                      .coordinator = ports_.coordinator,
                                      .token = kToken,
                                      .connect_timeout = seconds(30),
                                      .drain_on_sigterm = false});
    ASSERT_TRUE(observer.ok()) << observer.status();
    observer_ = *std::move(observer);
    BareDialer member(ports_.rows, kMember, NodeId(4711), kToken, kJobUid);
    EXPECT_NE(member.ShakeHands().code(), StatusCode::kUnauthenticated) << "it is believed, and asks for a wrong node";
    ports_.recorded = BytesOf(member.hello) + BytesOf(member.handshake);
  }

  std::map<std::string, std::string> Variables() const {
    return {{contract::kEnvJob, "strangers"},
            {contract::kEnvJobUid, kJobUid},
            {contract::kEnvIndex, "0"},
            {contract::kEnvPodIp, "127.0.0.1"},
            {contract::kEnvCoordinator, ports_.coordinator},
            {contract::kEnvJobTokenFile, directory_ / "token"}};
  }
  std::string ValueOf(const std::string& key) const {
    const std::string& log = server_->output();
    const size_t at = log.find(key) + key.size();
    std::string value = log.substr(at, log.find_first_of(" \n", at) - at);
    std::erase(value, '"');
    return value;
  }
  std::unique_ptr<ChildProcess> StartWorker(int pause_ms) const {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{COUNTING_WORKER, std::to_string(kItems), std::to_string(pause_ms)}, Variables());
  }
  void ExpectEveryItemCountedOnce() {
    std::vector<Key> keys(kItems);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> counts(kItems);
    const auto table = observer_->OpenTable("counts", {.dim = 1, .optimizer = Sgd{.rate = 1.0F}});
    ASSERT_TRUE(table.ok()) << table.status();
    const Status pulled = table->Pull(keys, counts);
    ASSERT_TRUE(pulled.ok()) << pulled;
    EXPECT_EQ(std::ranges::count(counts, 1.0F), static_cast<std::ptrdiff_t>(kItems));
  }

  const std::filesystem::path directory_;
  Ports ports_;
  std::unique_ptr<ChildProcess> server_;
  std::unique_ptr<Session> observer_;
};

TEST_F(JobWithStrangersTest, NothingIsLearnedAndNothingChanges) {
  const auto worker = StartWorker(10);
  ASSERT_TRUE(worker->AwaitOutput("lease ")) << worker->output();
  for (const Stranger& stranger : kStrangers) {
    SCOPED_TRACE(stranger.name);
    stranger.tries(ports_);
  }
  EXPECT_EQ(worker->Wait(seconds(60)), 0) << worker->output();
  ExpectEveryItemCountedOnce();
  observer_.reset();
  EXPECT_EQ(server_->Wait(), 0) << server_->output();
  EXPECT_EQ(server_->output().find(kToken), std::string::npos);
}

TEST_F(JobWithStrangersTest, WithoutATokenNothingListensWhereOtherMachinesReachIt) {
  auto open = Variables();
  open.erase(contract::kEnvJobTokenFile);
  open[contract::kEnvPodIp] = "0.0.0.0";
  ChildProcess server({ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", "0", "--data-port", "0"}, open);
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.output().find(contract::kEnvJobTokenFile), std::string::npos) << server.output();
  ChildProcess worker({COUNTING_WORKER, "10", "0"}, open);
  EXPECT_EQ(worker.Wait(), 1);
  EXPECT_NE(worker.output().find(contract::kEnvJobTokenFile), std::string::npos) << worker.output();
}

// Some say nothing, some begin to speak, and all stay; members come and train meanwhile.
TEST_F(JobWithStrangersTest, AHundredSlowClientsOnEveryPortKeepNoMemberOut) {
  constexpr size_t kClients = 100;
  const std::string begins[] = {"", "\x16\x03\x01\x02", BytesOf(MakeHello(FreshNonce()))};
  std::vector<std::unique_ptr<BareSocket>> slow;
  for (const std::string& port : {ports_.rows, ports_.coordinator}) {
    for (size_t i = 0; i < kClients; ++i) {
      slow.push_back(std::make_unique<BareSocket>(port));
      const std::string& words = begins[i % std::size(begins)];
      slow.back()->Write(words.data(), words.size());
    }
  }
  const auto worker = StartWorker(0);
  EXPECT_EQ(worker->Wait(seconds(60)), 0) << worker->output();
  ExpectEveryItemCountedOnce();
}

}  // namespace
}  // namespace attune::ps::strangers_test
