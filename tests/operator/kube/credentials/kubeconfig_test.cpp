#include "operator/kube/credentials/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/os/file.h"
#include "operator/kube/credentials/service_account.h"

namespace attune::kube::kubeconfig_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

constexpr char kText[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: "https://h1:6443/", certificate-authority-data: Q0E=}}
- {name: c2, cluster: {server: "http://127.0.0.1:8001", certificate-authority: ca.pem}}
- {name: loose, cluster: {server: "https://h3", insecure-skip-tls-verify: true}}
- {name: nowhere, cluster: {}}
- {name: behind, cluster: {server: "https://10.0.0.1", tls-server-name: api.example.com, proxy-url: "http://p:3128"}}
- {name: socks, cluster: {server: "https://h4", proxy-url: "socks5://user:secret@p:1080"}}
- {name: described, cluster: {server: "https://h5", extensions: [{name: other, extension: {a: 1}},
    {name: exec, extension: {audience: "12", count: 3, on: true, none: null, parts: [1.5, "true"]}}]}}
users:
- {name: certs, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}
- {name: token, user: {token: abc}}
- {name: file, user: {tokenFile: secrets/token}}
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never,
    args: [eks, get-token, "--cluster", a b], env: [{name: AWS_PROFILE, value: "x=y"}, {name: EMPTY}],
    installHint: get it, provideClusterInfo: true}}}
- {name: old-plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/helper}}}
- {name: acting, user: {token: abc, as: jane, as-uid: "7", as-groups: [a, b], as-user-extra: {scopes: [x, y]}}}
- {name: old, user: {auth-provider: {name: gcp}}}
- {name: password, user: {username: me, password: x}}
- {name: damaged, user: {client-certificate-data: "not base64!", client-key-data: S0VZ}}
contexts:
- {name: one, context: {cluster: c1, user: certs, namespace: training}}
- {name: two, context: {cluster: c2, user: token}}
- {name: three, context: {cluster: c1, user: file}}
- {name: anonymous, context: {cluster: c1}}
- {name: plugin, context: {cluster: described, user: plugin}}
- {name: old-plugin, context: {cluster: described, user: old-plugin}}
- {name: acting, context: {cluster: c1, user: acting}}
- {name: behind, context: {cluster: behind, user: token}}
- {name: socks, context: {cluster: socks, user: token}}
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
    return ParseKubeconfigs({{directory_ / "config", kText}}, context);
  }
  // A kubeconfig whose only user is `user`.
  StatusOr<ClientConfig> WithUser(const std::string& user) {
    return ParseKubeconfigs({{directory_ / "config",
                              "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                              "clusters: [{name: c, cluster: {server: 'https://h'}}]\nusers: [{name: u, user: " +
                                  user + "}]"}},
                            "");
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
      {"socks", StatusCode::kUnimplemented, "proxy-url: proxy socks5://p:1080 is not supported; http:// proxies are"},
      {"old", StatusCode::kUnimplemented, "an auth-provider, which Kubernetes has given up; use exec"},
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
    EXPECT_THAT(attune::ToString(status), HasSubstr(c.text));
  }
}

TEST_F(KubeconfigTest, DamagedFilesNeverThrow) {
  for (const char* text :
       {"", "just text", "- a\n- b", "a: [", "contexts: 5\ncurrent-context: x", "current-context: [a]",
        "current-context: x\ncontexts: [5, {name: x, context: 7}]", "current-context: x\ncontexts: {a: b}"}) {
    EXPECT_EQ(ParseKubeconfigs({{"config", text}}, "").status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(attune::ToString(ParseKubeconfigs({{"config", "a: 1\nb: ["}}, "").status()),
              HasSubstr("kubeconfig config: line "));
}

TEST_F(KubeconfigTest, AProgramThatGivesCredentials) {
  const ExecPlugin exec = Parse("plugin")->exec;
  EXPECT_EQ(exec.api_version, kV1);
  EXPECT_EQ(exec.command, "aws") << "looked for in PATH";
  EXPECT_THAT(exec.arguments, ElementsAre("eks", "get-token", "--cluster", "a b"));
  EXPECT_THAT(exec.environment, ElementsAre("AWS_PROFILE=x=y", "EMPTY="));
  EXPECT_EQ(exec.install_hint, "get it");
  EXPECT_TRUE(exec.provide_cluster_info);
  EXPECT_EQ(exec.cluster_config,
            Json::parse(R"({"audience":"12","count":3,"on":true,"none":null,"parts":[1.5,"true"]})"));

  const ExecPlugin old = Parse("old-plugin")->exec;
  EXPECT_EQ(old.command, (directory_ / "bin/helper").string()) << "relative to the kubeconfig";
  EXPECT_TRUE(old.cluster_config.is_null()) << "the cluster is not its business";
}

TEST_F(KubeconfigTest, ProgramsThatCannotBeRunAreRefusedInWords) {
  struct {
    const char* user;
    StatusCode want;
    const char* text;
  } cases[] = {
      {"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}", StatusCode::kInvalidArgument,
       "user \"u\": exec has no command"},
      {"{exec: {command: x}}", StatusCode::kUnimplemented, "exec.apiVersion \"\" is not supported"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}", StatusCode::kUnimplemented,
       "v1 and v1beta1 are"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}", StatusCode::kInvalidArgument,
       "interactiveMode must be Never, IfAvailable or Always"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}}",
       StatusCode::kUnimplemented, "'x' wants to ask at a terminal"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, args: 5}}", StatusCode::kInvalidArgument,
       "exec.args is not a list"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, args: [[a]]}}",
       StatusCode::kInvalidArgument, "exec.args holds something that is not a text"},
      {"{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: y}]}}",
       StatusCode::kInvalidArgument, "exec.env holds a variable without a name"},
      {"{as-groups: [a]}", StatusCode::kInvalidArgument, "need `as`"},
      {"{as: jane, as-user-extra: [a]}", StatusCode::kInvalidArgument, "as-user-extra is not a map"},
  };
  for (const auto& c : cases) {
    const Status status = WithUser(c.user).status();
    EXPECT_EQ(status.code(), c.want) << c.user << ": " << status;
    EXPECT_THAT(attune::ToString(status), AllOf(HasSubstr(c.text), HasSubstr((directory_ / "config").string())));
  }
  EXPECT_TRUE(WithUser("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}}").ok());
}

