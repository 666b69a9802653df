#include "cli/dashboard/dashboard.h"

#include <algorithm>

#include "operator/local/api/rules/identity.h"

namespace attune::cli {
namespace {

constexpr size_t kTokenBytes = 24;
constexpr size_t kConnectionsMax = 64;  // a browser has six at most
constexpr Duration kRequestTimeout = std::chrono::seconds(10);
constexpr Duration kCopyEvery = std::chrono::seconds(1);
constexpr Duration kIsLooking = std::chrono::seconds(10);  // the page asks more often than that

}  // namespace

StatusOr<std::unique_ptr<Dashboard>> Dashboard::Start(uint16_t port, const TimeSource& time) {
  std::unique_ptr<Dashboard> dashboard(new Dashboard(time));
  const HttpEndpointOptions options{
      .host = "127.0.0.1", .port = port, .request_timeout = kRequestTimeout, .connections_max = kConnectionsMax};
  Dashboard* const self = dashboard.get();
  auto endpoint = HttpEndpoint::StartWithHandler(options, [self](const HttpRequest& r) { return self->Answer(r); });
  if (!endpoint.ok()) {
    return Annotate(endpoint.status(), "--dashboard" + (port == 0 ? "" : "=" + std::to_string(port)) +
                                           " (without a number a free port is chosen)");
  }
  MutexLock lock(dashboard->mutex_);
  dashboard->endpoint_ = *std::move(endpoint);
  dashboard->access_.port = dashboard->endpoint_->port();
  return dashboard;
}

Dashboard::Dashboard(const TimeSource& time) : time_(time), access_{.token = local::RandomHex(kTokenBytes)} {}

std::string Dashboard::url() {
  MutexLock lock(mutex_);
  return DashboardUrl(access_);
}

void Dashboard::Show(const RunHistory& history) {
  const MonotonicTime now = time_.Now();
  MutexLock lock(mutex_);
  auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const Shown& shown) {
    return shown.history->name == history.name && shown.history->name_space == history.name_space;
  });
  if (at == jobs_.end()) at = jobs_.insert(at, Shown{});
  if (at->history != nullptr && at->history->phase == history.phase && now - at->at < kCopyEvery) return;
  *at = {std::make_shared<const RunHistory>(history), now};
  ++version_;
}

void Dashboard::ShowMetrics(std::function<std::string()> source) {
  MutexLock lock(metrics_mutex_);
  metrics_ = std::move(source);
}

void Dashboard::AwaitLastLook(Duration most) {
  MutexLock lock(mutex_);
  if (looked_at_ == MonotonicTime::min() || time_.Now() - looked_at_ > kIsLooking) return;
  looked_.WaitFor(mutex_, most, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return looked_version_ >= version_; });
}

HttpPage Dashboard::Answer(const HttpRequest& request) {
  uint64_t version = 0;
  DashboardAccess access;
  DashboardSight sight{.jobs = {}, .metrics = [this] { return Metrics(); }};
  {
    MutexLock lock(mutex_);
    version = version_;
    access = access_;
    for (const Shown& shown : jobs_) sight.jobs.push_back(shown.history);
  }
  HttpPage page = AnswerDashboard(request, access, sight);
  if (page.code == 200 && (request.path == "/" || request.path == "/data")) Looked(version);
  return page;
}

std::optional<std::string> Dashboard::Metrics() {
  MutexLock lock(metrics_mutex_);
  return metrics_ ? std::optional(metrics_()) : std::nullopt;
}

void Dashboard::Looked(uint64_t version) {
  MutexLock lock(mutex_);
  looked_version_ = version;
  looked_at_ = time_.Now();
  looked_.NotifyAll();
}

}  // namespace attune::cli
