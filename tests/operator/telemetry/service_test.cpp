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
#include "operator/local/api/memory_api.h"
#include "proto/contract.h"
#include "sidecar/operator_stream.h"
#include "tests/operator/kube/fake_api.h"
#include "tests/operator/kube/scripted_server.h"

namespace attune::telemetry::service_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;

// A sidecar as plain blocking calls, each bounded by the stream's deadline.
class Client {
 public:
  Client(const std::string& address, const std::string& token) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each client is a connection of its own
    stub_ = v1::Telemetry::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
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
  void Cancel() { context_.TryCancel(); }
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

// Counts what authentication asks of the API server.
class CountingApi final : public kube::FakeApi {
 public:
  explicit CountingApi(kube::Api& api) : api_(api) {}
  StatusOr<Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                     const kube::CallOptions& call) override {
    ++calls;
    return api_.Get(type, key, call);
  }
  StatusOr<Json> Create(const kube::ResourceType& type, const Json& object, const kube::CallOptions& call) override {
    ++calls;
    return api_.Create(type, object, call);
  }
  std::atomic<int> calls = 0;

 private:
  kube::Api& api_;
};

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    const Json job = {{"apiVersion", "attune.dev/v1alpha1"},
                      {"kind", "TrainingJob"},
                      {"metadata", {{"name", "j"}, {"namespace", "default"}}},
                      {"spec", Json::object()}};
    job_uid_ = kube::Uid(*memory_api_.Create(kube::kTrainingJobs, job));
    store_->OnNews([this](const std::string&, const std::string&) {
      const std::lock_guard lock(mutex_);
      ++news_;
      changed_.notify_all();
    });
    Start(true);
  }
  void TearDown() override { service_.reset(); }

  void Start(bool authenticate, Duration hello_timeout = seconds(20)) {
    service_.reset();
    auto started = Service::Start({.listen = "127.0.0.1:0",
                                   .report_seconds = 2,
                                   .authenticate = authenticate,
                                   .certificate = std::nullopt,
                                   .hello_timeout = hello_timeout,
                                   .may_direct = [this] { return may_direct_.load(); }},
                                  api_, *store_);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
  }

  // A worker's pod, owned by the job, and what its sidecar says.
  v1::SidecarHello MakePod(const std::string& name, uint32_t index, const std::string& owner_uid,
                           const Json& owner_patch = Json::object(), const std::string& name_space = "default") {
    Json pod = {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata",
                 {{"name", name},
                  {"namespace", name_space},
                  {"labels", {{contract::kLabelRole, "worker"}, {contract::kLabelIndex, std::to_string(index)}}},
                  {"ownerReferences", Json::array({{{"apiVersion", "attune.dev/v1alpha1"},
                                                    {"kind", "TrainingJob"},
                                                    {"name", "j"},
                                                    {"uid", owner_uid},
                                                    {"controller", true}}})}}},
                {"spec", {{"containers", Json::array({{{"name", "worker"}, {"image", "x"}}})}}}};
    pod["metadata"]["ownerReferences"][0].merge_patch(owner_patch);
    auto created = memory_api_.Create(kube::kPods, pod);
    EXPECT_TRUE(created.ok()) << created.status();
    v1::SidecarHello hello;
    hello.set_protocol_version(contract::kProtocolVersion);
    hello.set_namespace_(name_space);
    hello.set_job("j");
    hello.set_job_uid(job_uid_);
    hello.set_pod(name);
    hello.set_pod_uid(std::string(kube::Uid(*created)));
    hello.set_role("worker");
    hello.set_index(index);
    return hello;
  }
  std::string Token(const std::string& pod, const std::string& audience = contract::kTokenAudience,
                    const std::string& name_space = "default") {
    return *memory_api_.IssueToken({name_space, pod}, {audience}, time_.WallNow() + std::chrono::hours(1));
  }
  bool WaitFor(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), condition);
  }
  JobSample Sample() { return store_->Sample({"default", "j", job_uid_}, time_.Now()); }
  grpc::Status Refusal(const std::string& token, const v1::SidecarHello& hello) {
    Client client(service_->address(), token);
    client.SayHello(hello);
    EXPECT_FALSE(client.Hear().has_value());
    return client.Finish();
  }

  SystemTime time_;
  local::MemoryApi memory_api_{time_};
  CountingApi api_{memory_api_};
  // As the operator's cache: it follows what exists.
  std::unique_ptr<JobStore> store_ = JobStore::Create([this](const JobId& id) {
    const auto job = memory_api_.Get(kube::kTrainingJobs, {id.name_space, id.name});
    return job.ok() && kube::Uid(*job) == id.uid ? JobKnown::kYes : JobKnown::kNo;
  });
  std::unique_ptr<Service> service_;
  std::string job_uid_;
  std::atomic<bool> may_direct_ = true;
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
  EXPECT_FALSE(service_->Send(hello.pod_uid(), drain)) << "no process is there";
}

