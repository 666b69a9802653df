#include "operator/kube/client/rest_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"
#include "operator/kube/client/api_error.h"
#include "tests/operator/kube/scripted_server.h"
#include "tests/operator/kube/signal_log.h"

namespace attune::kube::rest_api_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Exchange = ScriptedServer::Exchange;

constexpr char kPod[] =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"7"}})";

std::unique_ptr<Api> Client(const ClientConfig& config) {
  StatusOr<std::unique_ptr<Api>> api = MakeRestApi(config);
  EXPECT_TRUE(api.ok()) << api.status();
  return api.ok() ? *std::move(api) : nullptr;
}
std::unique_ptr<Api> Client(const ScriptedServer& server) {
  return Client(ClientConfig{.server = server.address(), .token = "secret"});
}

TEST(RestApi, SendsWhatTheApiServerExpects) {
  std::vector<std::string> seen;
  ScriptedServer server([&](Exchange& e) {
    seen.push_back(e.method + " " + e.target + (e.body.empty() ? "" : " " + e.body));
    EXPECT_TRUE(e.HasHeader("Authorization: Bearer secret"));
    EXPECT_NE(e.headers.find("\r\nUser-Agent: attune/"), std::string::npos);
    e.Reply(200, kPod);
  });
  auto api = Client(server);
  EXPECT_EQ(Name(*api->Get(kPods, {"n", "a"})), "a");
  EXPECT_TRUE(api->Create(kPods, Json::parse(kPod)).ok());
  EXPECT_TRUE(api->Update(kPods, Json::parse(kPod), "status").ok());
  EXPECT_TRUE(api->Patch(kPods, {"n", "a"}, PatchType::kMerge, {{"x", 1}}).ok());
  EXPECT_TRUE(api->Apply(kPods, Json::parse(kPod), {.field_manager = "me"}).ok());
  EXPECT_TRUE(api->Delete(kPods, {"n", "a"}, {.uid = "u", .resource_version = "7", .grace_period_seconds = 5}).ok());
  std::string pod = Json::parse(kPod).dump(), path = "/api/v1/namespaces/n/pods";
  EXPECT_THAT(
      seen, ElementsAre("GET " + path + "/a", "POST " + path + " " + pod, "PUT " + path + "/a/status " + pod,
                        "PATCH " + path + "/a {\"x\":1}", "PATCH " + path + "/a?fieldManager=me&force=true " + pod,
                        "DELETE " + path +
                            "/a "
                            R"({"apiVersion":"v1","gracePeriodSeconds":5,"kind":"DeleteOptions",)"
                            R"("preconditions":{"resourceVersion":"7","uid":"u"},"propagationPolicy":"Background"})"));
  EXPECT_LT(server.connections(), server.requests()) << "connections are reused";
}

TEST(RestApi, ReadsPagesOfPodsAndTheServersTime) {
  std::vector<std::string> seen;
  ScriptedServer server([&](Exchange& e) {
    seen.push_back(e.target);
    const bool time = e.target == "/version";
    e.Reply(200, time ? "{}" : "rows 7\n", time ? "application/json" : "text/plain",
            "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\n");
  });
  auto api = Client(server);
  EXPECT_EQ(api->GetPodPage({"n", "a"}, 7402, "metrics", {}).value_or(""), "rows 7\n");
  EXPECT_EQ(api->ServerTime({}).value_or(0), 1'800'000'000);
  EXPECT_THAT(seen, ElementsAre("/api/v1/namespaces/n/pods/a%3A7402/proxy/metrics", "/version"));
}

TEST(RestApi, SaysWhatTheApiServerSaysOfAPodThatDoesNotAnswer) {
  ScriptedServer server(
      [&](Exchange& e) { e.Reply(503, R"({"kind":"Status","message":"no route to host","code":503})"); });
  const auto page = Client(server)->GetPodPage({"n", "a"}, 7402, "metrics", {});
  EXPECT_EQ(page.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(page.status())), HasSubstr("no route to host"));
  EXPECT_EQ(Client(server)->ServerTime({}).status().code(), StatusCode::kUnavailable);
}

