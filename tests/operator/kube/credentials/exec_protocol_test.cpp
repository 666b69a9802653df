#include "operator/kube/credentials/exec_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::kube::exec_protocol_test {
namespace {

using End = CommandResult::End;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

ExecPlugin Plugin() { return {.api_version = kV1, .command = "cloud"}; }

std::string Answer(const std::string& status, const std::string& version = kV1) {
  return R"({"apiVersion":")" + version + R"(","kind":"ExecCredential","status":)" + status + "}";
}

TEST(ExecInfo, SaysThatThereIsNoTerminalAndDescribesTheClusterOnRequest) {
  ClientConfig config{.server = "https://h:6443", .ca_pem = "CA", .tls_server_name = "n", .proxy_url = "http://p:1"};
  config.exec = Plugin();
  config.exec.cluster_config = {{"audience", "x"}};
  EXPECT_EQ(Json::parse(ExecInfo(config)),
            Json::parse(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
                            "spec":{"interactive":false}})"));
  config.exec.provide_cluster_info = true;
  EXPECT_EQ(Json::parse(ExecInfo(config))["spec"],
            Json::parse(R"({"interactive":false,"cluster":{"server":"https://h:6443","tls-server-name":"n",
            "certificate-authority-data":"Q0E=","proxy-url":"http://p:1","config":{"audience":"x"}}})"));
}

TEST(ParseExecCredential, TokensCertificatesAndTimes) {
  const auto token = ParseExecCredential(
      Answer(R"({"token":" abc\n","expirationTimestamp":"2023-11-14T22:13:20.5Z","unknown":1})"), Plugin());
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->token, "abc");
  EXPECT_EQ(*token->expires, WallTime(std::chrono::milliseconds(1'700'000'000'500)));

  const auto both = ParseExecCredential(
      Answer(R"({"token":"t","clientCertificateData":"C","clientKeyData":"K","expirationTimestamp":null})"), Plugin());
  EXPECT_EQ(both->certificate_pem, "C");
  EXPECT_EQ(both->key_pem, "K");
  EXPECT_FALSE(both->expires);

  const auto zone =
      ParseExecCredential(Answer(R"({"token":"t","expirationTimestamp":"2023-11-15T00:13:20+02:00"})"), Plugin());
  EXPECT_EQ(*zone->expires, WallTime(std::chrono::seconds(1'700'000'000)));
  const auto far =
      ParseExecCredential(Answer(R"({"token":"t","expirationTimestamp":"9999-12-31T00:00:00Z"})"), Plugin());
  EXPECT_FALSE(far->expires) << "as good as never";
}

TEST(ParseExecCredential, WhatIsWrongIsSaidWithoutShowingIt) {
  struct {
    std::string why, output, text;
  } cases[] = {
      {"nothing", "", "no JSON object"},
      {"text before the object", "Opening a browser " + Answer(R"({"token":"secret"})"), "no JSON object"},
      {"a list", "[]", "no JSON object"},
      {"another kind", R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"Status"})", "where the kubeconfig"},
      {"another version", Answer(R"({"token":"secret"})", "client.authentication.k8s.io/v1beta1"),
       "gave client.authentication.k8s.io/v1beta1 where the kubeconfig says ExecCredential of "
       "client.authentication.k8s.io/v1"},
      {"no version", R"({"kind":"ExecCredential","status":{"token":"secret"}})", "without a version"},
      {"no status", R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})", "no status"},
      {"an empty status", Answer("{}"), "neither a token nor a client certificate"},
      {"a token that is no text", Answer(R"({"token":5})"), "neither a token"},
      {"half a pair", Answer(R"({"clientCertificateData":"secret"})"), "not both"},
      {"the other half", Answer(R"({"token":"t","clientKeyData":"secret"})"), "not both"},
      {"a header of its own", Answer(R"({"token":"secret\r\nImpersonate-User: root"})"), "no token has"},
      {"no time", Answer(R"({"token":"secret","expirationTimestamp":"soon"})"), "no RFC 3339 time"},
      {"a number as time", Answer(R"({"token":"secret","expirationTimestamp":17})"), "no RFC 3339 time"},
  };
  for (const auto& c : cases) {
    const Status status = ParseExecCredential(c.output, Plugin()).status();
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << c.why;
    EXPECT_THAT(attune::ToString(status), AllOf(HasSubstr(c.text), Not(HasSubstr("secret")), HasSubstr("by hand")))
        << c.why;
  }
}

TEST(StatusOfRun, EveryEndIsNamed) {
  struct {
    CommandResult result;
    std::string text;
  } cases[] = {
      {{.end = End::kExited, .code = 254, .errors = "not logged\nin\n"},
       "exit code 254: not logged in; run it by hand"},
      {{.end = End::kExited, .code = 1}, "exit code 1; run it"},
      {{.end = End::kSignaled, .code = 11}, "signal 11"},
      {{.end = End::kTimedOut}, "after 15 s and was killed"},
      {{.end = End::kTooMuchOutput}, "more than any credential"},
      {{.end = End::kCancelled}, "this process ends"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(attune::ToString(StatusOfRun(c.result, Plugin(), std::chrono::seconds(15))), HasSubstr(c.text));
  }
  EXPECT_EQ(StatusOfRun({.end = End::kExited, .code = 0, .errors = "a warning"}, Plugin(), {}), OkStatus());
}

TEST(ShownErrors, SecretsControlCharactersAndLengthAreTakenOut) {
  ExecPlugin plugin = Plugin();
  plugin.environment = {"CLIENT_SECRET=hunter22", "AWS_PROFILE=training", "API_KEY=abc"};
  struct {
    std::string why, errors, want;
  } cases[] = {
      {"words of people", "error: profile training not found\n", "error: profile training not found"},
      {"a variable named as a secret", "tried hunter22 twice: hunter22", "tried [...] twice: [...]"},
      {"a value too short to be found by", "abcabc", "abcabc"},
      {"a token", "got token=eyJhbGciOiJSUzI1NiIsImtpZCI6 end", "got [...] end"},
      {"a token in quotes", "\"k8s-aws-v1.aHR0cHM6Ly9zdHMuY29t\" expired", "\"[...]\" expired"},
      {"a long host name", "ec2-12-34-56-78.eu-west-1.compute.example.com:443 refused",
       "ec2-12-34-56-78.eu-west-1.compute.example.com:443 refused"},
      {"a path", "/home/me/.config/cloud/credentials.db", "/home/me/.config/cloud/credentials.db"},
      {"escape sequences and tabs", "\x1b[31mred\x1b[0m\t\tx\r\n\r\n", "[31mred [0m x"},
      {"nothing", " \n", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(ShownErrors(c.errors, plugin), c.want) << c.why;
  EXPECT_LE(ShownErrors(std::string(5000, 'x'), plugin).size(), 603U);
}

}  // namespace
}  // namespace attune::kube::exec_protocol_test
