// The service over a real gRPC connection on loopback, with the in-memory API reviewing tokens.
#include "operator/telemetry/service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "attune/v1/telemetry.grpc.pb.h"
#include "operator/local/memory_api.h"
#include "proto/contract.h"
#include "sidecar/operator_stream.h"
#include "tests/operator/kube/scripted_server.h"

namespace attune::telemetry {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;

// A sidecar as plain blocking calls, each bounded by the stream's deadline.
class Client {
 public:
  Client(const std::string& address, const std::string& token) {
    stub_ = v1::Telemetry::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    context_.set_deadline(std::chrono::system_clock::now() + seconds(20));
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    stream_ = stub_->Connect(&context_);
  }
  ~Client() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }
  bool Say(const v1::SidecarMessage& message) { return stream_->Write(message); }
  bool SayHello(const v1::SidecarHello& hello) {
    v1::SidecarMessage message;
    *message.mutable_hello() = hello;
    return Say(message);
  }
  std::optional<v1::OperatorMessage> Hear() {
    v1::OperatorMessage message;
    return stream_->Read(&message) ? std::optional(message) : std::nullopt;
  }
  grpc::Status Finish() {
    finished_ = true;
    stream_->WritesDone();
    return stream_->Finish();
  }

 private:
  std::unique_ptr<v1::Telemetry::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SidecarMessage, v1::OperatorMessage>> stream_;
  bool finished_ = false;
};

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    const Json job = {{"apiVersion", "attune.dev/v1alpha1"},
                      {"kind", "TrainingJob"},
                      {"metadata", {{"name", "j"}, {"namespace", "default"}}},
                      {"spec", Json::object()}};
    job_uid_ = kube::Uid(*api_.Create(kube::kTrainingJobs, job));
    store_->OnNews([this](const std::string&, const std::string&) {
      const std::lock_guard lock(mutex_);
      ++news_;
      changed_.notify_all();
    });
    Start(true);
  }
  void TearDown() override { service_.reset(); }

  void Start(bool authenticate) {
    service_.reset();
    auto started =
        Service::Start({.listen = "127.0.0.1:0", .report_seconds = 2, .authenticate = authenticate}, api_, *store_);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
  }

  // A worker's pod, owned by the job, and what its sidecar says.
  v1::SidecarHello MakePod(const std::string& name, uint32_t index, const std::string& owner_uid) {
    const Json pod = {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata",
                       {{"name", name},
                        {"namespace", "default"},
                        {"labels", {{contract::kLabelRole, "worker"}, {contract::kLabelIndex, std::to_string(index)}}},
                        {"ownerReferences", Json::array({{{"apiVersion", "attune.dev/v1alpha1"},
                                                          {"kind", "TrainingJob"},
                                                          {"name", "j"},
                                                          {"uid", owner_uid},
                                                          {"controller", true}}})}}},
                      {"spec", {{"containers", Json::array({{{"name", "worker"}, {"image", "x"}}})}}}};
    auto created = api_.Create(kube::kPods, pod);
    EXPECT_TRUE(created.ok()) << created.status();
    v1::SidecarHello hello;
    hello.set_protocol_version(contract::kProtocolVersion);
    hello.set_namespace_("default");
    hello.set_job("j");
    hello.set_job_uid(job_uid_);
    hello.set_pod(name);
    hello.set_pod_uid(std::string(kube::Uid(*created)));
    hello.set_role("worker");
    hello.set_index(index);
    return hello;
  }
  std::string Token(const std::string& pod, const std::string& audience = contract::kTokenAudience) {
    return *api_.IssueToken({"default", pod}, {audience}, time_.WallNow() + std::chrono::hours(1));
  }
  bool WaitFor(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), condition);
  }
  JobSample Sample() { return store_->Sample(job_uid_, time_.Now()); }
  grpc::Status Refusal(const std::string& token, const v1::SidecarHello& hello) {
    Client client(service_->address(), token);
    client.SayHello(hello);
    EXPECT_FALSE(client.Hear().has_value());
    return client.Finish();
  }

  SystemTime time_;
  local::MemoryApi api_{time_};
  std::unique_ptr<JobStore> store_ = JobStore::Create();
  std::unique_ptr<Service> service_;
  std::string job_uid_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int news_ = 0;
};

