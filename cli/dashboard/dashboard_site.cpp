#include "cli/dashboard/dashboard_site.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/sha256.h"
#include "operator/local/rest/access_token.h"
#include "operator/local/rest/rest_request.h"

namespace attune::cli {
namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";

constexpr char kWrongHost[] =
    "This page answers to the names 127.0.0.1 and localhost only, so that no web site can reach it by a name of its "
    "own.\nOpen the address that `attune run --dashboard` printed.\n";
constexpr char kNoToken[] =
    "This page belongs to one run of attune, and wants that run's token.\nOpen the address that `attune run "
    "--dashboard` printed, which ends in ?token=...; programs send the header `Authorization: Bearer TOKEN`.\n";

// Of a Host header: "localhost", "LocalHost:8080", "[::1]:8080".
bool IsOurs(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == name || host.starts_with(name + ":")) return true;
  }
  return false;
}

std::string CookieName(const DashboardAccess& access) { return "attune-dashboard-" + std::to_string(access.port); }

// Of "a=1; b=2"; "" when there is none of that name.
std::string_view CookieOf(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view each = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (each.starts_with(' ')) each.remove_prefix(1);
    if (each.starts_with(name) && each.substr(name.size()).starts_with('=')) return each.substr(name.size() + 1);
  }
  return "";
}

std::string QueryValue(const local::RestTarget& target, const char* name) {
  const auto at = target.query.find(name);
  return at == target.query.end() ? "" : at->second;
}

// The job that the address names, the first one where it names none; past the end when there is none of that name.
size_t ChooseJob(const Histories& jobs, const std::string& name) {
  if (name.empty() || jobs.empty()) return 0;
  const auto at = std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return JobName(*job) == name; });
  return static_cast<size_t>(at - jobs.begin());
}

HttpPage PageOfJob(const std::string& path, const std::string& name, const Histories& jobs) {
  const size_t chosen = ChooseJob(jobs, name);
  if (!jobs.empty() && chosen == jobs.size()) {
    return {.code = 404, .body = "This run has no job of that name; / shows the first of its jobs.\n"};
  }
  return {.content_type = kHtml, .body = path == "/" ? DashboardPage(jobs, chosen) : DashboardPart(jobs, chosen)};
}

HttpPage MetricsOf(const DashboardSight& sight) {
  const std::optional<std::string> text = sight.metrics ? sight.metrics() : std::nullopt;
  if (text) return {.content_type = kPrometheusText, .body = *text};
  return {.code = 503, .body = "There are no metrics now: the run is starting, or its jobs have ended.\n"};
}

HttpPage Choose(const std::string& path, const local::RestTarget& target, const DashboardSight& sight) {
  if (path == "/" || path == "/data") return PageOfJob(path, QueryValue(target, "job"), sight.jobs);
  if (path == "/metrics") return MetricsOf(sight);
  if (path == "/healthz") return {.body = "ok\n"};
  return {.code = 404, .body = "There is no such page; there are /, /data, /metrics and /healthz.\n"};
}

HttpPage Answer(const HttpRequest& request, const DashboardAccess& access, const DashboardSight& sight) {
  if (!IsOurs(request.host)) return {.code = 403, .body = kWrongHost};
  const auto target = local::ParseTarget(request.path + "?" + request.query);
  if (!target.ok()) return {.code = 400, .body = std::string(Message(target.status())) + "\n"};
  const bool by_query = SameInConstantTime(QueryValue(*target, "token"), access.token);
  const bool by_cookie = SameInConstantTime(CookieOf(request.cookie, CookieName(access)), access.token);
  if (!by_query && !by_cookie && !local::IsBearer(request.authorization, access.token))
    return {.code = 403, .body = kNoToken};
  HttpPage page = Choose(request.path, *target, sight);
  if (by_query) {
    page.headers.emplace_back("Set-Cookie",
                              CookieName(access) + "=" + access.token + "; Path=/; HttpOnly; SameSite=Strict");
  }
  return page;
}

}  // namespace

std::string DashboardUrl(const DashboardAccess& access) {
  return "http://127.0.0.1:" + std::to_string(access.port) + "/?token=" + access.token;
}

HttpPage AnswerDashboard(const HttpRequest& request, const DashboardAccess& access, const DashboardSight& sight) {
  HttpPage page = Answer(request, access, sight);
  page.headers.insert(page.headers.end(), {{"Content-Security-Policy", DashboardPolicy()},
                                           {"X-Content-Type-Options", "nosniff"},
                                           {"Cross-Origin-Resource-Policy", "same-origin"},
                                           {"Cross-Origin-Opener-Policy", "same-origin"},
                                           {"Referrer-Policy", "no-referrer"},
                                           {"Cache-Control", "no-store"}});
  return page;
}

}  // namespace attune::cli
