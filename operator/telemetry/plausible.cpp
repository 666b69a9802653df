#include "operator/telemetry/plausible.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "proto/contract.h"
#include "proto/metric_name.h"

namespace attune::telemetry {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr double kWindowSecondsMin = 1e-6, kWindowSecondsMax = 3600;
constexpr double kNumberMax = 1e18;                // of any quantity: bytes, rows, seconds since 1970
constexpr uint64_t kCountMax = uint64_t{1} << 53;  // exact as a double, and a thousand of them still fit 64 bits
constexpr int kListMax = 1024;
constexpr size_t kMetricsMax = 256;
constexpr size_t kUnitBytesMax = 64;
constexpr size_t kMetricNameBytesMax = 256;
constexpr size_t kTextBytesMax = 4 << 10;
constexpr size_t kSummaryBytesMax = 16 << 10;
constexpr uint32_t kServersMax = 1024;

bool IsNumber(double value) { return std::isfinite(value) && value >= 0 && value <= kNumberMax; }

// Bytes of the control character that begins at `at`; 0 when there is none. Those of ISO 6429 beyond ASCII are two
// bytes.
size_t ControlBytes(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(at) == '\n' || byte(at) == '\t') return 0;
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  return byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) <= 0x9f ? 2 : 0;
}

// The first thing in `message` that cannot be true, as "field: why"; texts are cleaned on the way.
std::string FirstProblem(Message& message);

std::string ProblemOfField(Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  const std::string name = field.name();
  if (field.is_repeated()) {
    if (values.FieldSize(message, &field) > kListMax) return name + ": too many entries";
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) return "";  // every value of these is sensible
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return name + ": a list of a kind that is not known";
    for (int i = 0; i < values.FieldSize(message, &field); ++i) {
      if (std::string problem = FirstProblem(*values.MutableRepeatedMessage(&message, &field, i)); !problem.empty())
        return name + "." + problem;
    }
    return "";
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = values.GetDouble(message, &field);
      const bool signed_number = name == "loss_mean" || message.GetDescriptor() == v1::JobMetric::descriptor();
      return IsNumber(signed_number ? std::abs(value) : value) ? "" : name + ": no sensible number";
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return values.GetUInt64(message, &field) <= kCountMax ? "" : name + ": too large a count";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.enum_type()->FindValueByNumber(values.GetEnumValue(message, &field)) != nullptr
                 ? ""
                 : name + ": no known value";
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = values.GetString(message, &field);
      if (text.size() > (name == "sample_unit" ? kUnitBytesMax : kTextBytesMax)) return name + ": too long a text";
      values.SetString(&message, &field, CleanText(text, kTextBytesMax));
      return "";
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const std::string problem = FirstProblem(*values.MutableMessage(&message, &field));
      return problem.empty() ? "" : name + "." + problem;
    }
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_BOOL:
      return "";  // every value of these is sensible
    default:
      return name + ": a kind of field that is not known";
  }
}

std::string FirstProblem(Message& message) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (std::string problem = ProblemOfField(message, *field); !problem.empty()) return problem;
  }
  return "";
}

std::string ProblemOf(v1::JobWindow& job) {
  for (const v1::ServerState& server : job.server_states()) {
    if (server.index() >= kServersMax) return "server_states.index: no index of a server";
  }
  return FirstProblem(job);
}

// They go into the job's status and to other servers.
std::string ProblemOf(v1::LeaderLease& lease) {
  const auto& wanted = lease.wanted_voters();
  if (wanted.size() > static_cast<int>(kServersMax)) return "wanted_voters: too many entries";
  if (!wanted.empty() && wanted.Get(0) == 0) return "wanted_voters: no number of a node";
  if (std::ranges::adjacent_find(wanted, std::greater_equal<>()) != wanted.end()) return "wanted_voters: not ascending";
  return FirstProblem(lease);
}

std::string ProblemOf(v1::WorkerWindow& worker) {
  if (worker.loss_count() == 0) {  // then these mean nothing, whatever they are
    worker.clear_loss_mean();
    worker.clear_loss_variance();
  }
  return FirstProblem(worker);
}