TEST_F(ServiceTest, ASidecarIsAcceptedReportsAndGetsDirectives) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(client.SayHello(hello));
  const auto accepted = client.Hear();
  ASSERT_TRUE(accepted.has_value() && accepted->has_accepted());
  EXPECT_EQ(accepted->accepted().report_seconds(), 2);

  v1::SidecarMessage report;
  report.mutable_report()->mutable_window()->set_sequence(7);
  report.mutable_report()->mutable_window()->set_duration_seconds(1);
  report.mutable_report()->mutable_window()->mutable_worker()->set_samples(500);
  ASSERT_TRUE(client.Say(report));
  ASSERT_TRUE(WaitFor([&] { return Sample().pods.size() == 1 && Sample().pods[0].window.sequence() == 7; }));
  EXPECT_TRUE(Sample().pods[0].connected);
  EXPECT_EQ(Sample().rate, 500);

  v1::Directive drain;
  drain.mutable_drain()->set_reason("scaled down");
  ASSERT_TRUE(service_->Send(hello.pod_uid(), drain, "first"));
  ASSERT_TRUE(service_->Send(hello.pod_uid(), drain, "second"));
  const auto first = client.Hear();
  const auto second = client.Hear();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->directive().drain().reason(), "scaled down");
  EXPECT_EQ(first->directive().id(), 1U);
  EXPECT_EQ(second->directive().id(), 2U);
  v1::SidecarMessage result;
  result.mutable_directive_result()->set_id(1);
  result.mutable_directive_result()->set_message("still starting");
  ASSERT_TRUE(client.Say(result));
  ASSERT_TRUE(WaitFor([&] { return Sample().answers.contains("first"); }));
  EXPECT_EQ(Sample().answers["first"].outcome, DirectiveAnswer::Outcome::kRefused);
  EXPECT_EQ(Sample().answers["first"].message, "still starting");
  EXPECT_FALSE(Sample().answers.contains("second"));

  EXPECT_TRUE(client.Finish().ok());
  ASSERT_TRUE(WaitFor([&] { return !Sample().pods[0].connected; }));
  EXPECT_EQ(Sample().answers["second"].outcome, DirectiveAnswer::Outcome::kLost) << "it never answered";
  EXPECT_FALSE(service_->Send(hello.pod_uid(), drain)) << "nobody is there";
}

TEST_F(ServiceTest, AnOtherProtocolVersionIsRefusedWithBothNumbers) {
  v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  hello.set_protocol_version(99);
  const grpc::Status status = Refusal(Token("j-worker-0"), hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("version 99, the operator speaks 1"));
}

TEST_F(ServiceTest, MissingWrongAndForeignTokensAreRefused) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  MakePod("j-worker-1", 1, job_uid_);
  EXPECT_EQ(Refusal("", hello).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Refusal("made-up", hello).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Refusal(Token("j-worker-0", "another-audience"), hello).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Refusal(Token("j-worker-1"), hello).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Sample().pods.empty());
}

