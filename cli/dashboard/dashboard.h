// The port of `attune run --dashboard` and what it shows. The run's thread hands over what it sees; the port's thread
// makes pages of that when it is asked, so without a reader the dashboard costs next to nothing. It holds everything in
// memory: a full disk does not concern it. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/net/http_endpoint.h"
#include "base/time_source.h"
#include "cli/dashboard/dashboard_site.h"
#include "cli/runs/run_history.h"

namespace attune::cli {

class Dashboard {
 public:
  // Listens on 127.0.0.1; port 0: one that is free. `time` must outlive the dashboard.
  static StatusOr<std::unique_ptr<Dashboard>> Start(uint16_t port, const TimeSource& time);
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  std::string url() ABSL_LOCKS_EXCLUDED(mutex_);  // with the token

  // What is known of a job by now. Copied when its phase has changed, and once a second at most otherwise.
  void Show(const RunHistory& history) ABSL_LOCKS_EXCLUDED(mutex_);
  // Where metrics come from; empty: nowhere any more, and no call to the former source is left.
  void ShowMetrics(std::function<std::string()> source) ABSL_LOCKS_EXCLUDED(metrics_mutex_);
  // When a page has asked in the last seconds: until the newest that was shown has been asked for, or `most` is
  // over. So an open page ends with how the job ended.
  void AwaitLastLook(Duration most) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Shown {
    std::shared_ptr<const RunHistory> history;
    MonotonicTime at{};
  };
  explicit Dashboard(const TimeSource& time);
  HttpPage Answer(const HttpRequest& request);
  std::optional<std::string> Metrics() ABSL_LOCKS_EXCLUDED(metrics_mutex_);
  void Looked(uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);

  const TimeSource& time_;

  Mutex mutex_;
  DashboardAccess access_ ABSL_GUARDED_BY(mutex_);
  CondVar looked_;
  std::vector<Shown> jobs_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // grows with each history that is shown
  uint64_t looked_version_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime looked_at_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::min();

  Mutex metrics_mutex_;  // held while the source is called
  std::function<std::string()> metrics_ ABSL_GUARDED_BY(metrics_mutex_);

  std::unique_ptr<HttpEndpoint> endpoint_;  // ends first: its thread uses all of the above
};

}  // namespace attune::cli
