// What a client shows to a server, and what it does when the server refuses or is busy: over real connections.
#include "operator/kube/client/api_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"
#include "operator/kube/client/api_error.h"
#include "operator/kube/client/rest_api.h"
#include "tests/operator/kube/scripted_server.h"
#include "tests/operator/kube/signal_log.h"

namespace attune::kube::api_connection_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Exchange = ScriptedServer::Exchange;

constexpr char kPod[] = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"}})";
constexpr char kUnauthorized[] = R"({"kind":"Status","reason":"Unauthorized","code":401,"message":"Unauthorized"})";
constexpr char kV1[] = "client.authentication.k8s.io/v1";

std::unique_ptr<Api> Client(const ClientConfig& config) {
  StatusOr<std::unique_ptr<Api>> api = MakeRestApi(config);
  EXPECT_TRUE(api.ok()) << api.status();
  return api.ok() ? *std::move(api) : nullptr;
}

// A program that gives credentials: it gives the next file of its directory, which is what `status` is to be, each
// time.
class CredentialProgram {
 public:
  CredentialProgram() {
    std::filesystem::create_directories(directory_);
    EXPECT_TRUE(WriteFileAtomically(directory_ / "program",
                                    "#!/bin/sh\n"
                                    "cd " +
                                        directory_.string() +
                                        " && echo >> runs && "
                                        "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
                                        "\"kind\":\"ExecCredential\",\"status\":%s}' \"$(cat status)\"\n",
                                    0755)
                    .ok());
  }
  ~CredentialProgram() { std::filesystem::remove_all(directory_); }
  void Gives(const Json& status) { EXPECT_TRUE(WriteFileAtomically(directory_ / "status", status.dump()).ok()); }
  size_t Runs() const { return ReadFile(directory_ / "runs").value_or("").size(); }
  ExecPlugin Plugin() const { return {.api_version = kV1, .command = directory_ / "program"}; }

 private:
  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("credential-program-" + std::to_string(::getpid()));
};

TEST(ApiConnectionCredentials, ATokenOfAProgramIsUsedAndAskedForAgainOnceWhenItIsRefused) {
  CredentialProgram program;
  program.Gives({{"token", "old"}});
  std::string good = "old";
  ScriptedServer server([&](Exchange& e) {
    if (e.HasHeader("Authorization: Bearer " + good)) return e.Reply(200, kPod);
    program.Gives({{"token", "new"}});
    e.Reply(401, kUnauthorized);
  });
  ClientConfig config{.server = server.address(), .exec = program.Plugin(), .context = "prod"};
  auto api = Client(config);
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_EQ(program.Runs(), 1U);
  good = "new";
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_EQ(program.Runs(), 2U);
  EXPECT_EQ(server.requests(), 4);
  good = "none of them";
  const Status refused = api->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnauthenticated);
  EXPECT_LE(program.Runs(), 3U);
  EXPECT_LE(server.requests(), 6);
}

TEST(ApiConnectionCredentials, AProgramThatFailsIsTheReasonOfTheCall) {
  ScriptedServer server([](Exchange& e) { e.Reply(200, kPod); });
  ClientConfig config{.server = server.address(), .exec = {.api_version = kV1, .command = "/bin/false"}};
  config.context = "prod";
  auto api = Client(config);
  const Status status = api->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(status), AllOf(HasSubstr("reading Pod n/a"), HasSubstr("context prod from '/bin/false'"),
                                      HasSubstr("exit code 1")));
  SignalLog log;
  EXPECT_FALSE(api->StartWatch(kPods, {.resource_version = "5"}, log.Handler()).ok());
  EXPECT_EQ(server.requests(), 0) << "nothing is sent without credentials";
}

TEST(ApiConnectionCredentials, ANewClientCertificateOfAProgramIsShownOnNewConnections) {
  const TestCertificate own = MakeTestCertificate(), one = MakeTestCertificate("DNS:x", "one"),
                        two = MakeTestCertificate("DNS:x", "two");
  CredentialProgram program;
  program.Gives({{"clientCertificateData", one.certificate_pem}, {"clientKeyData", one.key_pem}});
  std::vector<std::string> seen;
  std::string good = "one";
  ScriptedServer server(
      [&](Exchange& e) {
        seen.push_back(e.client_certificate);
        if (e.client_certificate == good) return e.Reply(200, kPod);
        e.Reply(401, kUnauthorized);
      },
      &own, /*clients=*/true);
  auto api = Client(ClientConfig{.server = server.address(), .ca_pem = own.certificate_pem, .exec = program.Plugin()});
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  program.Gives({{"clientCertificateData", two.certificate_pem}, {"clientKeyData", two.key_pem}});
  good = "two";
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_THAT(seen, ElementsAre("one", "one", "two"));
}

