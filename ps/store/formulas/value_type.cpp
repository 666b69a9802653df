#include "ps/store/formulas/value_type.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attune::ps {
namespace {

constexpr float kHalfMax = 65504.0F;
constexpr float kBfloatMax = 0x1.FEp127F;
constexpr uint32_t kSign = 0x80000000U;
constexpr uint32_t kInfinity = 0x7F800000U;

// NaN stays: comparisons with it are false.
[[gnu::always_inline]] inline float Clamp(float value, float max) {
  const float below = value > max ? max : value;
  return below < -max ? -max : below;
}

[[gnu::always_inline]] inline uint16_t RoundToBfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & ~kSign) > kInfinity ? nan : rounded);
}

}  // namespace

float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 31) {
    return std::bit_cast<float>(sign | kInfinity | (mantissa << 13) | (mantissa != 0 ? 0x400000U : 0U));
  }
  if (exponent == 0) {  // zero and subnormals: multiples of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & kSign) >> 16;
  const uint32_t magnitude = bits & ~kSign;
  if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x1FFU));
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and above
  if (magnitude < 0x38800000U) {                                               // below 2^-14: subnormal
    // Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded as additions are.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5F)));
  }
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

float BfloatToFloat(uint16_t bfloat) { return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16); }
uint16_t FloatToBfloat(float value) { return RoundToBfloat(value); }

namespace {

void CopyIn(const std::byte* stored, float* values, size_t n) { std::memcpy(values, stored, n * sizeof(float)); }
void CopyOut(const float* values, std::byte* stored, size_t n) { std::memcpy(stored, values, n * sizeof(float)); }

void LoadHalf(const std::byte* stored, float* values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, stored + 2 * i, sizeof half);
    values[i] = HalfToFloat(half);
  }
}
void StoreHalf(const float* values, std::byte* stored, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint16_t half = FloatToHalf(Clamp(values[i], kHalfMax));
    std::memcpy(stored + 2 * i, &half, sizeof half);
  }
}

[[gnu::always_inline]] inline void LoadBfloatBody(const std::byte* __restrict stored, float* __restrict values,
                                                  size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t bfloat = 0;
    std::memcpy(&bfloat, stored + 2 * i, sizeof bfloat);
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16);
  }
}
[[gnu::always_inline]] inline void StoreBfloatBody(const float* __restrict values, std::byte* __restrict stored,
                                                   size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint16_t bfloat = RoundToBfloat(Clamp(values[i], kBfloatMax));
    std::memcpy(stored + 2 * i, &bfloat, sizeof bfloat);
  }
}

void LoadBfloat(const std::byte* stored, float* values, size_t n) { LoadBfloatBody(stored, values, n); }
void StoreBfloat(const float* values, std::byte* stored, size_t n) { StoreBfloatBody(values, stored, n); }

#if defined(__x86_64__)
// The instructions round and treat NaN as the functions above; the rest of a row goes through those.
[[gnu::target("avx2,f16c")]] void LoadHalfAvx2(const std::byte* stored, float* values, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stored + 2 * i));
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(halves));
  }
  LoadHalf(stored + 2 * i, values + i, n - i);
}
[[gnu::target("avx2,f16c")]] void StoreHalfAvx2(const float* values, std::byte* stored, size_t n) {
  const __m256 max = _mm256_set1_ps(kHalfMax);
  const __m256 min = _mm256_set1_ps(-kHalfMax);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    // min and max return their second operand when one is NaN.
    const __m256 clamped = _mm256_max_ps(min, _mm256_min_ps(max, _mm256_loadu_ps(values + i)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(stored + 2 * i), _mm256_cvtps_ph(clamped, _MM_FROUND_TO_NEAREST_INT));
  }
  StoreHalf(values + i, stored + 2 * i, n - i);
}
[[gnu::target("avx2")]] void LoadBfloatAvx2(const std::byte* stored, float* values, size_t n) {
  LoadBfloatBody(stored, values, n);
}
[[gnu::target("avx2")]] void StoreBfloatAvx2(const float* values, std::byte* stored, size_t n) {
  StoreBfloatBody(values, stored, n);
}
#endif

}  // namespace

ValueCodec PortableCodec(ValueType type) {
  switch (type) {
    case ValueType::kFloat16:
      return {2, LoadHalf, StoreHalf};
    case ValueType::kBfloat16:
      return {2, LoadBfloat, StoreBfloat};
    case ValueType::kFloat32:
      break;
  }
  return {4, CopyIn, CopyOut};
}

ValueCodec SelectCodec(ValueType type) {
#if defined(__x86_64__)
  const bool is_supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (is_supported && type == ValueType::kFloat16) return {2, LoadHalfAvx2, StoreHalfAvx2};
  if (is_supported && type == ValueType::kBfloat16) return {2, LoadBfloatAvx2, StoreBfloatAvx2};
#endif
  return PortableCodec(type);
}

}  // namespace attune::ps
