// What can be read on the wire between a server and a worker that are real processes: rows, unless the job's transport
// is Encrypted; its token, never.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "base/os/file.h"
#include "base/os/random_seed.h"
#include "proto/contract.h"
#include "tests/local/ps/child_process.h"

namespace attune::ps::wire_test {
namespace {

using std::chrono::seconds;

constexpr char kJobUid[] = "uid-of-the-wire";
constexpr char kToken[] = "a token that is never on any wire";

// Eight gradients of the counting worker, one after the other, as rows have them in a frame.
std::string RowsInTheClear() {
  std::string rows;
  for (int i = 0; i < 8; ++i) rows += std::string("\x00\x00\x80\xbf", 4);
  return rows;
}

// Reads what passes through the loopback device to and from one TCP port, as anyone on a network's path could.
class Tap {
 public:
  explicit Tap(uint16_t port) : port_(port), socket_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP))) {
    sockaddr_ll loopback{};
    loopback.sll_family = AF_PACKET;
    loopback.sll_protocol = htons(ETH_P_IP);
    loopback.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
    const timeval look_again{.tv_sec = 0, .tv_usec = 50'000};
    usable_ = socket_ >= 0 && ::bind(socket_, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0 &&
              ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &look_again, sizeof look_again) == 0;
    if (usable_) thread_ = std::thread([this] { Run(); });
  }
  ~Tap() {
    Stop();
    if (socket_ >= 0) ::close(socket_);
  }

  bool usable() const { return usable_; }
  // Everything that was read, headers included.
  const std::string& Stop() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    return bytes_;
  }

 private:
  void Run() {
    std::vector<char> packet(1 << 17);
    while (!end_) {
      const ssize_t size = ::recv(socket_, packet.data(), packet.size(), 0);
      if (size > 0 && IsOurs({packet.data(), static_cast<size_t>(size)})) {
        bytes_.append(packet.data(), static_cast<size_t>(size));
      }
    }
  }
  bool IsOurs(std::string_view packet) const {
    constexpr size_t kTcpProtocolAt = 9;
    const size_t tcp = static_cast<size_t>(packet[0] & 0x0F) * 4;
    if (packet[kTcpProtocolAt] != IPPROTO_TCP || packet.size() < tcp + 4) return false;
    const auto port_at = [&](size_t at) {
      return static_cast<uint16_t>((static_cast<uint8_t>(packet[at]) << 8) | static_cast<uint8_t>(packet[at + 1]));
    };
    return port_at(tcp) == port_ || port_at(tcp + 2) == port_;
  }

  const uint16_t port_;
  const int socket_;
  bool usable_ = false;
  std::atomic<bool> end_ = false;
  std::string bytes_;  // of the thread until it has ended
  std::thread thread_;
};

class WireTest : public testing::Test {
 protected:
  static constexpr uint64_t kItems = 2000;

  WireTest() : directory_(std::filesystem::temp_directory_path() / ("attune-wire-" + std::to_string(RandomSeed()))) {
    std::filesystem::create_directories(directory_);
    EXPECT_TRUE(WriteFileAtomically(directory_ / "token", std::string(kToken) + "\n", 0600).ok());
  }
  ~WireTest() override { std::filesystem::remove_all(directory_); }

  std::map<std::string, std::string> Variables(const char* transport, const std::string& coordinator = "") const {
    std::map<std::string, std::string> variables = {{contract::kEnvJob, "wire"},
                                                    {contract::kEnvJobUid, kJobUid},
                                                    {contract::kEnvIndex, "0"},
                                                    {contract::kEnvPodIp, "127.0.0.1"},
                                                    {contract::kEnvJobTokenFile, directory_ / "token"},
                                                    {contract::kEnvSharedMemory, "off"},
                                                    {contract::kEnvTransport, transport}};
    if (!coordinator.empty()) variables[contract::kEnvCoordinator] = coordinator;
    return variables;
  }
  static std::string ValueOf(const std::string& log, const std::string& key) {
    const size_t at = log.find(key);
    if (at == std::string::npos) return "";
    std::string value = log.substr(at + key.size(), log.find_first_of(" \n", at) - at - key.size());
    std::erase(value, '"');
    return value;
  }

