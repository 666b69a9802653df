// The optimizers once more, one value after the other, as the formulas at their structs say: the slow twin.
#pragma once

#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "ps/types/table_options.h"

namespace attune::ps {

struct ScalarRow {
  std::vector<float> values, state;  // state as it travels
  uint64_t count = 0;                // pushes
};

inline ScalarRow NewScalarRow(const Optimizer& optimizer, std::vector<float> values) {
  const size_t n = values.size();
  ScalarRow row{.values = std::move(values), .state = {}};
  if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) row.state.assign(n, adagrad->initial_accumulator);
  if (std::holds_alternative<Momentum>(optimizer) || std::holds_alternative<RmsProp>(optimizer)) row.state.assign(n, 0);
  if (std::holds_alternative<RowAdam>(optimizer)) row.state.assign(n + 1, 0);
  if (const auto* ftrl = std::get_if<Ftrl>(&optimizer)) {
    row.state.assign(2 * n, 0);
    for (size_t i = 0; i < n; ++i) {
      const float w = row.values[i];
      const float l1 = w > 0 ? ftrl->l1 : -ftrl->l1;
      if (w != 0) row.state[i] = -(w * (ftrl->beta / ftrl->alpha + ftrl->l2) + l1);
    }
  }
  return row;
}

struct ScalarUpdate {
  ScalarRow& row;
  const float* gradient;
  float factor;  // of the rate

  void operator()(const Sgd& o) const {
    Each([&](size_t i, float g) { row.values[i] -= o.rate * factor * g; });
  }
  void operator()(const Momentum& o) const {
    Each([&](size_t i, float g) {
      float& v = row.state[i];
      v = o.momentum * v + g;
      row.values[i] -= o.rate * factor * (o.nesterov ? g + o.momentum * v : v);
    });
  }
  void operator()(const Adagrad& o) const {
    Each([&](size_t i, float g) {
      row.state[i] += g * g;
      row.values[i] -= o.rate * factor * g / (std::sqrt(row.state[i]) + o.epsilon);
    });
  }
  void operator()(const RmsProp& o) const {
    Each([&](size_t i, float g) {
      row.state[i] = o.decay * row.state[i] + (1 - o.decay) * (g * g);
      row.values[i] -= o.rate * factor * g / (std::sqrt(row.state[i]) + o.epsilon);
    });
  }
  void operator()(const RowAdam& o) const {
    double squares = 0;
    Each([&](size_t, float g) { squares += static_cast<double>(g) * g; });
    float& v = row.state.back();
    v = o.beta2 * v + (1 - o.beta2) * static_cast<float>(squares / static_cast<double>(row.values.size()));
    const auto t = static_cast<double>(row.count);
    const double corrected = v / (1 - std::pow(static_cast<double>(o.beta2), t));
    const double step =
        o.rate * factor / (1 - std::pow(static_cast<double>(o.beta1), t)) / (std::sqrt(corrected) + o.epsilon);
    Each([&](size_t i, float g) {
      row.state[i] = o.beta1 * row.state[i] + (1 - o.beta1) * g;
      row.values[i] -= static_cast<float>(step) * row.state[i];
    });
  }
  void operator()(const Ftrl& o) const {
    const size_t n = row.values.size();
    Each([&](size_t i, float g) {
      float& z = row.state[i];
      float& squares = row.state[n + i];
      const float before = std::sqrt(squares);
      squares += g * g;
      const float after = std::sqrt(squares);
      z = z + g - (after - before) / o.alpha * row.values[i];
      const float sign = z < 0 ? -1.0F : 1.0F;
      row.values[i] = std::fabs(z) <= o.l1 ? 0 : -(z - sign * o.l1) / ((o.beta + after) / o.alpha + o.l2);
    });
  }

 private:
  template <typename Step>
  void Each(Step&& step) const {
    for (size_t i = 0; i < row.values.size(); ++i) step(i, gradient[i]);
  }
};

inline void Update(const Optimizer& optimizer, ScalarRow& row, const float* gradient, float factor = 1) {
  ++row.count;
  std::visit(ScalarUpdate{row, gradient, factor}, optimizer);
}

}  // namespace attune::ps
