// How pushed gradients change a row: optimizers and the schedule of their rate. What a program chooses, as values;
// ps/store/formulas/optimizer.h and ps/store/formulas/learning_rate.h compute them.
#pragma once

#include <cstdint>
#include <variant>

namespace attune::ps {

// Optimizers, element by element: w a value, g its gradient, the other letters optimizer state that starts at 0 unless
// said otherwise and travels with the row.

// w -= rate * g
struct Sgd {
  float rate = 0.01F;
  bool operator==(const Sgd&) const = default;
};
// Polyak 1964: v = momentum * v + g; w -= rate * v.
// Nesterov's form (Sutskever et al. 2013): w -= rate * (g + momentum * v).
struct Momentum {
  float rate = 0.01F;
  float momentum = 0.9F;
  bool nesterov = false;
  bool operator==(const Momentum&) const = default;
};
// Duchi, Hazan, Singer 2011: a += g^2; w -= rate * g / (sqrt(a) + epsilon). a starts at initial_accumulator.
struct Adagrad {
  float rate = 0.05F;
  float initial_accumulator = 0.0F;
  float epsilon = 1e-8F;
  bool operator==(const Adagrad&) const = default;
};
// Tieleman, Hinton 2012: s = decay * s + (1 - decay) * g^2; w -= rate * g / (sqrt(s) + epsilon).
struct RmsProp {
  float rate = 0.001F;
  float decay = 0.9F;
  float epsilon = 1e-8F;
  bool operator==(const RmsProp&) const = default;
};
// Kingma, Ba 2015, with one second moment per row, as sparse embeddings use it: m = beta1 * m + (1 - beta1) * g;
// v = beta2 * v + (1 - beta2) * mean(g^2); w -= rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), where t
// counts the pushes to the row.
struct RowAdam {
  float rate = 0.001F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  bool operator==(const RowAdam&) const = default;
};
// FTRL-proximal, McMahan et al. 2013: s = (sqrt(n + g^2) - sqrt(n)) / alpha; z += g - s * w; n += g^2;
// w = |z| <= l1 ? 0 : -(z - sign(z) * l1) / ((beta + sqrt(n)) / alpha + l2). z starts where the formula gives the
// initial value. It has its own rate per value, so it takes no schedule.
struct Ftrl {
  float alpha = 0.05F;
  float beta = 1.0F;
  float l1 = 0.0F;
  float l2 = 0.0F;
  bool operator==(const Ftrl&) const = default;
};
using Optimizer = std::variant<Sgd, Adagrad, Momentum, RmsProp, RowAdam, Ftrl>;

// The optimizer's rate is multiplied by a factor of the global step: rising linearly over warmup_steps, then falling
// from 1 to final_factor over decay_steps, then final_factor.
enum class LearningRateDecay : uint8_t {
  kNone,               // 1
  kLinear,             // along a line
  kCosine,             // along half a cosine (Loshchilov, Hutter 2017)
  kInverseSquareRoot,  // sqrt(w / step) with w = max(1, warmup_steps) (Vaswani et al. 2017); decay_steps is not used
};
struct LearningRateSchedule {
  LearningRateDecay decay = LearningRateDecay::kNone;
  uint64_t warmup_steps = 0;
  uint64_t decay_steps = 0;   // above 0 for kLinear and kCosine
  float final_factor = 0.0F;  // 0 .. 1; never below it after the warm-up
  bool operator==(const LearningRateSchedule&) const = default;
};

}  // namespace attune::ps
