// What folds cost (ps/store/fold.h), beside single pushes of the same rows: million rows a second of one thread, of
// dim 64, in no order. `push`: the optimizer on a held copy. `take`, `apply`: a fold at its holder, and at the row's
// home. `refresh`: a fresh row comes to a copy with open pushes. The last column: single pushes that cost as much as to
// take and to apply one fold, so that of more pushes the fold is cheaper, apart from what a message costs.
//   adaptive_fold_bench [--repetitions N]

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "base/random.h"
#include "bench/cpu_seconds.h"
#include "ps/store/fold.h"
#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

constexpr uint32_t kDim = 64;
constexpr size_t kRows = 100'000;

// Copies of all rows, the folds taken of them, and the rows at home.
class Copies {
 public:
  explicit Copies(const Optimizer& optimizer) : options_{.dim = kDim, .optimizer = optimizer}, formula_(options_) {
    const size_t row = formula_.row_floats();
    rows_.assign(kRows * row, 0.5F);
    base_ = home_ = rows_;
    changes_.assign(kRows * formula_.fold_floats(), 0);
    gradient_.assign(kDim, 0.25F);
    for (size_t i = 0; i < kRows; ++i) {
      held_.push_back({.version = {}, .open = {}, .row = At(rows_, i, row), .base = At(base_, i, row)});
      order_.push_back(i);
    }
    Random random(1);
    for (size_t i = kRows; i > 1; --i) std::swap(order_[i - 1], order_[random.Below(i)]);
  }

  double PushesPerSecond() {
    return Rate([&](size_t i) { formula_.Push(held_[i], gradient_, 0); });
  }
  double RefreshesPerSecond() {
    const size_t row = formula_.row_floats();
    return Rate([&](size_t i) { formula_.Refresh(held_[i], At(home_, i, row), held_[i].version, nullptr); });
  }
  double TakesPerSecond() {
    const size_t fold = formula_.fold_floats();
    return Rate([&](size_t i) { counts_ = formula_.Take(held_[i], At(changes_, i, fold)); });
  }
  double AppliesPerSecond() {
    const size_t fold = formula_.fold_floats(), row = formula_.row_floats();
    return Rate([&](size_t i) {
      const std::span<float> at = At(home_, i, row);
      formula_.Apply({counts_, At(changes_, i, fold)}, {at.data(), at.data() + kDim, &at.back()});
    });
  }

 private:
  static std::span<float> At(std::vector<float>& floats, size_t i, size_t size) {
    return std::span(floats).subspan(i * size, size);
  }
  template <typename Act>
  double Rate(Act&& act) {
    const double start = ThreadCpuSeconds();
    for (const size_t i : order_) act(i);
    return kRows / (ThreadCpuSeconds() - start);
  }

  TableOptions options_;
  FoldFormula formula_;
  std::vector<float> rows_, base_, home_, changes_, gradient_;
  std::vector<HeldRow> held_;
  std::vector<size_t> order_;
  FoldCounts counts_;
};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Measure(const Optimizer& optimizer, int repetitions) {
  Copies copies(optimizer);
  std::vector<double> push, refresh, take, apply;
  for (int i = 0; i < repetitions; ++i) {
    push.push_back(copies.PushesPerSecond());
    refresh.push_back(copies.RefreshesPerSecond());
    take.push_back(copies.TakesPerSecond());
    apply.push_back(copies.AppliesPerSecond());
  }
  const double pushes = Median(push);
  std::printf("%-62s %6.2f %6.2f %6.2f %8.2f %6.2f\n", Describe(optimizer).c_str(), pushes / 1e6, Median(take) / 1e6,
              Median(apply) / 1e6, Median(refresh) / 1e6, pushes / Median(take) + pushes / Median(apply));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  int repetitions = 9;
  CLI::App app("Folds of pushes to held rows beside single pushes: million rows a second.");
  app.add_option("--repetitions", repetitions, "the median is shown")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::printf("%-62s %6s %6s %6s %8s %6s\n", "dim 64, million rows a second", "push", "take", "apply", "refresh",
              "pushes");
  for (const Optimizer& optimizer : {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(Adagrad{}),
                                     Optimizer(RmsProp{}), Optimizer(RowAdam{}), Optimizer(Ftrl{})}) {
    Measure(optimizer, repetitions);
  }
  return 0;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) { return attune::ps::Main(argc, argv); }