  // A job of one server and one worker counts its items; what passed between them, or "" where nothing may be read.
  std::string BytesOfAJob(const char* transport) {
    ChildProcess server({ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", "0", "--data-port", "0"},
                        Variables(transport));
    EXPECT_TRUE(server.AwaitOutput(" serving ")) << server.output();
    const std::string coordinator = ValueOf(server.output(), "coordinator=");
    const std::string rows = ValueOf(server.output(), "rows_at=");
    Tap tap(static_cast<uint16_t>(std::stoi(rows.substr(rows.rfind(':') + 1))));
    if (!tap.usable()) return "";
    const auto session = Session::Connect({.job = "wire",
                                           .job_uid = kJobUid,
                                           .index = 9,
                                           .coordinator = coordinator,
                                           .token = kToken,
                                           .encrypted = std::string_view(transport) == contract::kTransportEncrypted,
                                           .shared_memory = false,
                                           .connect_timeout = seconds(30),
                                           .drain_on_sigterm = false});
    EXPECT_TRUE(session.ok()) << session.status();
    ChildProcess worker({COUNTING_WORKER, std::to_string(kItems), "0"}, Variables(transport, coordinator));
    EXPECT_EQ(worker.Wait(seconds(60)), 0) << worker.output();
    if (session.ok()) ExpectEveryItemCountedOnce(**session);
    return tap.Stop();
  }

  static void ExpectEveryItemCountedOnce(Session& session) {
    std::vector<Key> keys(kItems);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> counts(kItems);
    const auto table = session.OpenTable("counts", {.dim = 1, .optimizer = Sgd{.rate = 1.0F}});
    ASSERT_TRUE(table.ok()) << table.status();
    const Status pulled = table->Pull(keys, counts);
    ASSERT_TRUE(pulled.ok()) << pulled;
    EXPECT_EQ(std::ranges::count(counts, 1.0F), static_cast<std::ptrdiff_t>(kItems));
  }

  const std::filesystem::path directory_;
};

TEST_F(WireTest, RowsCanBeReadUnlessTheTransportIsEncrypted) {
  const std::string clear = BytesOfAJob(contract::kTransportAuthenticated);
  if (clear.empty()) GTEST_SKIP() << "reading the loopback device needs CAP_NET_RAW";
  ASSERT_NE(clear.find(RowsInTheClear()), std::string::npos) << "the tap sees rows where they are in the clear";
  EXPECT_EQ(clear.find(kToken), std::string::npos);

  const std::string encrypted = BytesOfAJob(contract::kTransportEncrypted);
  EXPECT_GT(encrypted.size(), kItems * sizeof(float)) << "the rows did pass here";
  EXPECT_EQ(encrypted.find(RowsInTheClear()), std::string::npos);
  EXPECT_EQ(encrypted.find(kToken), std::string::npos);
}

TEST_F(WireTest, AProcessOfAnotherTransportIsNotServed) {
  ChildProcess server({ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", "0", "--data-port", "0"},
                      Variables(contract::kTransportEncrypted));
  ASSERT_TRUE(server.AwaitOutput(" serving ")) << server.output();
  ChildProcess worker({COUNTING_WORKER, "10", "0"},
                      Variables(contract::kTransportAuthenticated, ValueOf(server.output(), "coordinator=")));
  EXPECT_NE(worker.Wait(seconds(60)), 0) << worker.output();
  EXPECT_TRUE(server.AwaitOutput("give all pods of the job the same settings")) << server.output();
}

TEST_F(WireTest, AWordThatNamesNoTransportIsListedWithTheOthers) {
  ChildProcess server({ATTUNE_SERVER, "--coordinator-here"}, Variables("encrypted"));
  EXPECT_EQ(server.Wait(), 2);
  EXPECT_NE(server.output().find("ATTUNE_TRANSPORT='encrypted' is not one of Authenticated, Encrypted"),
            std::string::npos)
      << server.output();
}

TEST_F(WireTest, EncryptionNeedsAToken) {
  auto variables = Variables(contract::kTransportEncrypted);
  variables.erase(contract::kEnvJobTokenFile);
  ChildProcess server({ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", "0", "--data-port", "0"}, variables);
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.output().find("token"), std::string::npos) << server.output();
}

}  // namespace
}  // namespace attune::ps::wire_test
