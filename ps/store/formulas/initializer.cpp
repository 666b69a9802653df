#include "ps/store/formulas/initializer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include "base/random.h"

namespace attune::ps {
namespace {

// FNV-1a.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// Random bits of one position of one row.
uint64_t BitsAt(uint64_t row_stream, uint64_t position) { return SplitMix64(row_stream + position); }

void FillUniform(const UniformInitializer& uniform, uint64_t row_stream, std::span<float> values) {
  const float width = uniform.high - uniform.low;
  for (size_t i = 0; i < values.size(); ++i) {
    const float fraction = static_cast<float>(BitsAt(row_stream, i) >> 40) * 0x1.0p-24F;  // [0, 1)
    values[i] = std::min(uniform.low + width * fraction, uniform.high);
  }
}

// Box and Muller 1958. In double, so that small differences between math libraries vanish when rounded to float.
void FillNormal(const NormalInitializer& normal, uint64_t row_stream, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = BitsAt(row_stream, i);
    const double u = (static_cast<double>(bits >> 32) + 1) * 0x1.0p-32;  // (0, 1]
    const double v = static_cast<double>(bits & 0xFFFFFFFFU) * 0x1.0p-32;
    const double standard = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    values[i] = static_cast<float>(normal.mean + normal.standard_deviation * standard);
  }
}

}  // namespace

RowInitializer::RowInitializer(const Initializer& initializer, uint64_t seed, std::string_view table_name)
    : initializer_(initializer), stream_(SplitMix64(SplitMix64(seed) ^ HashName(table_name))) {}

void RowInitializer::Fill(Key key, std::span<float> values) const {
  if (const auto* constant = std::get_if<ConstantInitializer>(&initializer_)) {
    std::fill(values.begin(), values.end(), constant->value);
    return;
  }
  const uint64_t row_stream = SplitMix64(stream_ ^ SplitMix64(key));
  if (const auto* uniform = std::get_if<UniformInitializer>(&initializer_)) FillUniform(*uniform, row_stream, values);
  if (const auto* normal = std::get_if<NormalInitializer>(&initializer_)) FillNormal(*normal, row_stream, values);
  if (const auto* xavier = std::get_if<XavierInitializer>(&initializer_)) {
    const auto fan = [&](uint32_t given) {
      return given > 0 ? static_cast<double>(given) : static_cast<double>(values.size());
    };
    const auto bound = static_cast<float>(std::sqrt(6 / (fan(xavier->fan_in) + fan(xavier->fan_out))));
    FillUniform({.low = -bound, .high = bound}, row_stream, values);
  }
}

}  // namespace attune::ps
