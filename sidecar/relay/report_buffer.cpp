#include "sidecar/relay/report_buffer.h"

#include <utility>

namespace attune::sidecar {
namespace {

// A report that comes a little early still counts as on time.
constexpr double kEarlyShare = 0.9;

}  // namespace

void ReportBuffer::Add(v1::PodReport report, MonotonicTime now) {
  const std::string lease = report.window().leader_lease().SerializeAsString();
  if (lease == lease_reported_ && Seconds(now - added_at_) < kEarlyShare * Seconds(interval_)) {
    held_ = std::move(report);
    return;
  }
  lease_reported_ = lease;
  held_.reset();
  added_at_ = now;
  Append(std::move(report));
}

void ReportBuffer::FlushHeld() {
  if (!held_) return;
  Append(*std::exchange(held_, std::nullopt));
}

void ReportBuffer::Append(v1::PodReport report) {
  if (!wanted_) return;
  reports_.push_back(std::move(report));
  while (reports_.size() > reports_max_) {
    reports_.pop_front();
    ++dropped_;
  }
}

std::optional<v1::PodReport> ReportBuffer::Take() {
  if (reports_.empty()) return std::nullopt;
  v1::PodReport report = std::move(reports_.front());
  reports_.pop_front();
  report.set_dropped_reports(dropped_);
  ++sent_;
  return report;
}

void ReportBuffer::PutBack(const v1::PodReport& report) {
  --sent_;
  if (reports_.size() < reports_max_) {
    reports_.push_front(report);
  } else {
    ++dropped_;
  }
}

}  // namespace attune::sidecar
