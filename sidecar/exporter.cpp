#include "sidecar/exporter.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <exception>
#include <utility>

namespace attune::sidecar {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  Collector(std::map<std::string, std::string> labels, std::function<std::vector<MetricValue>()> values)
      : labels_(std::move(labels)), values_(std::move(values)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const std::vector<MetricValue> values = values_();
    std::vector<prometheus::MetricFamily> families;
    for (const MetricInfo& info : MetricTable()) {
      prometheus::MetricFamily family{
          .name = std::string(info.name),
          .help = std::string(info.help),
          .type = info.kind == MetricKind::kCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
          .metric = {}};
      for (const MetricValue& value : values) {
        if (value.name == info.name) family.metric.push_back(Convert(info, value));
      }
      if (!family.metric.empty()) families.push_back(std::move(family));
    }
    return families;
  }

 private:
  prometheus::ClientMetric Convert(const MetricInfo& info, const MetricValue& value) const {
    prometheus::ClientMetric metric;
    for (const auto& [name, text] : labels_) metric.label.push_back({name, text});
    if (!value.quantile.empty()) metric.label.push_back({"quantile", std::string(value.quantile)});
    (info.kind == MetricKind::kCounter ? metric.counter.value : metric.gauge.value) = value.value;
    return metric;
  }

  const std::map<std::string, std::string> labels_;
  const std::function<std::vector<MetricValue>()> values_;
};

class PrometheusExporter final : public Exporter {
 public:
  PrometheusExporter(const std::string& address, std::shared_ptr<Collector> collector)
      : collector_(std::move(collector)), exposer_(address, 1) {
    exposer_.RegisterCollectable(collector_);
    const std::vector<int> ports = exposer_.GetListeningPorts();
    if (!ports.empty()) port_ = static_cast<uint16_t>(ports.front());
  }
  uint16_t port() const override { return port_; }

 private:
  std::shared_ptr<Collector> collector_;  // the exposer holds it weakly
  prometheus::Exposer exposer_;
  uint16_t port_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const std::string& host, uint16_t port,
                                                    std::map<std::string, std::string> labels,
                                                    std::function<std::vector<MetricValue>()> values) {
  const bool ipv6 = host.find(':') != std::string::npos;
  const std::string address = (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  try {
    return std::make_unique<PrometheusExporter>(address,
                                                std::make_shared<Collector>(std::move(labels), std::move(values)));
  } catch (const std::exception& error) {
    return Error(StatusCode::kUnavailable,
                 "cannot serve metrics on " + address + " (" + error.what() +
                     "); another process may hold the port, or the address is not this pod's");
  }
}

}  // namespace attune::sidecar
