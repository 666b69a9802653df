// Client and service of the control channel against each other on loopback.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/coordinator_client.h"
#include "ps/runtime/control/coordinator_service.h"

namespace attune::ps::coordinator_channel_test {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

// What happened, for waiting on it.
class Diary {
 public:
  template <typename Change>
  void Note(Change change) {
    std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class CoordinatorChannelTest : public testing::Test {
 protected:
  void StartService(uint16_t port = 0) {
    auto service = CoordinatorService::Start("127.0.0.1", port, *loop_,
                                             {.on_message =
                                                  [this](ConnectionId from, Message message) {
                                                    diary_.Note([&] {
                                                      last_connection_ = from;
                                                      at_service_.push_back(std::move(message));
                                                    });
                                                  },
                                              .on_closed = [this](ConnectionId) { diary_.Note([&] { ++closed_; }); }});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  void StartClient(const std::string& address) {
    client_ = CoordinatorClient::Start(
        address, *loop_,
        {.on_connected = [this] { diary_.Note([&] { ++connects_; }); },
         .on_disconnected = [this](const Status&) { diary_.Note([&] { ++disconnects_; }); },
         .on_message = [this](Message message,
                              uint32_t) { diary_.Note([&] { at_client_.push_back(std::move(message)); }); }});
  }

  SystemTime time_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::Start("test", time_);
  Diary diary_;
  std::vector<Message> at_service_, at_client_;
  ConnectionId last_connection_;
  int connects_ = 0, disconnects_ = 0, closed_ = 0;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<CoordinatorClient> client_;
};

TEST_F(CoordinatorChannelTest, MessagesPassBothWaysInOrder) {
  StartService();
  StartClient(service_->address());
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 1; }));
  EXPECT_TRUE(client_->last_error().ok());
  for (uint64_t i = 1; i <= 50; ++i) client_->Send(Heartbeat{.number = i});
  ASSERT_TRUE(diary_.Await([&] { return at_service_.size() == 50; }));
  for (uint64_t i = 1; i <= 50; ++i) EXPECT_EQ(std::get<Heartbeat>(at_service_[i - 1]).number, i);
  for (uint64_t i = 1; i <= 50; ++i) service_->Send(last_connection_, HeartbeatAck{.number = i});
  ASSERT_TRUE(diary_.Await([&] { return at_client_.size() == 50; }));
  for (uint64_t i = 1; i <= 50; ++i) EXPECT_EQ(std::get<HeartbeatAck>(at_client_[i - 1]).number, i);
}

TEST_F(CoordinatorChannelTest, ServiceThatComesLateAndComesBackIsFound) {
  StartService();
  const std::string address = service_->address();
  const auto port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  service_.reset();
  StartClient(address);
  EXPECT_FALSE(client_->last_error().ok());
  StartService(port);
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 1; }));
  service_.reset();
  ASSERT_TRUE(diary_.Await([&] { return disconnects_ == 1; }));
  StartService(port);
  EXPECT_TRUE(diary_.Await([&] { return connects_ == 2; }));
}

TEST_F(CoordinatorChannelTest, CloseSendsFirstAndThenEndsTheStream) {
  StartService();
  StartClient(service_->address());
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 1; }));
  client_->Send(Join{});
  ASSERT_TRUE(diary_.Await([&] { return at_service_.size() == 1; }));
  service_->Send(last_connection_, Finished{});
  service_->Close(last_connection_);
  ASSERT_TRUE(diary_.Await([&] { return at_client_.size() == 1; }));
  ASSERT_TRUE(diary_.Await([&] { return closed_ == 1 && disconnects_ == 1; }));
}

TEST_F(CoordinatorChannelTest, ClientThatEndsHasSentItsLastMessage) {
  StartService();
  StartClient(service_->address());
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 1; }));
  client_->Send(Leave{});
  client_.reset();
  ASSERT_TRUE(diary_.Await([&] { return at_service_.size() == 1; }));
  ASSERT_TRUE(diary_.Await([&] { return closed_ == 1; }));
}

// Not with a refusal, which would be the node's end.
TEST_F(CoordinatorChannelTest, AMessageThatMakesNoSenseEndsItsStreamAndNoMore) {
  StartService();
  StartClient(service_->address());
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 1; }));
  client_->Send(Heartbeat{.number = kNumberMax + 1});
  ASSERT_TRUE(diary_.Await([&] { return connects_ == 2; }));
  client_->Send(Heartbeat{.number = 7});
  ASSERT_TRUE(diary_.Await([&] { return at_service_.size() == 1; }));
  EXPECT_EQ(std::get<Heartbeat>(at_service_[0]).number, 7U);
  EXPECT_TRUE(at_client_.empty());
}

TEST_F(CoordinatorChannelTest, OccupiedPortIsNamed) {
  StartService();
  const std::string port = service_->address().substr(service_->address().rfind(':') + 1);
  const Status status =
      CoordinatorService::Start("127.0.0.1", static_cast<uint16_t>(std::stoi(port)), *loop_, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(attune::Message(status).find("port " + port), std::string_view::npos);
}

}  // namespace
}  // namespace attune::ps::coordinator_channel_test
