// Pushes to a copy of a row, added up to one change of it: what a holder of the copy sends, and what the row's owner
// applies in place of each push. With w and s the copy's values and optimizer state after n pushes, w0 and s0 the same
// before them, and d the factor by which the optimizer lets a state decay with each push:
//
//   taken     dW = w - w0,  dS = s - d^n s0
//   applied   w <- w + dW,  s <- d^n s + dS,  and the counter of the row's version rises by n
//
// d is the momentum, the decay of RmsProp, beta1 and beta2 of RowAdam, and 1 for sums (Adagrad, Ftrl). Values of Ftrl
// follow from its state, so its folds carry dS alone.
//
// The result is that of the single pushes, but for the rounding of these formulas, when no other node wrote to the row
// meanwhile. Otherwise sums of all writers are complete, and only the steps were computed by a state that had not seen
// the others' pushes yet. Summed gradients would not do: squares of sums are no sums of squares.
//
// Pure, thread-safe. Values are float32 here, as they travel. decision 0069
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "ps/store/fold_counts.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/row_version.h"
#include "ps/types/table_options.h"

namespace attune::ps {

struct FoldView {
  FoldCounts counts;
  std::span<const float> changes;  // dW (not of Ftrl), then dS; FoldFormula::fold_floats()
};

// One row at a holder, in the holder's memory. `row` and `base` have FoldFormula::row_floats(): values, then state.
struct HeldRow {
  RowVersion version;     // that the home's row has once it has all pushes that are in `row`
  FoldCounts open;        // pushes since `base`
  std::span<float> row;   // what the program reads
  std::span<float> base;  // the row before the first open push; means nothing while there is none
};

// Of the changes of one fold: dW (not of Ftrl), then dS.
inline size_t FoldFloats(const Optimizer& optimizer, size_t dim) {
  return StateFloats(optimizer, dim) + (std::holds_alternative<Ftrl>(optimizer) ? 0 : dim);
}

class FoldFormula {
 public:
  explicit FoldFormula(const TableOptions& options);

  bool AllFinite(std::span<const float> gradients) const {
    return kernel_.all_finite(gradients.data(), gradients.size());
  }
  size_t row_floats() const { return dim_ + state_floats_; }
  size_t fold_floats() const { return (values_follow_ ? 0 : dim_) + state_floats_; }

  // --- at a holder

  // The table's optimizer runs on the copy; a gradient that is not finite is counted and skipped. `step`: for the
  // schedule of the learning rate. False: skipped.
  bool Push(HeldRow& held, std::span<const float> gradient, uint64_t step) const;
  // Takes the open pushes, of which there must be some. The copy continues as what the home makes of its row with them,
  // so that both have the same bits while no other node writes.
  FoldCounts Take(HeldRow& held, std::span<float> changes) const;
  // The home's row has come: the copy becomes it, with what it has not seen of this holder's pushes on top: those of
  // `in_flight`, unless that is nullptr, then the open ones.
  void Refresh(HeldRow& held, std::span<const float> fresh, RowVersion version, const FoldView* in_flight) const;

  // --- at the owner

  void Apply(const FoldView& fold, const RowParts& row) const;

 private:
  RowParts PartsOf(std::span<float> row) const;
  // What `updates` pushes have made of the states of a row. `changes` may be `after` itself.
  void SubtractStates(const float* before, const float* after, uint32_t updates, float* changes) const;
  // to = from with these changes. `to` may be `from`, and may be where the changes are.
  void Add(const RowParts& from, const float* value_changes, const float* state_changes, uint32_t updates,
           const RowParts& to) const;
  void SetValuesOfFtrl(const RowParts& row) const;  // by the formula at Ftrl

  size_t dim_;
  size_t states_;  // of values; the one of the row comes behind them
  size_t state_floats_;
  bool values_follow_;  // from the state
  bool has_schedule_;
  LearningRateSchedule schedule_;
  RowKernel kernel_;
  Powers decay_;      // of states of values
  Powers row_decay_;  // of the one of the row
};

}  // namespace attune::ps
