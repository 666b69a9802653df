#include "ps/store/formulas/value_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::value_type_test {
namespace {

// A 16-bit type by its definition: sign, `exponent_bits`, the rest mantissa.
struct Definition {
  int exponent_bits;
  int mantissa_bits() const { return 15 - exponent_bits; }

  double ValueOf(uint16_t bits) const {
    const int exponent = (bits >> mantissa_bits()) & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits()) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    double value = 0;
    if (exponent == (1 << exponent_bits) - 1) {
      value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
      value = std::ldexp(mantissa, 1 - bias - mantissa_bits());
    } else {
      value = std::ldexp(mantissa + (1 << mantissa_bits()), exponent - bias - mantissa_bits());
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits()); }
};
constexpr Definition kHalf{5}, kBfloat{8};

template <typename ToFloat>
void ExpectExactToFloat(const Definition& type, ToFloat&& to_float) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double want = type.ValueOf(static_cast<uint16_t>(bits));
    const float found = to_float(static_cast<uint16_t>(bits));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(found), want) << bits;
      ASSERT_EQ(std::signbit(found), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(ValueType, EveryPatternBecomesItsFloat) {
  ExpectExactToFloat(kHalf, HalfToFloat);
  ExpectExactToFloat(kBfloat, BfloatToFloat);
}

// Rounding is decided between neighbours: on each of them, in the middle, and just beside the middle.
template <typename FromFloat>
void ExpectNearestEven(const Definition& type, FromFloat&& from_float) {
  for (uint16_t bits = 0; bits < type.infinity(); ++bits) {
    const double low = type.ValueOf(bits);
    // Above the largest value: what would be the next one, were there no infinity.
    const double high = bits + 1 == type.infinity() ? 2 * low - type.ValueOf(bits - 1) : type.ValueOf(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit, also where bfloat is subnormal
    const uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const int sign : {0, 0x8000}) {
      const float s = sign == 0 ? 1.0F : -1.0F;
      ASSERT_EQ(from_float(s * static_cast<float>(low)), bits | sign);
      if (static_cast<double>(middle) != (low + high) / 2) continue;
      ASSERT_EQ(from_float(s * middle), even | sign) << bits;
      ASSERT_EQ(from_float(s * std::nextafter(middle, 0.0F)), bits | sign) << bits;
      if (std::isfinite(std::nextafter(middle, INFINITY))) {
        ASSERT_EQ(from_float(s * std::nextafter(middle, INFINITY)), (bits + 1) | sign) << bits;
      }
    }
  }
  EXPECT_EQ(from_float(INFINITY), type.infinity());
  EXPECT_EQ(from_float(-INFINITY), type.infinity() | 0x8000);
  EXPECT_TRUE(std::isnan(type.ValueOf(from_float(NAN))));
  // The only payload bit lies below what is kept.
  EXPECT_TRUE(std::isnan(type.ValueOf(from_float(std::bit_cast<float>(0x7F800001U)))));
}

TEST(ValueType, FloatsRoundToTheNearestAndTiesToEven) {
  ExpectNearestEven(kHalf, FloatToHalf);
  ExpectNearestEven(kBfloat, FloatToBfloat);
}

TEST(ValueType, FastConversionsAreThePortableOnes) {
  Random random(TestSeed("rows of 0..70 floats of any bits"));
  for (const ValueType type : {ValueType::kFloat32, ValueType::kFloat16, ValueType::kBfloat16}) {
    const ValueCodec fast = SelectCodec(type), slow = PortableCodec(type);
    ASSERT_EQ(fast.bytes_per_value, slow.bytes_per_value);
    for (size_t n = 1; n <= 70; ++n) {
      for (int round = 0; round < 50; ++round) {
        std::vector<float> values(n), loaded(n), loaded_twin(n);
        for (float& value : values) {
          value =
              random.Chance(0.5)
                  ? std::bit_cast<float>(static_cast<uint32_t>(random.Next()))
                  : static_cast<float>(std::ldexp(random.Uniform() - 0.5, static_cast<int>(random.Between(-30, 20))));
        }
        std::vector<std::byte> stored(n * fast.bytes_per_value), twin(stored.size());
        fast.store(values.data(), stored.data(), n);
        slow.store(values.data(), twin.data(), n);
        ASSERT_EQ(stored, twin);
        fast.load(stored.data(), loaded.data(), n);
        slow.load(stored.data(), loaded_twin.data(), n);
        for (size_t i = 0; i < n; ++i)
          ASSERT_EQ(std::bit_cast<uint32_t>(loaded[i]), std::bit_cast<uint32_t>(loaded_twin[i]));
      }
    }
  }
}

TEST(ValueType, EveryPatternSurvivesLoadAndStore) {
  for (const ValueType type : {ValueType::kFloat16, ValueType::kBfloat16}) {
    const Definition definition = type == ValueType::kFloat16 ? kHalf : kBfloat;
    const ValueCodec codec = SelectCodec(type);
    std::vector<uint16_t> patterns(65536), stored(65536);
    for (uint32_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
    std::vector<float> values(patterns.size());
    codec.load(reinterpret_cast<const std::byte*>(patterns.data()), values.data(), patterns.size());
    codec.store(values.data(), reinterpret_cast<std::byte*>(stored.data()), patterns.size());
    for (uint32_t i = 0; i < patterns.size(); ++i) {
      if (!std::isfinite(definition.ValueOf(patterns[i]))) continue;
      ASSERT_EQ(stored[i], patterns[i]);
    }
  }
}

TEST(ValueType, StoredValuesStayFinite) {
  const std::vector<float> large = {1e30F, -1e30F, 65520, 3.4e38F, -3.4e38F, INFINITY, 0, 1};
  for (const ValueType type : {ValueType::kFloat16, ValueType::kBfloat16}) {
    const ValueCodec codec = SelectCodec(type);
    std::vector<std::byte> stored(2 * large.size());
    std::vector<float> loaded(large.size());
    codec.store(large.data(), stored.data(), large.size());
    codec.load(stored.data(), loaded.data(), loaded.size());
    for (const float value : loaded) EXPECT_TRUE(std::isfinite(value));
    if (type == ValueType::kFloat16) {
      EXPECT_EQ(loaded[1], -65504);
    }
  }
}

}  // namespace
}  // namespace attune::ps::value_type_test
