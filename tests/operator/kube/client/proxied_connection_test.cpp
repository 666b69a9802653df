// Calls and watches through an HTTP proxy. A program of its own: cpprestsdk loses a few bytes for each connection that
// it opens through one, and nowhere else may a leak be overlooked for that (sanitizer-suppressions/proxied_leak.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/client/rest_api.h"
#include "tests/operator/kube/scripted_server.h"
#include "tests/operator/kube/signal_log.h"
#include "tests/operator/kube/tunnel_proxy.h"

namespace attune::kube::proxied_connection_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Exchange = ScriptedServer::Exchange;

constexpr char kPod[] = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"}})";

std::unique_ptr<Api> Client(const ClientConfig& config) {
  StatusOr<std::unique_ptr<Api>> api = MakeRestApi(config);
  EXPECT_TRUE(api.ok()) << api.status();
  return api.ok() ? *std::move(api) : nullptr;
}

TEST(ApiConnectionProxy, HttpsGoesThroughATunnelThatTheProxyCannotRead) {
  const TestCertificate certificate = MakeTestCertificate("DNS:api.attune.test");
  ScriptedServer server([](Exchange& e) { e.Reply(200, kPod); }, &certificate);
  TunnelProxy proxy(server.port());
  ClientConfig config{.server = "https://api.attune.test", .ca_pem = certificate.certificate_pem, .token = "secret"};
  config.proxy_url = "http://me:p%40ss@127.0.0.1:" + std::to_string(proxy.port());
  auto api = Client(config);
  constexpr size_t kCalls = 10;
  for (size_t i = 0; i < kCalls; ++i) {
    const auto got = api->Get(kPods, {"n", "a"});
    ASSERT_TRUE(got.ok()) << got.status();
  }
  // A connection may come back to the pool a moment after its answer, so that the next call opens another one.
  const size_t tunnels = proxy.Requests().size();
  ASSERT_LT(tunnels, kCalls) << "tunnels are used again";
  ASSERT_GE(tunnels, 1U);
  EXPECT_THAT(proxy.Requests()[0], AllOf(HasSubstr("CONNECT api.attune.test:443 HTTP/1.1\r\n"),
                                         HasSubstr("bWU6cEBzcw=="), Not(HasSubstr("secret"))));
  SignalLog log;
  const auto watch = api->StartWatch(kPods, {.resource_version = "5"}, log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_TRUE(log.WaitUntil([](const std::vector<WatchSignal>& signals) { return !signals.empty(); }));
  EXPECT_GT(proxy.Requests().size(), tunnels) << "streams take it, too";
}

TEST(ApiConnectionProxy, OneThatIsNotThereIsUnavailable) {
  int port = 0;
  {
    ScriptedServer gone([](Exchange&) {});
    port = gone.port();
  }
  ClientConfig config{.server = "https://api.attune.test:6443"};
  config.proxy_url = "http://127.0.0.1:" + std::to_string(port);
  const Status status = Client(config)->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace attune::kube::proxied_connection_test