TEST(ApiConnectionCredentials, ATokenFileThatIsRotatedIsReadAgainByTheRunningProcess) {
  const auto file = std::filesystem::path(::testing::TempDir()) / ("rotated-token-" + std::to_string(::getpid()));
  ASSERT_TRUE(WriteFileAtomically(file, "t0").ok());
  std::string good = "t0";
  ScriptedServer server([&](Exchange& e) {
    if (e.HasHeader("Authorization: Bearer " + good)) return e.Reply(200, kPod);
    e.Reply(401, kUnauthorized);
  });
  auto api = Client(ClientConfig{.server = server.address(), .token_file = file});
  for (int rotation = 1; rotation <= 3; ++rotation) {
    EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
    good = "t" + std::to_string(rotation);
    ASSERT_TRUE(WriteFileAtomically(file, good).ok());
  }
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  std::filesystem::remove(file);
}

TEST(ApiConnectionHeaders, WhoTheClientIsAndWhomItActsAs) {
  std::string headers;
  ScriptedServer server([&](Exchange& e) {
    headers = e.headers;
    e.Reply(200, kPod);
  });
  ClientConfig config{.server = server.address(), .program = "attune-operator"};
  config.impersonation = {
      .user = "jane", .uid = "7", .groups = {"b", "a"}, .extra = {{"Scopes", {"x"}}, {"scopes", {"y"}}}};
  ASSERT_TRUE(Client(config)->Get(kPods, {"n", "a"}).ok());
  EXPECT_THAT(headers, HasSubstr("\r\nUser-Agent: attune-operator/"));
  EXPECT_THAT(headers, HasSubstr("(linux/"));
  EXPECT_THAT(headers, AllOf(HasSubstr("\r\nImpersonate-User: jane\r\n"), HasSubstr("\r\nImpersonate-Uid: 7\r\n"),
                             HasSubstr("\r\nImpersonate-Group: b\r\nImpersonate-Group: a\r\n"),
                             HasSubstr("mpersonate-Extra-Scopes: x\r\n"), HasSubstr("mpersonate-Extra-scopes: y\r\n")));
}

TEST(ApiConnectionHeaders, LineBreaksInThemAreRefused) {
  ClientConfig config{.server = "http://127.0.0.1:1"};
  config.impersonation = {.user = "jane\r\nImpersonate-Group: system:masters"};
  const Status status = MakeRestApi(config).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ToString(status), HasSubstr("header Impersonate-User"));
}

TEST(ApiConnectionTls, AnotherServerNameIsAskedForAndVerified) {
  const TestCertificate certificate = MakeTestCertificate("DNS:api.example.com");
  std::string asked, headers;
  ScriptedServer server(
      [&](Exchange& e) {
        asked = e.server_name;
        headers = e.headers;
        e.Reply(200, kPod);
      },
      &certificate);
  ClientConfig config{.server = server.address(), .ca_pem = certificate.certificate_pem};
  config.tls_server_name = "api.example.com";
  const auto got = Client(config)->Get(kPods, {"n", "a"});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(asked, "api.example.com");
  EXPECT_THAT(headers, HasSubstr("\r\nHost: 127.0.0.1:")) << "proxies route by it: it stays the address";

  for (const char* wrong : {"", "other.example.com", "127.0.0.1"}) {
    config.tls_server_name = wrong;
    const Status status = Client(config)->Get(kPods, {"n", "a"}).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << wrong;
  }
  EXPECT_EQ(server.requests(), 1);
}

TEST(ApiConnectionTls, AnAddressAsServerNameIsVerifiedAsSuch) {
  const TestCertificate certificate = MakeTestCertificate("IP:10.1.2.3"), other = MakeTestCertificate("IP:10.1.2.3");
  ScriptedServer server([](Exchange& e) { e.Reply(200, e.server_name.empty() ? kPod : "{}"); }, &certificate);
  ClientConfig config{.server = server.address(), .ca_pem = certificate.certificate_pem};
  config.tls_server_name = "10.1.2.3";
  EXPECT_TRUE(Client(config)->Get(kPods, {"n", "a"}).ok());
  config.tls_server_name = "10.1.2.4";
  EXPECT_EQ(Client(config)->Get(kPods, {"n", "a"}).status().code(), StatusCode::kFailedPrecondition);
  config.tls_server_name = "10.1.2.3";
  config.ca_pem = other.certificate_pem;
  EXPECT_EQ(Client(config)->Get(kPods, {"n", "a"}).status().code(), StatusCode::kFailedPrecondition)
      << "a right name does not make up for an authority that is not trusted";
}