TEST_F(KubeconfigTest, WhomItActsAs) {
  const Impersonation who = Parse("acting")->impersonation;
  EXPECT_EQ(who.user, "jane");
  EXPECT_EQ(who.uid, "7");
  EXPECT_THAT(who.groups, ElementsAre("a", "b"));
  EXPECT_THAT(who.extra.at("scopes"), ElementsAre("x", "y"));
  EXPECT_EQ(Parse("one")->impersonation.user, "");
}

TEST_F(KubeconfigTest, ServerNamesAndProxies) {
  StatusOr<ClientConfig> config = Parse("behind");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->tls_server_name, "api.example.com");
  EXPECT_EQ(config->proxy_url, "http://p:3128");
}

TEST_F(KubeconfigTest, ClustersAreCalledAtALimitedRate) {
  EXPECT_EQ(Parse("one")->limit.per_second, kClusterCallLimit.per_second);
  EXPECT_EQ(Parse("one")->limit.burst, kClusterCallLimit.burst);
  EXPECT_GT(kClusterCallLimit.per_second, 0);
}

TEST(KubeconfigMerge, TheFirstFileThatSetsSomethingGivesAllOfIt) {
  const std::vector<KubeconfigFile> files = {
      {"/one/config", "users: [{name: red, user: {token: first}}]\nclusters: [{name: empty}]"},
      {"/two/config",
       "current-context: b\n"
       "users: [{name: red, user: {token: second, tokenFile: t}}, {name: green, user: {tokenFile: green.token}}]\n"
       "contexts: [{name: a, context: {cluster: c, user: red}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://two'}}]"},
      {"/three/config",
       "current-context: a\n"
       "contexts: [{name: a, context: {cluster: d, user: green, namespace: n}},"
       " {name: b, context: {cluster: d, user: green}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://three'}}, {name: d, cluster: {server: 'https://d'}},"
       " {name: empty, cluster: {server: 'https://e'}}]"},
  };
  const ClientConfig current = *ParseKubeconfigs(files, "");
  EXPECT_EQ(current.context, "b") << "of the second file, the first with one";
  EXPECT_EQ(current.server, "https://d") << "of the third";
  EXPECT_EQ(current.token_file, "/two/green.token") << "relative to the file that names it";

  const ClientConfig a = *ParseKubeconfigs(files, "a");
  EXPECT_EQ(a.server, "https://two");
  EXPECT_EQ(a.token, "first");
  EXPECT_EQ(a.token_file, "") << "what the second says of this user is not mixed in";
  EXPECT_EQ(a.name_space, "default") << "nor what the third says of this context";

  EXPECT_THAT(
      attune::ToString(ParseKubeconfigs(files, "c").status()),
      HasSubstr("kubeconfig /one/config:/two/config:/three/config: context \"c\" does not exist; it has: a, a, b"));
}

