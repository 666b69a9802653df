// Serves the sidecar's metrics over HTTP for Prometheus. prometheus-cpp stays in exporter.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sidecar/metrics.h"

namespace attune::sidecar {

class Exporter {
 public:
  // `values` is called at every scrape, from the exporter's thread. `labels` go with every value. An address that
  // cannot be bound is an error that names it. `port` 0: any.
  static StatusOr<std::unique_ptr<Exporter>> Start(const std::string& host, uint16_t port,
                                                   std::map<std::string, std::string> labels,
                                                   std::function<std::vector<MetricValue>()> values);
  virtual ~Exporter() = default;  // `values` is not called afterwards

  virtual uint16_t port() const = 0;
};

}  // namespace attune::sidecar
