// Prometheus exposition, rendered when it is asked for: series of a job exist exactly as long as the job.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace attune::controller {

class MetricsWriter {
 public:
  using Labels = std::map<std::string, std::string>;

  // Declares a metric; samples of it follow at once. `type`: "gauge" or "counter".
  void Declare(std::string_view name, std::string_view type, std::string_view help);
  void Sample(std::string_view name, const Labels& labels, double value);
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace attune::controller
