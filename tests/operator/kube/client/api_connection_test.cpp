// What a client shows to a server, and what it does when the server refuses or is busy: over real connections.
#include "operator/kube/client/api_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"
#include "operator/kube/client/rest_api.h"
#include "tests/operator/kube/scripted_server.h"
#include "tests/operator/kube/signal_log.h"

namespace attune::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

}  // namespace
}  // namespace attune::kube
