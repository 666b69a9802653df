// Who may speak to the local API, and how it ends. What it answers otherwise: conformance_test.cpp.
#include "operator/local/rest/api_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <vector>

#include "operator/kube/client/rest_api.h"
#include "operator/local/api/memory_api.h"
#include "tests/operator/local/objects.h"

namespace attune::local::api_server_test {
namespace {

using ::testing::HasSubstr;
using testing::Key;
using testing::MakePod;

constexpr std::chrono::seconds kTimeout{20};

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() {
    kube::InitializeHttp();
    EXPECT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
    server = ApiServer::Start({.token = "right", .kinds = api.kinds()}, api).value();
  }
  std::unique_ptr<kube::Api> Client(const std::string& token) {
    kube::ClientConfig config;
    config.server = server->url();
    config.token = token;
    return kube::MakeRestApi(config).value();
  }
  // Whether the server's end comes in time; if not, the test's thread waits in the future's destructor and ctest ends
  // it.
  bool EndsInTime() {
    return std::async(std::launch::async, [this] { server.reset(); }).wait_for(kTimeout) == std::future_status::ready;
  }

  const SystemTime time;
  MemoryApi api{time, {}};
  std::unique_ptr<ApiServer> server;
};

TEST_F(ApiServerTest, OnlyTheRightTokenOpens) {
  EXPECT_TRUE(Client("right")->Get(kube::kPods, Key("a")).ok());
  for (const std::string token : {"", "wrong", "righ", "rightt", "Right"}) {
    SCOPED_TRACE("token \"" + token + "\"");
    const auto client = Client(token);
    EXPECT_EQ(client->Get(kube::kPods, Key("a")).status().code(), StatusCode::kUnauthenticated);
    EXPECT_EQ(client->List(kube::kPods, {}).status().code(), StatusCode::kUnauthenticated);
    EXPECT_EQ(client->Create(kube::kPods, MakePod("b")).status().code(), StatusCode::kUnauthenticated);
    EXPECT_EQ(client->Delete(kube::kPods, Key("a"), {}).code(), StatusCode::kUnauthenticated);
  }
  EXPECT_TRUE(api.Get(kube::kPods, Key("a")).ok());
  EXPECT_FALSE(api.Get(kube::kPods, Key("b")).ok());
}

// A connection as a stranger opens it; every wait is bounded.
class RawConnection {
 public:
  explicit RawConnection(const std::string& url) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{kTimeout.count(), 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  void Send(const std::string& text) { send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Until the server closes.
  std::string Receive() {
    std::string answer;
    char piece[1024];
    for (ssize_t got = 0; (got = recv(socket_, piece, sizeof piece, 0)) > 0;)
      answer.append(piece, static_cast<size_t>(got));
    return answer;
  }

 private:
  const int socket_;
};

TEST_F(ApiServerTest, StrangersThatHoldConnectionsDoNotKeepItsUserOut) {
  std::vector<std::unique_ptr<RawConnection>> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(std::make_unique<RawConnection>(server->url()));
    strangers.back()->Send("GET /api HT");
  }
  EXPECT_TRUE(Client("right")->Get(kube::kPods, Key("a")).ok());
  EXPECT_EQ(strangers.front()->Receive(), "") << "the oldest gave way";
}

TEST_F(ApiServerTest, AStrangersBodyIsNotWaitedFor) {
  RawConnection stranger(server->url());
  stranger.Send("POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_THAT(stranger.Receive(), HasSubstr("401 Unauthorized"));
}

TEST_F(ApiServerTest, AByteNowAndThenBuysAStrangerNoMoreTime) {
  server =
      ApiServer::Start({.token = "right", .kinds = api.kinds(), .proof_timeout = std::chrono::milliseconds(50)}, api)
          .value();
  RawConnection stranger(server->url());
  stranger.Send("GET /");
  EXPECT_EQ(stranger.Receive(), "");
}

TEST_F(ApiServerTest, WithoutATokenItDoesNotServe) {
  const auto started = ApiServer::Start({.kinds = api.kinds()}, api);
  EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ApiServerTest, OtherMachinesDoNotReachIt) {
  for (const char* open : {"0.0.0.0:0", "[::]:0", "10.1.2.3:0"}) {
    const auto started = ApiServer::Start({.listen = open, .token = "t", .kinds = api.kinds()}, api);
    EXPECT_FALSE(started.ok()) << open;
  }
  EXPECT_EQ(ApiServer::Start({.listen = "0.0.0.0:0", .token = "t", .kinds = api.kinds()}, api).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(ApiServerTest, AnAddressInUseIsNamed) {
  const std::string address = server->url().substr(std::string("http://").size());
  const auto second = ApiServer::Start({.listen = address, .token = "t", .kinds = api.kinds()}, api);
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
}

TEST_F(ApiServerTest, EndsWhileAWatchAndAnIdleConnectionAreOpen) {
  const auto client = Client("right");
  std::promise<void> seen;
  std::atomic<bool> first = true;
  const auto watch = client->StartWatch(kube::kPods, {.name_space = "default", .resource_version = "0"},
                                        [&](const kube::WatchSignal&) {
                                          if (first.exchange(false)) seen.set_value();
                                        });
  ASSERT_TRUE(watch.ok()) << ToString(watch.status());
  ASSERT_EQ(seen.get_future().wait_for(kTimeout), std::future_status::ready);
  ASSERT_TRUE(client->Get(kube::kPods, Key("a")).ok());  // its connection stays open for the next request
  EXPECT_TRUE(EndsInTime());
}

TEST_F(ApiServerTest, EndsWhileLogsAreFollowedAndBoundsTheirNumber) {
  server = ApiServer::Start({.token = "right", .kinds = api.kinds(), .log_followers_max = 2}, api).value();
  // A container that says one word and then nothing, until its reader has gone.
  api.SetLogSource([](const kube::Json&, const kube::LogOptions&, const auto& on_text, const kube::CallOptions&) {
    for (bool wanted = on_text("hello\n"); wanted; wanted = on_text("")) std::this_thread::yield();
    return OkStatus();
  });
  const auto client = Client("right");
  std::vector<std::promise<void>> hello(2);
  std::vector<std::future<Status>> readers;
  for (auto& promise : hello) {
    readers.push_back(std::async(std::launch::async, [&] {
      return client->ReadLog(Key("a"), {.follow = true},
                             [&, first = true](std::string_view) mutable {
                               if (std::exchange(first, false)) promise.set_value();
                               return true;
                             },
                             {.timeout = kTimeout});
    }));
  }
  for (auto& promise : hello) ASSERT_EQ(promise.get_future().wait_for(kTimeout), std::future_status::ready);
  const Status third =
      client->ReadLog(Key("a"), {.follow = true}, [](std::string_view) { return true; }, {.timeout = kTimeout});
  EXPECT_EQ(third.code(), StatusCode::kUnavailable) << ToString(third);
  EXPECT_TRUE(EndsInTime());
  for (auto& reader : readers) EXPECT_EQ(reader.wait_for(kTimeout), std::future_status::ready);
}

TEST_F(ApiServerTest, EventsAreServedTheWayDescribeAsksForThem) {
  const kube::Json event = {{"metadata", {{"name", "e"}, {"namespace", "default"}}},
                            {"reason", "Started"},
                            {"note", "it began"},
                            {"regarding", {{"kind", "Pod"}, {"name", "a"}, {"namespace", "default"}}}};
  ASSERT_TRUE(api.Create(kube::kEvents, event).ok());
  const kube::ResourceType core{"", "v1", "events", "Event"};
  const auto of = [&](const char* name) {
    return Client("right")
        ->List(core, {.name_space = "default", .field_selector = std::string("involvedObject.name=") + name})
        .value()
        .items;
  };
  ASSERT_EQ(of("a").size(), 1U);
  EXPECT_EQ(of("a")[0]["message"], "it began");
  EXPECT_EQ(of("a")[0]["involvedObject"]["name"], "a");
  EXPECT_TRUE(of("b").empty());
}

}  // namespace
}  // namespace attune::local::api_server_test
