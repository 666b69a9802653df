#include "ps/store/formulas/optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <variant>

// The bodies are inlined into one function per instruction set, which the compiler then vectorizes for that set. Plain
// function pointers rather than target_clones: those need a resolver that runs before the sanitizers are ready.
#define ATTUNE_INLINE [[gnu::always_inline]] inline

namespace attune::ps {
namespace {

ATTUNE_INLINE void SgdBody(const OptimizerSettings& settings, const RowParts& row, const float* __restrict gradient,
                           size_t n, uint64_t) {
  float* __restrict values = row.values;
  const float rate = settings.rate;
  for (size_t i = 0; i < n; ++i) values[i] -= rate * gradient[i];
}

ATTUNE_INLINE void MomentumBody(const OptimizerSettings& settings, const RowParts& row,
                                const float* __restrict gradient, size_t n, uint64_t) {
  float* __restrict values = row.values;
  float* __restrict velocity = row.state;
  const float rate = settings.rate;
  const float momentum = settings.decay;
  for (size_t i = 0; i < n; ++i) {
    const float v = momentum * velocity[i] + gradient[i];
    velocity[i] = v;
    values[i] -= rate * v;
  }
}

ATTUNE_INLINE void NesterovBody(const OptimizerSettings& settings, const RowParts& row,
                                const float* __restrict gradient, size_t n, uint64_t) {
  float* __restrict values = row.values;
  float* __restrict velocity = row.state;
  const float rate = settings.rate;
  const float momentum = settings.decay;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float v = momentum * velocity[i] + g;
    velocity[i] = v;
    values[i] -= rate * (g + momentum * v);
  }
}

ATTUNE_INLINE void AdagradBody(const OptimizerSettings& settings, const RowParts& row, const float* __restrict gradient,
                               size_t n, uint64_t) {
  float* __restrict values = row.values;
  float* __restrict state = row.state;
  const float rate = settings.rate;
  const float epsilon = settings.epsilon;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float accumulator = state[i] + g * g;
    state[i] = accumulator;
    values[i] -= rate * g / (std::sqrt(accumulator) + epsilon);
  }
}

ATTUNE_INLINE void RmsPropBody(const OptimizerSettings& settings, const RowParts& row, const float* __restrict gradient,
                               size_t n, uint64_t) {
  float* __restrict values = row.values;
  float* __restrict state = row.state;
  const float rate = settings.rate;
  const float epsilon = settings.epsilon;
  const float decay = settings.decay;
  const float rest = 1 - decay;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float average = decay * state[i] + rest * (g * g);
    state[i] = average;
    values[i] -= rate * g / (std::sqrt(average) + epsilon);
  }
}

// Sixteen partial sums, then a tree: one order of additions for every vector width.
ATTUNE_INLINE float SumOfSquares(const float* __restrict values, size_t n) {
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane] * values[i + lane];
  }
  for (size_t lane = 0; i < n; ++i, ++lane) sums[lane] += values[i] * values[i];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return sums[0];
}

ATTUNE_INLINE void RowAdamBody(const OptimizerSettings& settings, const RowParts& row, const float* __restrict gradient,
                               size_t n, uint64_t count) {
  float* __restrict values = row.values;
  float* __restrict moment = row.state;
  const float square = SumOfSquares(gradient, n) / static_cast<float>(n);
  const float average = settings.beta * *row.row_state + (1 - settings.beta) * square;
  *row.row_state = average;
  const double deviation = std::sqrt(static_cast<double>(average) / (1 - settings.beta_powers->Of(count)));
  const auto step = static_cast<float>(settings.rate / (1 - settings.decay_powers->Of(count)) /
                                       (deviation + static_cast<double>(settings.epsilon)));
  const float decay = settings.decay;
  const float rest = 1 - decay;
  for (size_t i = 0; i < n; ++i) {
    const float m = decay * moment[i] + rest * gradient[i];
    moment[i] = m;
    values[i] -= step * m;
  }
}

ATTUNE_INLINE void FtrlBody(const OptimizerSettings& settings, const RowParts& row, const float* __restrict gradient,
                            size_t n, uint64_t) {
  float* __restrict values = row.values;
  float* __restrict sum = row.state;
  float* __restrict squares = row.state + n;
  const float alpha = settings.rate;
  const float beta = settings.beta;
  const float l1 = settings.l1;
  const float l2 = settings.l2;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float squares_after = squares[i] + g * g;
    const float root = std::sqrt(squares_after);
    const float sigma = (root - std::sqrt(squares[i])) / alpha;
    const float z = sum[i] + g - sigma * values[i];
    squares[i] = squares_after;
    sum[i] = z;
    const float beyond = z - std::copysign(l1, z);
    const float value = -beyond / ((beta + root) / alpha + l2);
    values[i] = std::fabs(z) <= l1 ? 0.0F : value;
  }
}