TEST_F(ServiceTest, AnOperatorThatLeadsNoLongerDirectsNoProcess) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(client.SayHello(hello));
  ASSERT_TRUE(client.Hear().has_value());
  v1::Directive drain;
  drain.mutable_drain()->set_reason("too late");
  may_direct_ = false;
  EXPECT_FALSE(service_->Send(hello.pod_uid(), drain));
  may_direct_ = true;
  drain.mutable_drain()->set_reason("in time");
  EXPECT_TRUE(service_->Send(hello.pod_uid(), drain));
  const auto heard = client.Hear();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->directive().drain().reason(), "in time");
}

TEST_F(ServiceTest, AnOtherProtocolVersionIsRefusedWithBothNumbers) {
  v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  hello.set_protocol_version(99);
  const grpc::Status status = Refusal(Token("j-worker-0"), hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("version 99, the operator speaks " + std::to_string(contract::kProtocolVersion)));
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

TEST_F(ServiceTest, AnOwnerThatIsNoControllerOrNoTrainingJobIsNotBelieved) {
  const v1::SidecarHello no_controller = MakePod("j-worker-0", 0, job_uid_, {{"controller", false}});
  EXPECT_EQ(Refusal(Token("j-worker-0"), no_controller).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const v1::SidecarHello left_out = MakePod("j-worker-1", 1, job_uid_, {{"controller", nullptr}});
  EXPECT_EQ(Refusal(Token("j-worker-1"), left_out).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const v1::SidecarHello other_kind = MakePod("j-worker-2", 2, job_uid_, {{"kind", "Job"}});
  EXPECT_EQ(Refusal(Token("j-worker-2"), other_kind).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const v1::SidecarHello other_group = MakePod("j-worker-3", 3, job_uid_, {{"apiVersion", "batch/v1"}});
  EXPECT_EQ(Refusal(Token("j-worker-3"), other_group).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Sample().pods.empty());
}

TEST_F(ServiceTest, APodOfAnotherNamespaceCannotSpeakForAJobAndCostsNoCall) {
  const v1::SidecarHello stranger = MakePod("j-worker-0", 0, job_uid_, Json::object(), "elsewhere");
  const std::string token = Token("j-worker-0", contract::kTokenAudience, "elsewhere");
  EXPECT_EQ(Refusal(token, stranger).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::SidecarHello lies = stranger;
  lies.set_namespace_("default");
  EXPECT_EQ(api_.calls, 0) << "there is no such job there: the API server is not asked";
  EXPECT_EQ(Refusal(token, lies).error_code(), grpc::StatusCode::PERMISSION_DENIED) << "the token says whose it is";
  EXPECT_TRUE(Sample().pods.empty());
}

TEST_F(ServiceTest, UselessTokensAreAskedAboutOnceAndASourceThatFailsOnAndOnHasToWait) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Refusal("made-up", hello).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_EQ(api_.calls, 1);
  grpc::StatusCode last = grpc::StatusCode::OK;
  for (int i = 0; i < 40; ++i) last = Refusal("made-up-" + std::to_string(i), hello).error_code();
  EXPECT_EQ(last, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LT(api_.calls, 40);
}

TEST_F(ServiceTest, AStreamWithoutAHelloEndsByItself) {
  Start(true, std::chrono::milliseconds(50));
  Client silent(service_->address(), "");
  EXPECT_FALSE(silent.Hear().has_value());
  EXPECT_EQ(silent.Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServiceTest, SilentStreamsPushEachOtherOutAndNotASidecar) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<Client>(service_->address(), ""));
  Client sidecar(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(sidecar.SayHello(hello));
  const auto accepted = sidecar.Hear();
  EXPECT_TRUE(accepted.has_value() && accepted->has_accepted());
  for (auto& client : silent) client->Cancel();
}

TEST_F(ServiceTest, AReconnectEndsTheStreamItReplaces) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client first(service_->address(), Token("j-worker-0")), second(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(first.SayHello(hello));
  ASSERT_TRUE(first.Hear().has_value());
  ASSERT_TRUE(second.SayHello(hello));
  ASSERT_TRUE(second.Hear().has_value());
  EXPECT_FALSE(first.Hear().has_value()) << "one stream per pod";
  v1::Directive drain;
  drain.mutable_drain();
  EXPECT_TRUE(service_->Send(hello.pod_uid(), drain));
  EXPECT_TRUE(second.Hear().has_value());
  EXPECT_TRUE(Sample().pods[0].connected);
}

TEST_F(ServiceTest, AStreamOfAJobThatIsGoneEndsWithItsNextWord) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(client.SayHello(hello));
  ASSERT_TRUE(client.Hear().has_value());
  ASSERT_TRUE(memory_api_.Delete(kube::kTrainingJobs, {"default", "j"}).ok());
  store_->Forget("default", "j");
  v1::SidecarMessage report;
  report.mutable_report();
  client.Say(report);
  EXPECT_FALSE(client.Hear().has_value());
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(Sample().pods.empty());
}

TEST_F(ServiceTest, PartsThatCannotBeTrueAreLeftOutAndTheRestIsKept) {
  const v1::SidecarHello hello = MakePod("j-worker-0", 0, job_uid_);
  Client client(service_->address(), Token("j-worker-0"));
  ASSERT_TRUE(client.SayHello(hello));
  ASSERT_TRUE(client.Hear().has_value());
  v1::SidecarMessage report;
  report.mutable_report()->mutable_window()->set_sequence(7);
  report.mutable_report()->mutable_window()->mutable_worker()->set_steps(3);
  report.mutable_report()->mutable_usage()->set_cpu_seconds(-1);
  ASSERT_TRUE(client.Say(report));
  ASSERT_TRUE(WaitFor([&] { return Sample().steps == 3; }));
  EXPECT_EQ(service_->implausible_reports(), 1U);
}

TEST_F(ServiceTest, APodOfAnotherJobIsRefusedWhateverItClaims) {
  const Json other = {{"apiVersion", "attune.dev/v1alpha1"},
                      {"kind", "TrainingJob"},
                      {"metadata", {{"name", "other"}, {"namespace", "default"}}},
                      {"spec", Json::object()}};
  const std::string other_uid(kube::Uid(*memory_api_.Create(kube::kTrainingJobs, other)));
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

TEST_F(ServiceTest, TelemetryThatReviewsNoTokensListensOnLoopbackOnly) {
  const auto open = Service::Start({.listen = "0.0.0.0:0", .report_seconds = 2, .authenticate = false}, api_, *store_);
  EXPECT_EQ(open.status().code(), StatusCode::kFailedPrecondition) << open.status();
  const auto reviewed =
      Service::Start({.listen = "0.0.0.0:0", .report_seconds = 2, .authenticate = true}, api_, *store_);
  EXPECT_TRUE(reviewed.ok()) << reviewed.status();
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
  EXPECT_EQ(broken.status().code(), StatusCode::kFailedPrecondition) << broken.status();
}

}  // namespace
}  // namespace attune::telemetry::service_test