// What was taken out, one after the other.
class Removed {
 public:
  void Add(const std::string& part, const std::string& why) {
    text_ += (text_.empty() ? "" : "; ") + part + (why.empty() ? "" : "." + why);
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

// A loss that is no number comes from training that diverged: the rest of such a window is true.
void KeepWindowWithoutItsLoss(v1::WorkerWindow& worker, Removed& removed) {
  if (worker.loss_count() == 0 || (IsNumber(std::abs(worker.loss_mean())) && IsNumber(worker.loss_variance()))) return;
  removed.Add("window.worker", "loss_mean: no sensible number");
  worker.clear_loss_count();
  worker.clear_loss_mean();
  worker.clear_loss_variance();
}

// What programs call their metrics, and how good they are, is their affair: of the job's window only those go that
// cannot be shown.
void KeepProperMetrics(v1::JobWindow& job, Removed& removed) {
  auto& metrics = *job.mutable_metrics();
  std::set<std::string> seen;
  int kept = 0;
  for (int i = 0; i < metrics.size(); ++i) {
    v1::JobMetric& metric = metrics[i];
    std::string why;
    if (!contract::IsMetricName(metric.name())) {
      why = "no name of a metric";
    } else if (!seen.insert(metric.name()).second) {
      why = "a name twice";
    } else if (seen.size() > contract::kJobMetricsMax) {
      why = "more than " + std::to_string(contract::kJobMetricsMax);
    } else {
      why = FirstProblem(metric);
    }
    if (why.empty()) {
      metrics.SwapElements(kept++, i);
    } else {
      removed.Add("window.job.metrics", CleanText(metric.name(), contract::kMetricNameBytesMax) + ": " + why);
    }
  }
  metrics.DeleteSubrange(kept, metrics.size() - kept);
}

}  // namespace

std::string CleanText(const std::string& text, size_t bytes_max) {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    const size_t control = ControlBytes(text, at);
    if (control > 0) {
      clean += ' ';
      at += control;
    } else {
      clean += text[at++];
    }
  }
  if (clean.size() <= bytes_max) return clean;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xc0) == 0x80) --end;  // not inside a character
  clean.resize(end);
  return clean;
}

std::string KeepPlausible(const v1::SidecarHello& hello, v1::PodReport& report) {
  report.DiscardUnknownFields();
  Removed removed;
  if (report.has_usage()) {
    if (const std::string problem = FirstProblem(*report.mutable_usage()); !problem.empty()) {
      removed.Add("usage", problem);
      report.clear_usage();
    }
  }
  if (report.has_window()) {
    v1::WindowReport& window = *report.mutable_window();
    const bool is_server = hello.role() == contract::kRoleServer;
    if (window.has_worker()) {
      KeepWindowWithoutItsLoss(*window.mutable_worker(), removed);
      const std::string problem = is_server ? "a server's window has none" : ProblemOf(*window.mutable_worker());
      if (!problem.empty()) {
        removed.Add("window.worker", problem);
        window.clear_worker();
      }
    }
    if (window.has_server()) {
      const std::string problem = is_server ? FirstProblem(*window.mutable_server()) : "a worker's window has none";
      if (!problem.empty()) {
        removed.Add("window.server", problem);
        window.clear_server();
      }
    }
    if (window.has_job()) {
      KeepProperMetrics(*window.mutable_job(), removed);
      const std::string problem = is_server ? ProblemOf(*window.mutable_job()) : "a worker's window has none";
      if (!problem.empty()) {
        removed.Add("window.job", problem);
        window.clear_job();
      }
    }
    if (window.has_leader_lease()) {
      const std::string problem = is_server ? ProblemOf(*window.mutable_leader_lease()) : "a worker's window has none";
      if (!problem.empty()) {
        removed.Add("window.leader_lease", problem);
        window.clear_leader_lease();
      }
    }
    std::string problem = FirstProblem(window);
    if (problem.empty() && window.duration_seconds() > kWindowSecondsMax) problem = "duration_seconds: too long";
    // Counts are divided by it.
    if (problem.empty() && window.duration_seconds() > 0 && window.duration_seconds() < kWindowSecondsMin) {
      problem = "duration_seconds: too short";
    }
    if (!problem.empty()) {
      removed.Add("window", problem);
      report.clear_window();
    }
  }
  return std::move(removed).Take();
}

namespace {

// By name, so that it is the same ones whatever the order of the map.
void DropLast(google::protobuf::Map<std::string, double>& metrics, Removed& removed) {
  if (metrics.size() <= kMetricsMax) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  std::ranges::sort(names);
  for (size_t i = kMetricsMax; i < names.size(); ++i) metrics.erase(names[i]);
  removed.Add("metrics", std::to_string(names.size() - kMetricsMax) + " beyond " + std::to_string(kMetricsMax));
}

}  // namespace

std::string KeepPlausible(v1::FinalReport& report) {
  report.DiscardUnknownFields();
  Removed removed;
  auto& metrics = *report.mutable_metrics();
  for (auto metric = metrics.begin(); metric != metrics.end();) {
    const bool good = std::isfinite(metric->second) && metric->first.size() <= kMetricNameBytesMax &&
                      CleanText(metric->first, kMetricNameBytesMax) == metric->first;
    if (good) {
      ++metric;
    } else {
      removed.Add("metrics",
                  CleanText(metric->first, 64) + (std::isfinite(metric->second) ? "" : ": no finite number"));
      metric = metrics.erase(metric);
    }
  }
  DropLast(metrics, removed);
  report.set_summary(CleanText(report.summary(), kSummaryBytesMax));
  report.set_model_path(CleanText(report.model_path(), kTextBytesMax));
  const std::string problem = CleanText(std::move(removed).Take(), kTextBytesMax);
  std::string left_out = CleanText(report.left_out(), kTextBytesMax);
  if (!problem.empty()) left_out += (left_out.empty() ? "" : "; ") + problem;
  report.set_left_out(CleanText(left_out, kTextBytesMax));
  return problem;
}

}  // namespace attune::telemetry
