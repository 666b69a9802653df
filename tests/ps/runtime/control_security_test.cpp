// The control channel with the job's certificates and secret.
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "ps/runtime/coordinator_client.h"
#include "ps/runtime/coordinator_service.h"
#include "tests/ps/transport/certificates.h"

namespace attune::ps {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

class ControlSecurityTest : public testing::Test {
 protected:
  ControlSecurityTest()
      : root_(std::filesystem::temp_directory_path() / ("attune-control-" + std::to_string(::getpid()))) {
    authority_.Write(root_ / "job", {});
    authority_.Write(root_ / "other", {.name = "another-uid"});
  }
  ~ControlSecurityTest() override {
    client_.reset();
    service_.reset();
    std::filesystem::remove_all(root_);
  }

  ControlSecurity Security(const std::string& certificates, const std::string& token = "") {
    return {
        .job_uid = "uid", .token = token, .tls_directory = certificates.empty() ? "" : (root_ / certificates).string()};
  }
  void Connect(const ControlSecurity& service, const ControlSecurity& client) {
    auto started = CoordinatorService::Start(
        "127.0.0.1", 0, *loop_,
        {.on_message = [this](ConnectionId, Message) { Note([&] { ++heard_; }); }, .on_closed = [](ConnectionId) {}},
        service);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
    client_ =
        CoordinatorClient::Start(service_->address(), *loop_,
                                 {.on_connected = [this] { Note([&] { client_->Send(Heartbeat{.number = 1}); }); },
                                  .on_disconnected = [](const Status&) {},
                                  .on_message =
                                      [this](Message message, uint32_t) {
                                        Note([&] {
                                          if (const auto* refused = std::get_if<JoinRefused>(&message))
                                            refused_ = refused->status;
                                        });
                                      }},
                                 client);
  }
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

  const std::filesystem::path root_;
  TestAuthority authority_;
  SystemTime time_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::Start("test", time_);
  std::mutex mutex_;
  std::condition_variable changed_;
  int heard_ = 0;
  Status refused_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<CoordinatorClient> client_;
};

TEST_F(ControlSecurityTest, NodesOfTheJobAreHeard) {
  Connect(Security("job", "the secret of this job"), Security("job", "the secret of this job"));
  EXPECT_TRUE(Await([&] { return heard_ == 1; })) << client_->last_error();
}

TEST_F(ControlSecurityTest, WrongSecretIsRefusedWithTheReason) {
  Connect(Security("", "the secret of this job"), Security("", "the Secret of this job"));
  ASSERT_TRUE(Await([&] { return !refused_.ok(); }));
  EXPECT_EQ(refused_.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(attune::Message(refused_).find("ecret"), std::string_view::npos) << refused_;
  EXPECT_EQ(heard_, 0);
}

TEST_F(ControlSecurityTest, CertificateOfAnotherJobIsRefused) {
  ControlSecurity client = Security("other");
  Connect(Security("job"), client);
  ASSERT_TRUE(Await([&] { return !refused_.ok(); })) << client_->last_error();
  EXPECT_EQ(refused_.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(heard_, 0);
}

TEST_F(ControlSecurityTest, UnusableCertificatesAreTold) {
  std::filesystem::remove(root_ / "job/ca.crt");
  const Status status = CoordinatorService::Start("127.0.0.1", 0, *loop_, {}, Security("job")).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(status).find("ca.crt"), std::string_view::npos) << status;
}

}  // namespace
}  // namespace attune::ps