// NaN and infinities are the values whose exponent bits are all ones. Integer arithmetic, because it may be reordered.
ATTUNE_INLINE bool AllFiniteBody(const float* values, size_t n) {
  constexpr uint32_t kExponent = 0x7F800000U;
  uint32_t found = 0;
  for (size_t i = 0; i < n; ++i) found |= (std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
  return found == 0;
}

// One function per optimizer and one namespace per instruction set; the attribute stands in front of each function.
#define ATTUNE_UPDATE(name, attribute)                                                                         \
  attribute void name(const OptimizerSettings& settings, const RowParts& row, const float* gradient, size_t n, \
                      uint64_t count) {                                                                        \
    name##Body(settings, row, gradient, n, count);                                                             \
  }
#define ATTUNE_KERNELS(set, attribute)                                                         \
  namespace set {                                                                              \
  ATTUNE_UPDATE(Sgd, attribute)                                                                \
  ATTUNE_UPDATE(Momentum, attribute)                                                           \
  ATTUNE_UPDATE(Nesterov, attribute)                                                           \
  ATTUNE_UPDATE(Adagrad, attribute)                                                            \
  ATTUNE_UPDATE(RmsProp, attribute)                                                            \
  ATTUNE_UPDATE(RowAdam, attribute)                                                            \
  ATTUNE_UPDATE(Ftrl, attribute)                                                               \
  attribute bool AllFinite(const float* values, size_t n) { return AllFiniteBody(values, n); } \
  }

struct KernelSet {
  UpdateFunction sgd, momentum, nesterov, adagrad, rms_prop, row_adam, ftrl;
  IsFiniteFunction all_finite;
};
#define ATTUNE_KERNEL_SET(set)                                                                                  \
  KernelSet {                                                                                                   \
    set::Sgd, set::Momentum, set::Nesterov, set::Adagrad, set::RmsProp, set::RowAdam, set::Ftrl, set::AllFinite \
  }

ATTUNE_KERNELS(portable, )
#if defined(__x86_64__)
ATTUNE_KERNELS(avx2, [[gnu::target("avx2")]])
ATTUNE_KERNELS(avx512, [[gnu::target("avx512f,avx512vl,avx512bw,prefer-vector-width=512")]])
#endif
constexpr KernelSet kPortable = ATTUNE_KERNEL_SET(portable);

KernelSet BestSet() {
#if defined(__x86_64__)
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_avx512) return ATTUNE_KERNEL_SET(avx512);
  if (__builtin_cpu_supports("avx2")) return ATTUNE_KERNEL_SET(avx2);
#endif
  return kPortable;
}
#undef ATTUNE_KERNEL_SET
#undef ATTUNE_KERNELS
#undef ATTUNE_UPDATE

// What a kernel is made of, by optimizer.
struct Chooser {
  const KernelSet& set;
  RowKernel operator()(const Sgd& o) const { return {set.sgd, set.all_finite, {.rate = o.rate}, {}, {}}; }
  RowKernel operator()(const Momentum& o) const {
    const UpdateFunction update = o.nesterov ? set.nesterov : set.momentum;
    return {update, set.all_finite, {.rate = o.rate, .decay = o.momentum}, {}, {}};
  }
  RowKernel operator()(const Adagrad& o) const {
    return {set.adagrad, set.all_finite, {.rate = o.rate, .epsilon = o.epsilon}, {}, {}};
  }
  RowKernel operator()(const RmsProp& o) const {
    return {set.rms_prop, set.all_finite, {.rate = o.rate, .epsilon = o.epsilon, .decay = o.decay}, {}, {}};
  }
  RowKernel operator()(const RowAdam& o) const {
    RowKernel kernel{set.row_adam,
                     set.all_finite,
                     {.rate = o.rate, .epsilon = o.epsilon, .decay = o.beta1, .beta = o.beta2},
                     std::make_shared<Powers>(o.beta1),
                     std::make_shared<Powers>(o.beta2)};
    kernel.settings.decay_powers = kernel.decay_powers.get();
    kernel.settings.beta_powers = kernel.beta_powers.get();
    return kernel;
  }
  RowKernel operator()(const Ftrl& o) const {
    return {set.ftrl, set.all_finite, {.rate = o.alpha, .beta = o.beta, .l1 = o.l1, .l2 = o.l2}, {}, {}};
  }
};

}  // namespace

Powers::Powers(double base) : base_(base) {
  low_[0] = high_[0] = 1;
  for (uint64_t i = 1; i < kTable; ++i) low_[i] = low_[i - 1] * base;
  const double step = low_[kTable - 1] * base;
  for (uint64_t i = 1; i < kTable; ++i) high_[i] = high_[i - 1] * step;
}

double Powers::Of(uint64_t exponent) const {
  if (exponent < kTable * kTable) return low_[exponent % kTable] * high_[exponent / kTable];
  double result = 1;
  double square = base_;
  for (; exponent > 0; exponent /= 2, square *= square) {
    if (exponent % 2 == 1) result *= square;
  }
  return result;
}

uint32_t StatesPerValue(const Optimizer& optimizer) {
  if (std::holds_alternative<Sgd>(optimizer)) return 0;
  return std::holds_alternative<Ftrl>(optimizer) ? 2 : 1;
}

bool HasRowState(const Optimizer& optimizer) { return std::holds_alternative<RowAdam>(optimizer); }

void InitializeState(const Optimizer& optimizer, const RowParts& row, size_t n) {
  std::fill_n(row.state, n * StatesPerValue(optimizer), 0.0F);
  if (HasRowState(optimizer)) *row.row_state = 0;
  if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) std::fill_n(row.state, n, adagrad->initial_accumulator);
  if (const auto* ftrl = std::get_if<Ftrl>(&optimizer)) {
    for (size_t i = 0; i < n; ++i) {
      const float w = row.values[i];
      if (w != 0) row.state[i] = -(w * (ftrl->beta / ftrl->alpha + ftrl->l2) + std::copysign(ftrl->l1, w));
    }
  }
}

RowKernel SelectKernel(const Optimizer& optimizer) { return std::visit(Chooser{BestSet()}, optimizer); }
RowKernel PortableKernel(const Optimizer& optimizer) { return std::visit(Chooser{kPortable}, optimizer); }

}  // namespace attune::ps
