// How a figure went since one began to look, in a few numbers: what a sparkline is drawn from. A value of bounded size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attune::cli {

class Trend {
 public:
  void Add(std::optional<double> value);  // looks without a value count for nothing
  // Means of equal parts of all looks, oldest first.
  const std::vector<double>& values() const { return values_; }

  static constexpr size_t kValuesMax = 256;

 private:
  std::vector<double> values_;
  size_t looks_per_value_ = 1, looks_ = 0;  // of the value that is being summed
  double sum_ = 0;
};

// One character per column, low to high; "" for fewer than two values or columns. `unicode`: blocks, else "_.-=*#".
std::string Sparkline(const std::vector<double>& values, int columns, bool unicode);

}  // namespace attune::cli