TEST(RestApi, ListsArePagedAndItemsNamed) {
  std::vector<std::string> targets;
  ScriptedServer server([&](Exchange& e) {
    targets.push_back(e.target);
    bool first = e.target.find("continue") == std::string::npos;
    e.Reply(200, first ? R"({"metadata":{"resourceVersion":"9","continue":"t=1"},"items":[{"metadata":{"name":"a"}}]})"
                       : R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}}]})");
  });
  StatusOr<ListResult> list = Client(server)->List(kPods, {.name_space = "n", .label_selector = "job=x"});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[1]["kind"], "Pod");
  EXPECT_EQ(list->resource_version, "9");
  EXPECT_THAT(targets, ElementsAre("/api/v1/namespaces/n/pods?limit=500&labelSelector=job%3Dx",
                                   "/api/v1/namespaces/n/pods?limit=500&continue=t%3D1&labelSelector=job%3Dx"));
}

TEST(RestApi, ListWhoseVersionExpiresBetweenPagesStartsAgainOnce) {
  int pages = 0;
  ScriptedServer server([&](Exchange& e) {
    switch (++pages) {
      case 1:
        return e.Reply(200,
                       R"({"metadata":{"resourceVersion":"9","continue":"c"},"items":[{"metadata":{"name":"a"}}]})");
      case 2:
        return e.Reply(410, R"({"kind":"Status","reason":"Expired","code":410,"message":"expired"})");
      default:
        return e.Reply(200, R"({"metadata":{"resourceVersion":"12"},"items":[{"metadata":{"name":"b"}}]})");
    }
  });
  StatusOr<ListResult> list = Client(server)->List(kPods, {});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(Name(list->items[0]), "b");
}

TEST(RestApi, RefusedTokenIsReadAgainAndTheCallRepeated) {
  auto file = std::filesystem::path(::testing::TempDir()) / ("rest-token-" + std::to_string(::getpid()));
  ASSERT_TRUE(WriteFileAtomically(file, "old").ok());
  ScriptedServer server([&](Exchange& e) {
    if (e.HasHeader("Authorization: Bearer new")) return e.Reply(200, kPod);
    EXPECT_TRUE(WriteFileAtomically(file, "new").ok());
    e.Reply(401, R"({"kind":"Status","reason":"Unauthorized","code":401,"message":"Unauthorized"})");
  });
  auto api = Client(ClientConfig{.server = server.address(), .token_file = file});
  EXPECT_TRUE(api->Get(kPods, {"n", "a"}).ok());
  EXPECT_EQ(server.requests(), 2);
  std::filesystem::remove(file);
}

TEST(RestApi, FixedTokenThatIsRefusedIsNotRepeated) {
  ScriptedServer server([](Exchange& e) { e.Reply(401, "", "text/plain"); });
  EXPECT_EQ(Client(server)->Get(kPods, {"n", "a"}).status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(server.requests(), 1);
}

TEST(RestApi, SilentServerEndsAtTheDeadline) {
  ScriptedServer server([](Exchange& e) { e.WaitForClientClose(); });
  auto api = Client(server);
  auto began = std::chrono::steady_clock::now();
  Status status = api->Get(kPods, {"n", "a"}, {.timeout = milliseconds(200)}).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
}

TEST(RestApi, BrokenAnswersHaveTheirStatus) {
  struct {
    const char* cause;
    std::function<void(Exchange&)> script;
    StatusCode want;
  } cases[] = {
      {"garbage",
       [](Exchange& e) {
         e.Send("SSH-2.0-OpenSSH\r\n\r\n");
         e.Close();
       },
       StatusCode::kUnavailable},
      {"closed before the answer", [](Exchange& e) { e.Close(); }, StatusCode::kUnavailable},
      {"reset before the answer", [](Exchange& e) { e.Close(/*reset=*/true); }, StatusCode::kUnavailable},
      {"cut off body",
       [](Exchange& e) {
         e.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
         e.Close();
       },
       StatusCode::kUnavailable},
      {"bad chunk",
       [](Exchange& e) {
         e.BeginChunks();
         e.Send("zz\r\nx\r\n");
         e.Close();
       },
       StatusCode::kUnavailable},
      {"not JSON", [](Exchange& e) { e.Reply(200, "<html>", "text/html"); }, StatusCode::kUnavailable},
      {"redirect", [](Exchange& e) { e.Reply(302, "", "text/plain", "Location: http://127.0.0.1:1/\r\n"); },
       StatusCode::kFailedPrecondition},
      {"plain 404", [](Exchange& e) { e.Reply(404, "404 page not found", "text/plain"); }, StatusCode::kNotFound},
      {"too large", [](Exchange& e) { e.Reply(200, std::string(17 << 20, ' ')); }, StatusCode::kResourceExhausted},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.cause);
    ScriptedServer server(c.script);
    Status status = Client(server)->Create(kPods, Json::parse(kPod)).status();
    EXPECT_EQ(status.code(), c.want) << status;
    EXPECT_THAT(ToString(status), HasSubstr("creating Pod n/a"));
  }
}

