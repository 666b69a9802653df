#include "operator/kube/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"

namespace attune::kube {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: "https://h1:6443/", certificate-authority-data: Q0E=}}
- {name: c2, cluster: {server: "http://127.0.0.1:8001", certificate-authority: ca.pem}}
- {name: loose, cluster: {server: "https://h3", insecure-skip-tls-verify: true}}
- {name: nowhere, cluster: {}}
users:
- {name: certs, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}
- {name: token, user: {token: abc}}
- {name: file, user: {tokenFile: secrets/token}}
- {name: plugin, user: {exec: {command: aws}}}
- {name: old, user: {auth-provider: {name: gcp}}}
- {name: password, user: {username: me, password: x}}
- {name: damaged, user: {client-certificate-data: "not base64!", client-key-data: S0VZ}}
contexts:
- {name: one, context: {cluster: c1, user: certs, namespace: training}}
- {name: two, context: {cluster: c2, user: token}}
- {name: three, context: {cluster: c1, user: file}}
- {name: anonymous, context: {cluster: c1}}
- {name: plugin, context: {cluster: c1, user: plugin}}
- {name: old, context: {cluster: c1, user: old}}
- {name: password, context: {cluster: c1, user: password}}
- {name: damaged, context: {cluster: c1, user: damaged}}
- {name: loose, context: {cluster: loose, user: token}}
- {name: nowhere, context: {cluster: nowhere, user: token}}
- {name: dangling, context: {cluster: absent, user: token}}
)";

class KubeconfigTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  StatusOr<ClientConfig> Parse(const std::string& context) {
    return ParseKubeconfig(kText, directory_ / "config", context);
  }
  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("kubeconfig-" + std::to_string(::getpid()));
};

TEST_F(KubeconfigTest, CurrentContextWithEmbeddedCertificates) {
  StatusOr<ClientConfig> config = Parse("");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://h1:6443");
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->client_certificate_pem, "CERT");
  EXPECT_EQ(config->client_key_pem, "KEY");
  EXPECT_EQ(config->name_space, "training");
  EXPECT_EQ(config->context, "one");
}

TEST_F(KubeconfigTest, NamedContextWithTokenAndAuthorityFile) {
  EXPECT_EQ(Parse("two").status().code(), StatusCode::kNotFound) << "ca.pem is missing";
  ASSERT_TRUE(WriteFileAtomically(directory_ / "ca.pem", "AUTHORITY").ok());
  StatusOr<ClientConfig> config = Parse("two");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "http://127.0.0.1:8001");
  EXPECT_EQ(config->ca_pem, "AUTHORITY");
  EXPECT_EQ(config->token, "abc");
  EXPECT_EQ(config->name_space, "default");
}

TEST_F(KubeconfigTest, TokenFilesStartAtTheKubeconfig) {
  EXPECT_EQ(Parse("three")->token_file, (directory_ / "secrets/token").string());
  EXPECT_EQ(Parse("anonymous")->token, "");
}

TEST_F(KubeconfigTest, WhatIsNotUnderstoodIsRefusedInWords) {
  struct {
    const char* context;
    StatusCode want;
    const char* text;
  } cases[] = {
      {"plugin", StatusCode::kUnimplemented, "(exec)"},
      {"old", StatusCode::kUnimplemented, "(auth-provider)"},
      {"password", StatusCode::kUnimplemented, "user name and password"},
      {"damaged", StatusCode::kInvalidArgument, "client-certificate-data is not base64"},
      {"loose", StatusCode::kInvalidArgument, "insecure-skip-tls-verify is refused"},
      {"nowhere", StatusCode::kInvalidArgument, "no server address"},
      {"dangling", StatusCode::kInvalidArgument, "cluster \"absent\" does not exist; it has: c1, c2"},
      {"missing", StatusCode::kInvalidArgument, "context \"missing\" does not exist; it has: one, two"},
  };
  for (const auto& c : cases) {
    Status status = Parse(c.context).status();
    EXPECT_EQ(status.code(), c.want) << c.context << ": " << status;
    EXPECT_THAT(ToString(status), HasSubstr(c.text));
  }
}

TEST_F(KubeconfigTest, DamagedFilesNeverThrow) {
  for (const char* text :
       {"", "just text", "- a\n- b", "a: [", "contexts: 5\ncurrent-context: x", "current-context: [a]",
        "current-context: x\ncontexts: [5, {name: x, context: 7}]", "current-context: x\ncontexts: {a: b}"}) {
    EXPECT_EQ(ParseKubeconfig(text, "config", "").status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(ToString(ParseKubeconfig("a: 1\nb: [", "config", "").status()), HasSubstr("line "));
}

TEST_F(KubeconfigTest, MissingFileSaysWhatToDo) {
  Status status = LoadKubeconfig(directory_ / "absent", "").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(ToString(status), HasSubstr("--kubeconfig"));
}

TEST_F(KubeconfigTest, ServiceAccountDirectory) {
  EXPECT_EQ(ServiceAccountConfig(directory_, "443").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(directory_ / "ca.crt", "CA").ok());
  ASSERT_TRUE(WriteFileAtomically(directory_ / "namespace", "attune-system\n").ok());
  StatusOr<ClientConfig> config = ServiceAccountConfig(directory_, "443");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://kubernetes.default.svc:443");
  EXPECT_EQ(config->name_space, "attune-system");
  EXPECT_EQ(config->token_file, (directory_ / "token").string());
}

TEST(Base64Decode, KnownTexts) {
  struct {
    const char* encoded;
    const char* want;
  } cases[] = {
      {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9v\nYmFy", "foobar"}, {"+/+/", "\xfb\xff\xbf"}};
  for (const auto& c : cases) EXPECT_EQ(*Base64Decode(c.encoded), c.want) << c.encoded;
  for (const char* bad : {"Z", "Zg=", "Z===", "====", "Zg==Zg==", "Z*==", "=Zg="})
    EXPECT_FALSE(Base64Decode(bad).ok()) << bad;
}

}  // namespace
}  // namespace attune::kube