TEST(KubeconfigMerge, AFileThatIsNoneIsNamed) {
  const KubeconfigFile good = {"/good", "current-context: x"};
  EXPECT_THAT(attune::ToString(ParseKubeconfigs({good, {"/bad", "a: ["}}, "").status()),
              HasSubstr("kubeconfig /bad: line"));
  EXPECT_THAT(attune::ToString(ParseKubeconfigs({good, {"/bad", "text"}}, "").status()),
              HasSubstr("kubeconfig /bad: is not a kubeconfig"));
  EXPECT_THAT(attune::ToString(ParseKubeconfigs({good, {"/empty", ""}}, "").status()),
              HasSubstr("context \"x\" does not"));
}

TEST(KubeconfigMerge, ListsOfFiles) {
  EXPECT_THAT(ListedKubeconfigs("a:/b/c::d:"), ElementsAre("a", "/b/c", "d"));
  EXPECT_TRUE(ListedKubeconfigs("").empty());
}

TEST_F(KubeconfigTest, FilesOfTheEnvironmentAreMergedAndMissingOnesSkipped) {
  ASSERT_TRUE(WriteFileAtomically(directory_ / "contexts",
                                  "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]")
                  .ok());
  ASSERT_TRUE(WriteFileAtomically(directory_ / "others",
                                  "clusters: [{name: c, cluster: {server: 'http://h'}}]\n"
                                  "users: [{name: u, user: {token: abc}}]")
                  .ok());
  const std::string absent = directory_ / "absent";
  const std::string listed = absent + ":" + (directory_ / "contexts").string() + ":" + (directory_ / "others").string();
  ::setenv("KUBECONFIG", listed.c_str(), 1);
  const StatusOr<ClientConfig> merged = LoadKubeconfig("", "");
  const StatusOr<ClientConfig> one = LoadKubeconfig(directory_ / "contexts", "");
  ::setenv("KUBECONFIG", absent.c_str(), 1);
  const Status none = LoadKubeconfig("", "").status();
  ::setenv("KUBECONFIG", (directory_.string() + ":" + (directory_ / "contexts").string()).c_str(), 1);
  const Status unreadable = LoadKubeconfig("", "").status();
  ::unsetenv("KUBECONFIG");
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->token, "abc");
  EXPECT_EQ(one.status().code(), StatusCode::kInvalidArgument) << "a file that is named is the only one";
  EXPECT_EQ(none.code(), StatusCode::kNotFound) << none;
  EXPECT_THAT(attune::ToString(none), HasSubstr(absent));
  EXPECT_FALSE(unreadable.ok()) << "a directory is a mistake, not a missing file";
  EXPECT_THAT(attune::ToString(unreadable), HasSubstr("Is a directory"));
}

TEST_F(KubeconfigTest, MissingFileSaysWhatToDo) {
  Status status = LoadKubeconfig(directory_ / "absent", "").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(attune::ToString(status), HasSubstr("--kubeconfig"));
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

}  // namespace
}  // namespace attune::kube::kubeconfig_test