TEST(RestApi, NothingListeningIsUnavailable) {
  int port = 0;
  {
    ScriptedServer gone([](Exchange&) {});
    port = gone.port();
  }
  auto api = Client(ClientConfig{.server = "http://127.0.0.1:" + std::to_string(port)});
  Status status = api->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(ToString(status), HasSubstr("no connection"));
}

TEST(RestApi, TooManyRequestsTellsWhenToComeBack) {
  ScriptedServer server([](Exchange& e) {
    e.Reply(429, "Too many requests, please try again later.\n", "text/plain", "Retry-After: 3\r\n");
  });
  // With more time the call would be repeated.
  Status status = Client(server)->Get(kPods, {"n", "a"}, {.timeout = seconds(2)}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(RetryAfter(status), seconds(3));
}

TEST(RestApi, UnusableConfigurationsAreRefusedAtOnce) {
  TestCertificate one = MakeTestCertificate(), two = MakeTestCertificate();
  struct {
    const char* why;
    ClientConfig config;
  } cases[] = {
      {"no scheme", {.server = "127.0.0.1:6443"}},
      {"no host", {.server = "http://"}},
      {"IPv6 literal", {.server = "https://[::1]:6443"}},
      {"bad address", {.server = "http://a b"}},
      {"bad authority", {.server = "https://127.0.0.1:1", .ca_pem = "nonsense"}},
      {"key without certificate", {.server = "https://127.0.0.1:1", .client_key_pem = one.key_pem}},
      {"key of another certificate",
       {.server = "https://127.0.0.1:1", .client_certificate_pem = one.certificate_pem, .client_key_pem = two.key_pem}},
  };
  for (const auto& c : cases) EXPECT_EQ(MakeRestApi(c.config).status().code(), StatusCode::kInvalidArgument) << c.why;
}

TEST(RestApi, OnlyTheGivenAuthorityIsTrusted) {
  TestCertificate certificate = MakeTestCertificate(), other = MakeTestCertificate();
  ScriptedServer server([](Exchange& e) { e.Reply(200, kPod); }, &certificate);
  auto good = Client(ClientConfig{.server = server.address(), .ca_pem = certificate.certificate_pem});
  StatusOr<Json> got = good->Get(kPods, {"n", "a"});
  EXPECT_TRUE(got.ok()) << got.status();
  auto bad = Client(ClientConfig{.server = server.address(), .ca_pem = other.certificate_pem, .token = "secret"});
  Status status = bad->Get(kPods, {"n", "a"}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(ToString(status), HasSubstr("certificate verify failed"));
  EXPECT_EQ(server.requests(), 1) << "no credentials went to the untrusted server";
}

std::string Event(const std::string& type, const std::string& name, int version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name + R"(","resourceVersion":")" +
         std::to_string(version) + "\"}}}\n";
}

WatchSignal::Kind LastKind(const std::vector<WatchSignal>& signals) { return signals.back().kind; }
bool Over(const std::vector<WatchSignal>& signals) {
  return !signals.empty() &&
         (LastKind(signals) == WatchSignal::Kind::kEnded || LastKind(signals) == WatchSignal::Kind::kBroken ||
          LastKind(signals) == WatchSignal::Kind::kError);
}

TEST(RestApiWatch, EventsAreJoinedAcrossChunksAndTheEndIsClean) {
  std::string target;
  ScriptedServer server([&](Exchange& e) {
    target = e.target;
    std::string lines = Event("ADDED", "a", 6) + Event("MODIFIED", "a", 7) + Event("DELETED", "a", 8);
    e.BeginChunks();
    for (size_t at = 0; at < lines.size(); at += 17) e.Chunk(std::string_view(lines).substr(at, 17));
    e.EndChunks();
  });
  auto api = Client(server);
  SignalLog log;
  auto watch = api->StartWatch(
      kPods, {.name_space = "n", .label_selector = "job", .resource_version = "5", .server_timeout = seconds(9)},
      log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_TRUE(log.WaitUntil(Over));
  EXPECT_THAT(log.Changes(), ElementsAre("added a", "modified a", "deleted a"));
  EXPECT_EQ(LastKind(log.All()), WatchSignal::Kind::kEnded);
  EXPECT_EQ(target,
            "/api/v1/namespaces/n/"
            "pods?watch=true&allowWatchBookmarks=true&resourceVersion=5&labelSelector=job&timeoutSeconds=9");
}

TEST(RestApiWatch, EndsAreToldApart) {
  struct {
    const char* cause;
    std::function<void(Exchange&)> script;
    WatchSignal::Kind want;
    StatusCode code;
  } cases[] = {
      {"lost connection",
       [](Exchange& e) {
         e.BeginChunks();
         e.Chunk(Event("ADDED", "a", 6));
         e.Close(true);
       },
       WatchSignal::Kind::kBroken, StatusCode::kUnavailable},
      {"expired as status",
       [](Exchange& e) { e.Reply(410, R"({"kind":"Status","reason":"Expired","code":410,"message":"too old"})"); },
       WatchSignal::Kind::kError, StatusCode::kOutOfRange},
      {"expired as event",
       [](Exchange& e) {
         e.BeginChunks();
         e.Chunk(
             "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":"
             "\"too old\"}}\n");
         e.WaitForClientClose();
       },
       WatchSignal::Kind::kError, StatusCode::kOutOfRange},
      {"forbidden",
       [](Exchange& e) { e.Reply(403, R"({"kind":"Status","reason":"Forbidden","code":403,"message":"no"})"); },
       WatchSignal::Kind::kError, StatusCode::kPermissionDenied},
      {"plain text 429", [](Exchange& e) { e.Reply(429, "slow down", "text/plain", "Retry-After: 2\r\n"); },
       WatchSignal::Kind::kError, StatusCode::kUnavailable},
      {"not an event",
       [](Exchange& e) {
         e.BeginChunks();
         e.Chunk("hello\n");
         e.WaitForClientClose();
       },
       WatchSignal::Kind::kBroken, StatusCode::kDataLoss},
      {"endless line",
       [](Exchange& e) {
         e.BeginChunks();
         for (int i = 0; i < 5; ++i) e.Chunk(std::string(1 << 20, 'x'));
         e.WaitForClientClose();
       },
       WatchSignal::Kind::kBroken, StatusCode::kResourceExhausted},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.cause);
    ScriptedServer server(c.script);
    auto api = Client(server);
    SignalLog log;
    auto watch = api->StartWatch(kPods, {.resource_version = "5"}, log.Handler());
    ASSERT_TRUE(watch.ok()) << watch.status();
    ASSERT_TRUE(log.WaitUntil(Over));
    EXPECT_EQ(LastKind(log.All()), c.want);
    EXPECT_EQ(log.All().back().status.code(), c.code) << log.All().back().status;
  }
}

TEST(RestApiWatch, DestructionCancelsAQuietWatch) {
  std::atomic<bool> client_closed = false;
  ScriptedServer server([&](Exchange& e) {
    e.BeginChunks();
    e.Chunk(Event("ADDED", "a", 6));
    client_closed = e.WaitForClientClose();
  });
  auto api = Client(server);
  SignalLog log;
  auto watch = api->StartWatch(kPods, {.resource_version = "5"}, log.Handler());
  ASSERT_TRUE(log.WaitForChanges(1));
  auto began = std::chrono::steady_clock::now();
  watch->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
  EXPECT_EQ(log.All().size(), 1U);
}

TEST(RestApiWatch, SlowHandlerIsBoundedByABreakNotByMemory) {
  constexpr size_t kSent = 64;
  std::mutex mutex;
  std::condition_variable changed;
  bool given_up = false;
  Status end;
  size_t handled = 0;
  ScriptedServer server([&](Exchange& e) {
    e.BeginChunks();
    for (size_t i = 0; i < kSent; ++i) e.Chunk(Event("ADDED", std::string(1 << 20, 'x'), 6));
    e.WaitForClientClose();
    std::lock_guard lock(mutex);
    given_up = true;
    changed.notify_all();
  });
  auto api = Client(server);
  auto watch = api->StartWatch(kPods, {.resource_version = "5"}, [&](WatchSignal signal) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, seconds(20), [&] { return given_up; });
    ++handled;
    if (!signal.status.ok()) end = signal.status;
    changed.notify_all();
  });
  ASSERT_TRUE(watch.ok());
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, seconds(60), [&] { return !end.ok(); }));
  EXPECT_EQ(end.code(), StatusCode::kResourceExhausted) << end;
  EXPECT_LT(handled, kSent);
}

