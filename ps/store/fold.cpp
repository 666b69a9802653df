#include "ps/store/fold.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/check.h"
#include "ps/store/formulas/learning_rate.h"

namespace attune::ps {
namespace {

// What the optimizer multiplies its states by with each push, before it adds to them.
struct Decays {
  double of_values = 1;
  double of_row = 1;
};
struct DecaysOf {
  Decays operator()(const Sgd&) const { return {}; }
  Decays operator()(const Momentum& o) const { return {.of_values = o.momentum}; }
  Decays operator()(const Adagrad&) const { return {}; }
  Decays operator()(const RmsProp& o) const { return {.of_values = o.decay}; }
  Decays operator()(const RowAdam& o) const { return {.of_values = o.beta1, .of_row = o.beta2}; }
  Decays operator()(const Ftrl&) const { return {}; }
};
Decays Of(const Optimizer& optimizer) { return std::visit(DecaysOf{}, optimizer); }

// changes = after - factor * before. `changes` may be `after`.
void SubtractScaled(const float* before, const float* after, float factor, float* changes, size_t n) {
  for (size_t i = 0; i < n; ++i) changes[i] = after[i] - factor * before[i];
}
// to = factor * from + changes. `to` may be `from` or `changes`.
void AddScaled(const float* from, const float* changes, float factor, float* to, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = factor * from[i] + changes[i];
}

}  // namespace

FoldFormula::FoldFormula(const TableOptions& options)
    : dim_(options.dim),
      states_(dim_ * StatesPerValue(options.optimizer)),
      state_floats_(StateFloats(options.optimizer, dim_)),
      values_follow_(std::holds_alternative<Ftrl>(options.optimizer)),
      has_schedule_(options.schedule != LearningRateSchedule()),
      schedule_(options.schedule),
      kernel_(SelectKernel(options.optimizer)),
      decay_(Of(options.optimizer).of_values),
      row_decay_(Of(options.optimizer).of_row) {}

RowParts FoldFormula::PartsOf(std::span<float> row) const {
  ATTUNE_CHECK(row.size() == row_floats()) << row.size() << " floats of a row that has " << row_floats();
  float* const state = row.data() + dim_;
  return {row.data(), state, state_floats_ > states_ ? state + states_ : nullptr};
}

bool FoldFormula::Push(HeldRow& held, std::span<const float> gradient, uint64_t step) const {
  const RowParts row = PartsOf(held.row);
  ATTUNE_CHECK(gradient.size() == dim_) << gradient.size() << " values of a gradient for dim " << dim_;
  if (held.open.pushes == 0) std::ranges::copy(held.row, held.base.begin());
  ++held.open.pushes;
  held.version = held.version.Next();
  if (!kernel_.all_finite(gradient.data(), dim_)) return false;
  ++held.open.updates;
  const OptimizerSettings settings = has_schedule_ ? kernel_.SettingsAt(RateFactor(schedule_, step)) : kernel_.settings;
  kernel_.update(settings, row, gradient.data(), dim_, held.version.counter());
  return true;
}

FoldCounts FoldFormula::Take(HeldRow& held, std::span<float> changes) const {
  ATTUNE_CHECK(held.open.pushes > 0) << "nothing to take";
  ATTUNE_CHECK(changes.size() == fold_floats()) << changes.size() << " floats for a fold of " << fold_floats();
  const FoldCounts counts = held.open;
  float* const state_changes = changes.data() + changes.size() - state_floats_;
  if (!values_follow_) SubtractScaled(held.base.data(), held.row.data(), 1, changes.data(), dim_);
  SubtractStates(held.base.data() + dim_, held.row.data() + dim_, counts.updates, state_changes);
  std::ranges::copy(held.base, held.row.begin());
  Apply({.counts = counts, .changes = changes}, PartsOf(held.row));
  held.open = {};
  return counts;
}

void FoldFormula::Refresh(HeldRow& held, std::span<const float> fresh, RowVersion version,
                          const FoldView* in_flight) const {
  ATTUNE_CHECK(fresh.size() == row_floats()) << fresh.size() << " floats of a row that has " << row_floats();
  float* const values = held.row.data();
  float* const states = values + dim_;
  const bool has_open = held.open.pushes > 0;
  if (has_open) {  // the open pushes wait as changes in the copy's own place
    SubtractScaled(held.base.data(), values, 1, values, dim_);
    SubtractStates(held.base.data() + dim_, states, held.open.updates, states);
  }
  const std::span<float> base = has_open ? held.base : held.row;
  std::ranges::copy(fresh, base.begin());
  held.version = version;
  if (in_flight != nullptr) {
    Apply(*in_flight, PartsOf(base));
    held.version = held.version.After(in_flight->counts.pushes);
  }
  if (!has_open) return;
  Add(PartsOf(base), values, states, held.open.updates, PartsOf(held.row));
  held.version = held.version.After(held.open.pushes);
}

void FoldFormula::Apply(const FoldView& fold, const RowParts& row) const {
  ATTUNE_CHECK(fold.changes.size() == fold_floats())
      << fold.changes.size() << " floats of a fold that has " << fold_floats();
  if (fold.counts.updates == 0) return;
  const float* const states = fold.changes.data() + fold.changes.size() - state_floats_;
  Add(row, fold.changes.data(), states, fold.counts.updates, row);
}

void FoldFormula::SubtractStates(const float* before, const float* after, uint32_t updates, float* changes) const {
  SubtractScaled(before, after, static_cast<float>(decay_.Of(updates)), changes, states_);
  if (state_floats_ == states_) return;
  SubtractScaled(before + states_, after + states_, static_cast<float>(row_decay_.Of(updates)), changes + states_, 1);
}

void FoldFormula::Add(const RowParts& from, const float* value_changes, const float* state_changes, uint32_t updates,
                      const RowParts& to) const {
  AddScaled(from.state, state_changes, static_cast<float>(decay_.Of(updates)), to.state, states_);
  if (state_floats_ > states_) {
    AddScaled(from.row_state, state_changes + states_, static_cast<float>(row_decay_.Of(updates)), to.row_state, 1);
  }
  if (values_follow_) return SetValuesOfFtrl(to);
  AddScaled(from.values, value_changes, 1, to.values, dim_);
}

void FoldFormula::SetValuesOfFtrl(const RowParts& row) const {
  const OptimizerSettings& ftrl = kernel_.settings;
  const float* const sums = row.state;
  const float* const squares = row.state + dim_;
  for (size_t i = 0; i < dim_; ++i) {
    const float z = sums[i];
    const float beyond = z - std::copysign(ftrl.l1, z);
    const float value = -beyond / ((ftrl.beta + std::sqrt(squares[i])) / ftrl.rate + ftrl.l2);
    row.values[i] = std::fabs(z) <= ftrl.l1 ? 0.0F : value;
  }
}

}  // namespace attune::ps
