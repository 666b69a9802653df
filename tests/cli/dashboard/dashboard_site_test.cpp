#include "cli/dashboard/dashboard_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli::dashboard_site_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

const DashboardAccess kAccess{.token = "secret", .port = 8080};

std::shared_ptr<const RunHistory> JobOf(const std::string& name) {
  RunHistory history;
  history.name = name;
  history.name_space = "default";
  history.phase = "Running";
  return std::make_shared<const RunHistory>(history);
}

DashboardSight Sight() {
  return {.jobs = {JobOf("first"), JobOf("second")}, .metrics = [] { return "attune_job_loss 2.5\n"; }};
}

HttpRequest With(HttpRequest request) {
  if (request.path.empty()) request.path = "/";
  if (request.host.empty()) request.host = "127.0.0.1:8080";
  return request;
}

HttpPage Ask(const HttpRequest& request) { return AnswerDashboard(With(request), kAccess, Sight()); }

std::string HeaderOf(const HttpPage& page, const std::string& name) {
  for (const auto& [key, value] : page.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(DashboardSite, WhoMayLook) {
  const struct {
    const char* what;
    HttpRequest request;
    int want;
  } cases[] = {
      {"without anything", {}, 403},
      {"with the token in the address", {.query = "token=secret"}, 200},
      {"with the token and more", {.query = "job=default/first&token=secret"}, 200},
      {"with an escaped token", {.query = "token=%73ecret"}, 200},
      {"with part of the token", {.query = "token=secre"}, 403},
      {"with more than the token", {.query = "token=secrets"}, 403},
      {"with an empty token", {.query = "token="}, 403},
      {"with the token under another name", {.query = "key=secret"}, 403},
      {"with the cookie", {.cookie = "attune-dashboard-8080=secret"}, 200},
      {"with the cookie among others", {.cookie = "a=b; attune-dashboard-8080=secret; c=d"}, 200},
      {"with the cookie of another run", {.cookie = "attune-dashboard-8081=secret"}, 403},
      {"with another token in the cookie", {.cookie = "attune-dashboard-8080=other"}, 403},
      {"with a cookie without a value", {.cookie = "attune-dashboard-8080"}, 403},
      {"as Prometheus", {.path = "/metrics", .authorization = "Bearer secret"}, 200},
      {"as Prometheus with another token", {.path = "/metrics", .authorization = "Bearer other"}, 403},
      {"as a probe without a token", {.path = "/healthz"}, 403},
      {"for a page that is not there", {.path = "/favicon.ico"}, 403},
      {"as localhost", {.query = "token=secret", .host = "LocalHost:8080"}, 200},
      {"through a tunnel from another port", {.query = "token=secret", .host = "localhost:9000"}, 200},
      {"without a port", {.query = "token=secret", .host = "127.0.0.1"}, 200},
      {"by an IPv6 tunnel", {.query = "token=secret", .host = "[::1]:8080"}, 200},
      {"for a web site that was given this address", {.query = "token=secret", .host = "evil.example:8080"}, 403},
      {"for a name that begins well", {.query = "token=secret", .host = "localhost.evil.example"}, 403},
      {"for a name with brackets", {.query = "token=secret", .host = "[::1]evil.example"}, 403},
      {"for brackets that do not end", {.query = "token=secret", .host = "[::1"}, 403},
      {"with a bad escape", {.query = "token=%zz"}, 400},
  };
  for (const auto& [what, request, want] : cases) {
    const HttpPage page = Ask(request);
    EXPECT_EQ(page.code, want) << what << "\n" << page.body;
    EXPECT_THAT(page.body, Not(HasSubstr("secret"))) << what;
  }
}

TEST(DashboardSite, ARefusalSaysWhatToDo) {
  EXPECT_THAT(Ask({}).body, HasSubstr("Open the address that `attune run --dashboard` printed"));
  EXPECT_THAT(Ask({.host = "evil.example"}).body, HasSubstr("127.0.0.1 and localhost only"));
}

TEST(DashboardSite, TheTokenInAnAddressLeavesACookieThatScriptsAndOtherSitesDoNotGet) {
  const std::string cookie = HeaderOf(Ask({.query = "token=secret"}), "Set-Cookie");
  EXPECT_EQ(cookie, "attune-dashboard-8080=secret; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(Ask({.path = "/data", .cookie = cookie.substr(0, cookie.find(';'))}).code, 200);
  EXPECT_THAT(Ask({.authorization = "Bearer secret"}).headers, Not(Contains(Key("Set-Cookie"))));
  EXPECT_THAT(Ask({.query = "token=other"}).headers, Not(Contains(Key("Set-Cookie"))));
}

TEST(DashboardSite, EveryAnswerIsGuarded) {
  for (const HttpRequest& request :
       {HttpRequest{}, {.query = "token=secret"}, {.path = "/none", .query = "token=secret"}, {.host = "x"}}) {
    const HttpPage page = Ask(request);
    EXPECT_EQ(HeaderOf(page, "Content-Security-Policy"), DashboardPolicy()) << page.code;
    EXPECT_EQ(HeaderOf(page, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(page, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(HeaderOf(page, "Cache-Control"), "no-store");
  }
}

TEST(DashboardSite, EachAddressHasItsPage) {
  const struct {
    const char* path;
    const char* query;
    int code;
    const char* type;
    const char* text;
  } cases[] = {
      {"/", "", 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
      {"/", "job=default/second", 200, "text/html; charset=utf-8", "<h1>second</h1>"},
      {"/", "job=default%2Fsecond", 200, "text/html; charset=utf-8", "<h1>second</h1>"},
      {"/data", "", 200, "text/html; charset=utf-8", "<h1>first</h1>"},
      {"/data", "job=default/second", 200, "text/html; charset=utf-8", "<h1>second</h1>"},
      {"/data", "job=default/third", 404, "text/plain; charset=utf-8", "no job of that name"},
      {"/metrics", "", 200, "text/plain; version=0.0.4; charset=utf-8", "attune_job_loss 2.5"},
      {"/healthz", "", 200, "text/plain; charset=utf-8", "ok"},
      {"/data/", "", 404, "text/plain; charset=utf-8", "there are /, /data, /metrics and /healthz"},
  };
  for (const auto& [path, query, code, type, text] : cases) {
    const HttpPage page = Ask({.path = path, .query = query, .authorization = "Bearer secret"});
    EXPECT_EQ(page.code, code) << path << query;
    EXPECT_EQ(page.content_type, type) << path << query;
    EXPECT_THAT(page.body, HasSubstr(text)) << path << query;
  }
  EXPECT_THAT(Ask({.path = "/data", .authorization = "Bearer secret"}).body, Not(HasSubstr("<script>")));
}

TEST(DashboardSite, WhileThereIsNoOperatorThereAreNoMetricsAndThePageWorks) {
  for (const auto& metrics : {std::function<std::optional<std::string>()>(), {[] { return std::nullopt; }}}) {
    const DashboardSight sight{.jobs = {}, .metrics = metrics};
    const HttpPage page = AnswerDashboard(With({.path = "/metrics", .query = "token=secret"}), kAccess, sight);
    EXPECT_EQ(page.code, 503);
    EXPECT_THAT(page.body, HasSubstr("the run is starting, or its jobs have ended"));
    EXPECT_EQ(AnswerDashboard(With({.query = "token=secret"}), kAccess, sight).code, 200);
  }
}

TEST(DashboardSite, TheAddressIsOneThatABrowserOpens) {
  EXPECT_EQ(DashboardUrl(kAccess), "http://127.0.0.1:8080/?token=secret");
}

}  // namespace
}  // namespace attune::cli::dashboard_site_test
