#include "operator/controller/execute/metrics.h"

#include <charconv>
#include <cmath>

namespace attune::controller {
namespace {

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "NaN";
}

void AppendEscaped(std::string& text, const std::string& value) {
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
}

}  // namespace

void MetricsWriter::Declare(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ")
      .append(name)
      .append(" ")
      .append(help)
      .append("\n# TYPE ")
      .append(name)
      .append(" ")
      .append(type)
      .append("\n");
}

void MetricsWriter::Sample(std::string_view name, const Labels& labels, double value) {
  text_.append(name);
  char separator = '{';
  for (const auto& [label, content] : labels) {
    text_ += separator;
    text_.append(label).append("=\"");
    AppendEscaped(text_, content);
    text_ += '"';
    separator = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(Number(value)).append("\n");
}

}  // namespace attune::controller