TEST(ApiConnectionBusy, ACallThatIsSentAwayIsRepeatedAfterTheTimeAndOthersWaitForIt) {
  const SystemTime time;
  std::atomic<int> answers = 0;
  std::atomic<int64_t> second_at = 0;
  const MonotonicTime begin = time.Now();
  ScriptedServer server([&](Exchange& e) {
    if (answers++ == 0) return e.Reply(429, "slow down", "text/plain", "Retry-After: 1\r\n");
    int64_t none = 0;
    second_at.compare_exchange_strong(none, (time.Now() - begin) / milliseconds(1));
    e.Reply(200, kPod);
  });
  auto api = Client(ClientConfig{.server = server.address()});
  EXPECT_TRUE(api->Create(kPods, Json::parse(kPod)).ok()) << "refused is not done: a creation is safe to repeat";
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_EQ(server.requests(), 3);
  EXPECT_GE(second_at, 1000);
}

TEST(ApiConnectionBusy, OtherCallsAreNotSentInTheTimeThatTheServerAskedFor) {
  ScriptedServer server([](Exchange& e) { e.Reply(429, "slow down", "text/plain", "Retry-After: 60\r\n"); });
  auto api = Client(ClientConfig{.server = server.address()});
  const Status first = api->Get(kPods, {"n", "a"}).status();
  EXPECT_THAT(ToString(first), HasSubstr("slow down"));
  EXPECT_EQ(RetryAfter(first), seconds(60));
  for (int i = 0; i < 20; ++i) {
    const Status other = api->Delete(kPods, {"n", "a"});
    EXPECT_EQ(other.code(), StatusCode::kUnavailable);
    EXPECT_THAT(ToString(other), HasSubstr("(429) to send nothing"));
    EXPECT_GT(*RetryAfter(other), seconds(50));
  }
  EXPECT_EQ(server.requests(), 1);
}

TEST(ApiConnectionBusy, A429ToAWatchHoldsUpCallsAsWell) {
  ScriptedServer server([](Exchange& e) { e.Reply(429, "slow down", "text/plain", "Retry-After: 60\r\n"); });
  auto api = Client(ClientConfig{.server = server.address()});
  SignalLog log;
  auto watch = api->StartWatch(kPods, {.resource_version = "5"}, log.Handler());
  ASSERT_TRUE(log.WaitUntil([](const std::vector<WatchSignal>& signals) { return !signals.empty(); }));
  EXPECT_THAT(ToString(api->Get(kPods, {"n", "a"}).status()), HasSubstr("(429) to send nothing"));
  EXPECT_EQ(server.requests(), 1);
}

TEST(BusyFor, IsBoundedWhateverTheServerSays) {
  struct {
    HttpHead head;
    std::optional<Duration> want;
  } cases[] = {{{.status = 200, .retry_after = seconds(5)}, std::nullopt},
               {{.status = 503, .retry_after = seconds(5)}, std::nullopt},
               {{.status = 429}, seconds(1)},
               {{.status = 429, .retry_after = seconds(0)}, seconds(1)},
               {{.status = 429, .retry_after = seconds(7)}, seconds(7)},
               {{.status = 429, .retry_after = std::chrono::hours(24)}, std::chrono::minutes(1)}};
  for (const auto& c : cases) EXPECT_EQ(BusyFor(c.head), c.want) << c.head.status;
}

TEST(ApiConnectionLimit, CallsAreHeldToTheRate) {
  ScriptedServer server([](Exchange& e) { e.Reply(200, kPod); });
  ClientConfig config{.server = server.address(), .limit = {.per_second = 50, .burst = 2}};
  auto api = Client(config);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(99));
}

TEST(ApiConnectionLimit, ACallWhoseTurnIsTooLateSaysSo) {
  ScriptedServer server([](Exchange& e) { e.Reply(200, kPod); });
  ClientConfig config{.server = server.address(), .limit = {.per_second = 0.01, .burst = 1}};
  auto api = Client(config);
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  const Status late = api->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  EXPECT_THAT(ToString(late), AllOf(HasSubstr("reading Pod n/a: not sent"), HasSubstr("0.01 a second")));
  EXPECT_EQ(server.requests(), 1);
}

}  // namespace
}  // namespace attune::kube::api_connection_test
