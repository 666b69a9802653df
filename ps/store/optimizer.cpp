#include "ps/store/optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <variant>

// The bodies are inlined into one function per instruction set, which the compiler then vectorizes for that set. Plain
// function pointers rather than target_clones: those need a resolver that runs before the sanitizers are ready.
#define ATTUNE_INLINE [[gnu::always_inline]] inline

namespace attune::ps {
namespace {

ATTUNE_INLINE void SgdBody(const OptimizerSettings& settings, float* __restrict values,
                           const float* __restrict gradient, size_t n) {
  const float rate = settings.rate;
  for (size_t i = 0; i < n; ++i) values[i] -= rate * gradient[i];
}

ATTUNE_INLINE void AdagradBody(const OptimizerSettings& settings, float* __restrict values, float* __restrict state,
                               const float* __restrict gradient, size_t n) {
  const float rate = settings.rate;
  const float epsilon = settings.epsilon;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float accumulator = state[i] + g * g;
    state[i] = accumulator;
    values[i] -= rate * g / (std::sqrt(accumulator) + epsilon);
  }
}

// NaN and infinities are the values whose exponent bits are all ones. Integer arithmetic, because it may be reordered.
ATTUNE_INLINE bool AllFiniteBody(const float* values, size_t n) {
  constexpr uint32_t kExponent = 0x7F800000U;
  uint32_t found = 0;
  for (size_t i = 0; i < n; ++i) found |= (std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
  return found == 0;
}

// One namespace per instruction set: the attribute in front of each of the three functions.
#define ATTUNE_KERNELS(set, ...)                                                                       \
  namespace set {                                                                                      \
  __VA_ARGS__ void Sgd(const OptimizerSettings& s, float* w, float*, const float* g, size_t n) {       \
    SgdBody(s, w, g, n);                                                                               \
  }                                                                                                    \
  __VA_ARGS__ void Adagrad(const OptimizerSettings& s, float* w, float* a, const float* g, size_t n) { \
    AdagradBody(s, w, a, g, n);                                                                        \
  }                                                                                                    \
  __VA_ARGS__ bool AllFinite(const float* values, size_t n) { return AllFiniteBody(values, n); }       \
  }

ATTUNE_KERNELS(portable, )
#if defined(__x86_64__)
ATTUNE_KERNELS(avx2, [[gnu::target("avx2")]])
ATTUNE_KERNELS(avx512, [[gnu::target("avx512f,avx512vl,avx512bw,prefer-vector-width=512")]])
#endif
#undef ATTUNE_KERNELS

struct KernelSet {
  UpdateFunction sgd;
  UpdateFunction adagrad;
  IsFiniteFunction all_finite;
};

constexpr KernelSet kPortable{portable::Sgd, portable::Adagrad, portable::AllFinite};

KernelSet BestSet() {
#if defined(__x86_64__)
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_avx512) return {avx512::Sgd, avx512::Adagrad, avx512::AllFinite};
  if (__builtin_cpu_supports("avx2")) return {avx2::Sgd, avx2::Adagrad, avx2::AllFinite};
#endif
  return kPortable;
}

RowKernel KernelFrom(const KernelSet& set, const Optimizer& optimizer) {
  if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) {
    return {set.adagrad, set.all_finite, {.rate = adagrad->rate, .epsilon = adagrad->epsilon}};
  }
  return {set.sgd, set.all_finite, {.rate = std::get<Sgd>(optimizer).rate}};
}

}  // namespace

uint32_t StatesPerValue(const Optimizer& optimizer) { return std::holds_alternative<Adagrad>(optimizer) ? 1 : 0; }

void InitializeState(const Optimizer& optimizer, float* state, size_t dim) {
  if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) std::fill_n(state, dim, adagrad->initial_accumulator);
}

RowKernel SelectKernel(const Optimizer& optimizer) { return KernelFrom(BestSet(), optimizer); }
RowKernel PortableKernel(const Optimizer& optimizer) { return KernelFrom(kPortable, optimizer); }

}  // namespace attune::ps
