// The control channel with the job's certificates and secret.
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "ps/runtime/control/coordinator_client.h"
#include "ps/runtime/control/coordinator_service.h"
#include "tests/ps/transport/certificates.h"

namespace attune::ps::control_security_test {
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
  void StartService(const ControlSecurity& service, uint16_t port) {
    auto started = CoordinatorService::Start(
        "127.0.0.1", port, *loop_,
        {.on_message = [this](ConnectionId, Message) { Note([&] { ++heard_; }); }, .on_closed = [](ConnectionId) {}},
        service);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
  }
  void Connect(const ControlSecurity& service, const ControlSecurity& client) {
    StartService(service, 0);
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

  // Why the client is not connected, other than that it has just begun to dial.
  bool AwaitError() {
    const MonotonicTime until = time_.Now() + kDeadline;
    while (time_.Now() < until) {
      const std::string error(attune::Message(client_->last_error()));
      if (error.find("no coordinator answers") != std::string::npos || error.find("refused") != std::string::npos) {
        return true;
      }
      std::this_thread::yield();
    }
    return false;
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

TEST_F(ControlSecurityTest, TokenAloneEncryptsAndAuthenticatesBothSides) {
  Connect(Security("", "the secret of this job"), Security("", "the secret of this job"));
  EXPECT_TRUE(Await([&] { return heard_ == 1; })) << client_->last_error();
}

// Nothing of it is final: what answers at an address may be another one tomorrow.
struct StrangerCase {
  const char* name;
  ControlSecurity service, client;
};

TEST_F(ControlSecurityTest, StrangersAreNotHeardAndDialAgain) {
  const ControlSecurity ours = Security("", "the secret of this job");
  ControlSecurity other_job = ours;
  other_job.job_uid = "another-uid";
  ControlSecurity other_job_in_clear = Security("");
  other_job_in_clear.job_uid = "another-uid";
  const StrangerCase cases[] = {
      {"another token", ours, Security("", "the Secret of this job")},
      {"no token", ours, Security("")},
      {"the same token in another job", ours, other_job},
      {"a token where none is known", Security(""), ours},
      {"another job without a token", Security(""), other_job_in_clear},
      {"a certificate of another job", Security("job"), Security("other")},
      {"another token inside the job's certificates", Security("job", "the secret of this job"),
       Security("job", "the Secret of this job")},
  };
  for (const StrangerCase& test : cases) {
    Connect(test.service, test.client);
    ASSERT_TRUE(AwaitError()) << test.name;
    EXPECT_EQ(attune::Message(client_->last_error()).find("ecret of this"), std::string_view::npos) << test.name;
    EXPECT_EQ(heard_, 0) << test.name;
    EXPECT_TRUE(refused_.ok()) << test.name << ": the core would take it for the coordinator's word: " << refused_;
    client_.reset();
    service_.reset();
  }
}

TEST_F(ControlSecurityTest, NodeThatWasRefusedIsHeardByTheRightCoordinatorAtTheSameAddress) {
  Connect(Security("", "the token of another job"), Security("", "the secret of this job"));
  ASSERT_TRUE(AwaitError());
  const std::string address = service_->address();
  const auto port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  service_.reset();
  StartService(Security("", "the secret of this job"), port);
  EXPECT_TRUE(Await([&] { return heard_ == 1; })) << client_->last_error();
}

TEST_F(ControlSecurityTest, CoordinatorThatCannotTellStrangersApartListensOnLoopbackOnly) {
  const Status status = CoordinatorService::Start("0.0.0.0", 0, *loop_, {}, Security("")).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(status).find("ATTUNE_JOB_TOKEN_FILE"), std::string_view::npos) << status;
  for (const ControlSecurity& proves : {Security("job"), Security("", "the secret of this job")}) {
    const Status accepted = CoordinatorService::Start("0.0.0.0", 0, *loop_, {}, proves).status();
    EXPECT_TRUE(accepted.ok()) << accepted;
  }
}

TEST_F(ControlSecurityTest, UnusableCertificatesAreTold) {
  std::filesystem::remove(root_ / "job/ca.crt");
  const Status status = CoordinatorService::Start("127.0.0.1", 0, *loop_, {}, Security("job")).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(status).find("ca.crt"), std::string_view::npos) << status;
}

}  // namespace
}  // namespace attune::ps::control_security_test