TEST_F(ServiceTest, APodOfAnotherJobIsRefusedWhateverItClaims) {
  const Json other = {{"apiVersion", "attune.dev/v1alpha1"},
                      {"kind", "TrainingJob"},
                      {"metadata", {{"name", "other"}, {"namespace", "default"}}},
                      {"spec", Json::object()}};
  const std::string other_uid(kube::Uid(*api_.Create(kube::kTrainingJobs, other)));
  const v1::SidecarHello claims_j = MakePod("j-worker-0", 0, other_uid);
  EXPECT_EQ(Refusal(Token("j-worker-0"), claims_j).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::SidecarHello wrong_role = MakePod("j-worker-1", 1, job_uid_);
  wrong_role.set_role("server");
  EXPECT_EQ(Refusal(Token("j-worker-1"), wrong_role).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(ServiceTest, AReportBeforeTheHelloIsRefused) {
  Client client(service_->address(), "");
  v1::SidecarMessage report;
  report.mutable_report();
  client.Say(report);
  EXPECT_FALSE(client.Hear().has_value());
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, AnOversizedMessageEndsTheStreamAndTakesNoMemory) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  client.SayHello(hello);
  ASSERT_TRUE(client.Hear().has_value());
  v1::SidecarMessage huge;
  huge.mutable_final()->set_summary(std::string(1 << 20, 'x'));
  client.Say(huge);
  EXPECT_FALSE(client.Hear().has_value());
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServiceTest, TheEndOfTheServiceEndsOpenStreams) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  client.SayHello(hello);
  ASSERT_TRUE(client.Hear().has_value());
  service_.reset();
  EXPECT_FALSE(client.Hear().has_value());
  EXPECT_FALSE(client.Finish().ok());
}

TEST_F(ServiceTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  const auto second =
      Service::Start({.listen = service_->address(), .report_seconds = 1, .authenticate = true}, api_, *store_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(ToString(second.status()), HasSubstr(service_->address()));
}

// What the operator says to a sidecar that trusts `authority`; empty when the connection does not come about.
std::optional<v1::OperatorMessage> FirstWord(const std::string& address, const std::string& authority,
                                             const v1::SidecarHello& hello) {
  std::promise<std::optional<v1::OperatorMessage>> word;
  std::atomic<bool> heard = false;
  const auto stream = sidecar::OperatorStream::Create(
      {.target = address, .token_file = "", .authority = authority}, [&](uint64_t, const sidecar::RelayInput& input) {
        const auto* said = std::get_if<sidecar::OperatorSaid>(&input);
        const bool ended = std::holds_alternative<sidecar::StreamEnded>(input);
        if ((said == nullptr && !ended) || heard.exchange(true)) return;
        word.set_value(said == nullptr ? std::nullopt : std::optional(said->message));
      });
  stream->Open();
  v1::SidecarMessage message;
  *message.mutable_hello() = hello;
  stream->Send(message);
  auto future = word.get_future();
  EXPECT_EQ(future.wait_for(seconds(20)), std::future_status::ready);
  return future.get();
}

TEST_F(ServiceTest, WithACertificateOnlySidecarsThatTrustItsAuthorityAreServed) {
  const kube::TestCertificate own = kube::MakeTestCertificate(), other = kube::MakeTestCertificate();
  service_.reset();
  auto started = Service::Start({.listen = "127.0.0.1:0",
                                 .report_seconds = 2,
                                 .authenticate = false,
                                 .certificate = ServerCertificate{own.certificate_pem, own.key_pem}},
                                api_, *store_);
  ASSERT_TRUE(started.ok()) << started.status();
  service_ = *std::move(started);
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  const auto accepted = FirstWord(service_->address(), own.certificate_pem, hello);
  ASSERT_TRUE(accepted.has_value());
  EXPECT_TRUE(accepted->has_accepted());
  EXPECT_FALSE(FirstWord(service_->address(), other.certificate_pem, hello).has_value()) << "another authority";
  EXPECT_FALSE(FirstWord(service_->address(), "", hello).has_value()) << "no TLS";
}

TEST_F(ServiceTest, ACertificateThatIsNoneIsAnError) {
  const auto broken = Service::Start(
      {.listen = "127.0.0.1:0", .report_seconds = 1, .authenticate = true, .certificate = ServerCertificate{"a", "b"}},
      api_, *store_);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(ToString(broken.status()), HasSubstr("do not fit together"));
}

}  // namespace
}  // namespace attune::telemetry