TEST(RestApiLog, WholeAndFollowed) {
  std::vector<std::string> targets;
  ScriptedServer server([&](Exchange& e) {
    targets.push_back(e.target);
    if (e.target.find("follow") == std::string::npos) return e.Reply(200, "one\ntwo\n", "text/plain");
    e.BeginChunks();
    e.Chunk("one\n");
    e.Chunk("two\n");
    e.EndChunks();
  });
  auto api = Client(server);
  std::string text;
  auto collect = [&](std::string_view piece) {
    text += piece;
    return true;
  };
  EXPECT_EQ(api->ReadLog({"n", "a"}, {.container = "main", .tail_lines = 2, .bytes_max = 100}, collect), OkStatus());
  EXPECT_EQ(text, "one\ntwo\n");
  text.clear();
  EXPECT_EQ(api->ReadLog({"n", "a"}, {.follow = true}, collect), OkStatus());
  EXPECT_EQ(text, "one\ntwo\n");
  EXPECT_THAT(targets, ElementsAre("/api/v1/namespaces/n/pods/a/log?container=main&tailLines=2&limitBytes=100",
                                   "/api/v1/namespaces/n/pods/a/log?follow=true"));
}

TEST(RestApiLog, FollowEndsWhenTheReaderHasEnoughAndAtTheDeadline) {
  ScriptedServer server([&](Exchange& e) {
    e.BeginChunks();
    e.Chunk("one\n");
    e.WaitForClientClose();
  });
  auto api = Client(server);
  EXPECT_EQ(api->ReadLog({"n", "a"}, {.follow = true}, [](std::string_view) { return false; }), OkStatus());
  Status late =
      api->ReadLog({"n", "a"}, {.follow = true}, [](std::string_view) { return true; }, {.timeout = milliseconds(200)});
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
}

TEST(RestApiLog, RefusalIsTold) {
  ScriptedServer server([](Exchange& e) {
    e.Reply(400, R"({"kind":"Status","reason":"BadRequest","code":400,"message":"container is waiting to start"})");
  });
  auto api = Client(server);
  for (bool follow : {false, true}) {
    Status status = api->ReadLog({"n", "a"}, {.follow = follow}, [](std::string_view) { return true; });
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(ToString(status), HasSubstr("waiting to start"));
  }
}

}  // namespace
}  // namespace attune::kube::rest_api_test
