// How a figure of the model is named (Session::ReportMetric): in programs, manifests, status, Prometheus and files.
#pragma once

#include <cstddef>
#include <string_view>

namespace attune::contract {

inline constexpr size_t kMetricNameBytesMax = 64;
inline constexpr size_t kJobMetricsMax = 32;  // names of one job
inline constexpr char kMetricNamePattern[] = "^[A-Za-z][A-Za-z0-9_./-]*$";
inline constexpr char kMetricNameWords[] = R"(1 to 64 letters, digits and "_-./", the first one a letter)";

// What pattern and length say.
constexpr bool IsMetricName(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || name.size() > kMetricNameBytesMax || !letter(name.front())) return false;
  for (const char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '/' && c != '-') return false;
  }
  return true;
}

}  // namespace attune::contract
