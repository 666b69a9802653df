#include "sidecar/exporter.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

#include "base/net/http_endpoint.h"

namespace attune::sidecar {
namespace {

using Labels = std::map<std::string, std::string>;

prometheus::ClientMetric Convert(const MetricInfo& info, const MetricValue& value, const Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  if (!value.label.empty()) metric.label.push_back({std::string(value.label), value.of});
  (info.kind == MetricKind::kCounter ? metric.counter.value : metric.gauge.value) = value.value;
  return metric;
}

std::vector<prometheus::MetricFamily> Families(const std::vector<MetricValue>& values, const Labels& labels) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricInfo& info : MetricTable()) {
    prometheus::MetricFamily family{
        .name = std::string(info.name),
        .help = std::string(info.help),
        .type = info.kind == MetricKind::kCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
        .metric = {}};
    for (const MetricValue& value : values) {
      if (value.name == info.name) family.metric.push_back(Convert(info, value, labels));
    }
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return families;
}

class PrometheusExporter final : public Exporter {
 public:
  explicit PrometheusExporter(std::unique_ptr<HttpEndpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  uint16_t port() const override { return endpoint_->port(); }

 private:
  const std::unique_ptr<HttpEndpoint> endpoint_;
};

}  // namespace

// The pages are the project's own endpoint and not prometheus-cpp's exposer: that one gives each connection a thread of
// few, and a client that says nothing keeps it for half a minute.
StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const std::string& host, uint16_t port, Labels labels,
                                                    std::function<std::vector<MetricValue>()> values) {
  const auto page = [labels = std::move(labels), values = std::move(values)] {
    return HttpPage{.code = 200,
                    .content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = prometheus::TextSerializer().Serialize(Families(values(), labels))};
  };
  auto endpoint = HttpEndpoint::Start({.host = host, .port = port}, {{"/metrics", page}});
  if (!endpoint.ok()) {
    return Annotate(endpoint.status(),
                    "serving metrics; another process may hold the port, or the address is not "
                    "this pod's");
  }
  return std::make_unique<PrometheusExporter>(*std::move(endpoint));
}

}  // namespace attune::sidecar
