#include "sidecar/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/os/file.h"

namespace attune::sidecar::metrics_test {
namespace {

v1::WindowReport FullWindow() {
  v1::WindowReport window;
  window.set_duration_seconds(2);
  v1::WorkerWindow& worker = *window.mutable_worker();
  worker.set_clock(30);
  worker.set_steps(10);
  worker.set_samples(5000);
  worker.mutable_step_seconds()->set_p50(0.1);
  worker.mutable_step_seconds()->set_count(10);
  worker.mutable_compute_seconds()->set_count(10);
  worker.mutable_pull_seconds()->set_count(10);
  worker.mutable_push_seconds()->set_count(10);
  worker.set_loss_mean(2.5);
  worker.set_loss_count(10);
  worker.set_staleness_count(10);
  worker.set_staleness_mean(1.5);
  worker.set_staleness_max(4);
  worker.mutable_copies()->set_rows(8);
  worker.mutable_copies()->set_flushed_bytes(1000);
  worker.mutable_copies()->set_refreshed_bytes(500);
  worker.mutable_copies()->set_oldest_read_seconds(0.25);
  window.mutable_server()->set_rows(7);
  window.mutable_server()->set_pulls(3);
  window.mutable_job()->set_items_done(40);
  v1::JobMetric& loss = *window.mutable_job()->add_metrics();
  loss.set_name("held_out_loss");
  loss.set_value(3.5);
  loss.set_best(3.25);
  loss.set_reports(4);
  return window;
}

v1::ProcessUsage FullUsage() {
  v1::ProcessUsage usage;
  usage.set_cpu_seconds(1.5);
  usage.set_window_seconds(2);
  usage.set_throttled_seconds(0.5);
  usage.set_cpu_limit_cores(2);
  usage.set_memory_bytes(1000);
  usage.set_memory_limit_bytes(2000);
  usage.set_network_received_bytes(300);
  usage.set_network_sent_bytes(400);
  return usage;
}

double ValueOf(const std::vector<MetricValue>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const MetricValue& v) { return v.name == name; });
  if (found == values.end()) ADD_FAILURE() << "no value for " << name;
  return found == values.end() ? 0 : found->value;
}

bool Has(const std::vector<MetricValue>& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(), [&](const MetricValue& v) { return v.name == name; });
}

TEST(MetricsTest, FiguresOfTheModelHaveTheirNameAsALabel) {
  v1::WindowReport window = FullWindow();
  window.mutable_job()->add_metrics()->set_name("no proper name");
  Metrics metrics;
  metrics.Observe(window, std::nullopt);
  const std::vector<MetricValue> values = metrics.Values({});
  EXPECT_EQ(ValueOf(values, "attune_job_metric"), 3.5);
  EXPECT_EQ(ValueOf(values, "attune_job_metric_best"), 3.25);
  EXPECT_EQ(ValueOf(values, "attune_job_metric_reports_total"), 4);
  for (const MetricValue& value : values) {
    const bool is_of_model = value.name.starts_with("attune_job_metric");
    EXPECT_EQ(value.label == "metric", is_of_model) << value.name;
    EXPECT_EQ(value.of == "held_out_loss", is_of_model) << value.name;
  }
}

TEST(MetricsTest, TheListIsTheOneInTheGoldenFile) {
  std::ostringstream list;
  for (const MetricInfo& info : MetricTable()) {
    list << info.name << " (" << (info.kind == MetricKind::kCounter ? "counter" : "gauge") << "): " << info.help
         << "\n";
  }
  const std::string golden = std::string(ATTUNE_TEST_DATA) + "/metrics.golden";
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(golden, list.str()).ok());
  }
  EXPECT_EQ(list.str(), ReadFile(golden).value_or(""))
      << "intended? run again with ATTUNE_UPDATE_GOLDEN=1 and review the change";
}

TEST(MetricsTest, NamesAreUniqueAndCountersEndInTotal) {
  std::set<std::string_view> names;
  for (const MetricInfo& info : MetricTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(info.name.starts_with("attune_")) << info.name;
    EXPECT_EQ(info.name.ends_with("_total"), info.kind == MetricKind::kCounter) << info.name;
  }
}

TEST(MetricsTest, EveryValueIsInTheTableAndEveryEntryOfTheTableHasAValue) {
  Metrics metrics;
  metrics.Observe(FullWindow(), FullUsage());
  std::set<std::string_view> table, values;
  for (const MetricInfo& info : MetricTable()) table.insert(info.name);
  for (const MetricValue& value : metrics.Values({})) values.insert(value.name);
  EXPECT_EQ(values, table);
}

TEST(MetricsTest, WindowsAddUpInCountersAndTheLastOneIsTheGauge) {
  Metrics metrics;
  metrics.Observe(FullWindow(), FullUsage());
  v1::WindowReport second = FullWindow();
  second.mutable_worker()->set_samples(1000);
  second.mutable_worker()->set_loss_mean(1.25);
  metrics.Observe(second, FullUsage());
  const auto values = metrics.Values({});
  EXPECT_EQ(ValueOf(values, "attune_worker_samples_total"), 6000);
  EXPECT_EQ(ValueOf(values, "attune_worker_samples_per_second"), 500);
  EXPECT_EQ(ValueOf(values, "attune_worker_loss"), 1.25);
  EXPECT_EQ(ValueOf(values, "attune_worker_row_copies"), 8);
  EXPECT_EQ(ValueOf(values, "attune_worker_row_bytes_total"), 2000) << "of the first cause, the flushes";
  EXPECT_EQ(ValueOf(values, "attune_worker_replica_age_seconds"), 0.25);
  EXPECT_EQ(ValueOf(values, "attune_server_pulls_total"), 6);
  EXPECT_EQ(ValueOf(values, "attune_server_rows"), 7);
  EXPECT_EQ(ValueOf(values, "attune_process_cpu_seconds_total"), 3);
  EXPECT_EQ(ValueOf(values, "attune_process_cpu_cores"), 0.75);
  EXPECT_EQ(ValueOf(values, "attune_process_throttled_ratio"), 0.25);
}

TEST(MetricsTest, OnlyWhatIsKnownIsShown) {
  Metrics metrics;
  EXPECT_EQ(metrics.Values({}).size(), 5u) << "the sidecar's own";
  v1::WindowReport window;
  window.mutable_server()->set_rows(1);
  metrics.Observe(window, std::nullopt);
  const auto values = metrics.Values({});
  EXPECT_TRUE(Has(values, "attune_server_rows"));
  EXPECT_FALSE(Has(values, "attune_worker_steps_total"));
  EXPECT_FALSE(Has(values, "attune_job_items"));
  EXPECT_FALSE(Has(values, "attune_process_memory_bytes"));
  metrics.Clear();
  EXPECT_FALSE(Has(metrics.Values({}), "attune_server_rows"));
}

}  // namespace
}  // namespace attune::sidecar::metrics_test
