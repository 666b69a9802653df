#include "ps/sampling/key_distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attune::ps {
namespace {

class Uniform final : public KeyDistribution {
 public:
  explicit Uniform(uint64_t keys) : keys_(keys) {}
  Key Draw(Random& random) const override { return random.Below(keys_); }

 private:
  const uint64_t keys_;
};

// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", ACM TOMACS 6(3), 1996): x is drawn from the density h(x) = x^-s over [0.5, n + 0.5] by inversion of
// its integral H, rounded to k, and kept if it lies in the part of k's column that is as large as h(k). Less than two
// tries in the mean for every exponent and n.
class Zipf final : public KeyDistribution {
 public:
  Zipf(uint64_t keys, double exponent)
      : keys_(keys),
        exponent_(exponent),
        low_(Integral(1.5) - 1),  // the column of 1 has the height 1 = h(1)
        high_(Integral(static_cast<double>(keys) + 0.5)),
        kept_(2 - Inverse(Integral(2.5) - Density(2))) {}

  Key Draw(Random& random) const override {
    for (;;) {
      const double area = high_ + random.Uniform() * (low_ - high_);
      const double x = Inverse(area);
      const double rank = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(keys_));
      if (rank - x <= kept_ || area >= Integral(rank + 0.5) - Density(rank)) {
        return static_cast<uint64_t>(rank) - 1;
      }
    }
  }

 private:
  // (e^t - 1) / t and log(1 + t) / t, also near 0, where an exponent of 1 leads.
  static double ExpRatio(double t) { return std::abs(t) > 1e-8 ? std::expm1(t) / t : 1 + t / 2; }
  static double LogRatio(double t) { return std::abs(t) > 1e-8 ? std::log1p(t) / t : 1 - t / 2; }

  double Density(double x) const { return std::exp(-exponent_ * std::log(x)); }
  // H(x) = (x^(1 - s) - 1) / (1 - s), and log x for s = 1.
  double Integral(double x) const {
    const double log_x = std::log(x);
    return ExpRatio((1 - exponent_) * log_x) * log_x;
  }
  double Inverse(double area) const {
    const double t = std::max(area * (1 - exponent_), -1.0);  // rounding must not lead out of the logarithm's domain
    return std::exp(LogRatio(t) * area);
  }

  const uint64_t keys_;
  const double exponent_, low_, high_;
  const double kept_;  // so far below its rank, x is kept without a look at the column
};

// The alias method (Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE TSE 17(9),
// 1991): n columns of equal height, each shared by at most two keys.
class Weighted final : public KeyDistribution {
 public:
  explicit Weighted(const std::vector<double>& weights, double largest) : columns_(weights.size()) {
    const auto n = static_cast<double>(weights.size());
    double sum = 0;  // of weights of at most 1, so that it is finite
    for (const double weight : weights) sum += weight / largest;
    std::vector<double> height(weights.size());  // in columns
    std::vector<uint32_t> low, high;             // keys with less than a column left, and with one or more
    for (uint32_t key = 0; key < height.size(); ++key) {
      height[key] = weights[key] / largest / sum * n;
      (height[key] < 1 ? low : high).push_back(key);
    }
    while (!low.empty() && !high.empty()) {
      const uint32_t own = low.back(), other = high.back();
      low.pop_back();
      columns_[own] = {.own = height[own], .other = other};
      height[other] -= 1 - height[own];
      if (height[other] >= 1) continue;
      high.pop_back();
      low.push_back(other);
    }
    // What is left is a whole column, but for rounding, which must not give one to a key without weight.
    const auto heaviest = static_cast<uint32_t>(std::ranges::max_element(weights) - weights.begin());
    for (const auto* rest : {&low, &high}) {
      for (const uint32_t key : *rest) columns_[key] = {.own = weights[key] > 0 ? 1.0 : 0.0, .other = heaviest};
    }
  }

  Key Draw(Random& random) const override {
    const uint64_t key = random.Below(columns_.size());
    const Column& column = columns_[key];
    return random.Uniform() < column.own ? key : column.other;
  }

 private:
#pragma pack(push, 4)
  struct Column {
    double own = 1;      // the part of the key that it is named after
    uint32_t other = 0;  // whose the rest is
  };
#pragma pack(pop)
  static_assert(sizeof(Column) == 12);
  std::vector<Column> columns_;
};

constexpr uint64_t kExactIntegersMax = uint64_t{1} << 53;  // in a double

using Result = StatusOr<std::unique_ptr<const KeyDistribution>>;

Status Refusal(const std::string& text) { return Error(StatusCode::kInvalidArgument, "sampling keys: " + text); }

Result Make(const UniformKeys& options) {
  if (options.keys == 0) return Refusal("there are none to draw from; say how many there are");
  return std::make_unique<const Uniform>(options.keys);
}

Result Make(const ZipfKeys& options) {
  if (options.keys == 0) return Refusal("there are none to draw from; say how many there are");
  if (options.keys > kExactIntegersMax) return Refusal("Zipf's law is drawn for 2^53 keys at most");
  if (!std::isfinite(options.exponent) || options.exponent < 0) {
    return Refusal("Zipf's exponent is " + std::to_string(options.exponent) + "; expected 0 or more");
  }
  return std::make_unique<const Zipf>(options.keys, options.exponent);
}

Result Make(const WeightedKeys& options) {
  if (options.weights.size() > std::numeric_limits<uint32_t>::max()) return Refusal("more than 4,294,967,295 weights");
  const auto bad = std::ranges::find_if_not(options.weights, [](double w) { return std::isfinite(w) && w >= 0; });
  if (bad != options.weights.end()) {
    return Refusal("the weight of key " + std::to_string(bad - options.weights.begin()) + " is " +
                   std::to_string(*bad) + "; expected 0 or more");
  }
  const double largest = options.weights.empty() ? 0 : *std::ranges::max_element(options.weights);
  if (largest == 0) return Refusal("no key has a weight above 0");
  return std::make_unique<const Weighted>(options.weights, largest);
}

}  // namespace

Result KeyDistribution::Create(const KeyDistributionOptions& options) {
  return std::visit([](const auto& kind) { return Make(kind); }, options);
}

}  // namespace attune::ps
