#include "examples/header-words/standalone.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/time_source.h"
#include "examples/header-words/batch.h"
#include "examples/header-words/evaluation.h"
#include "ps/store/table_store.h"

namespace attune::header_words {
namespace {

using Store = std::unique_ptr<ps::TableStore>;

class Trainer {
 public:
  Trainer(const Flags& flags, const Corpus& corpus, Store headers, Store identifiers)
      : flags_(flags),
        corpus_(corpus),
        factors_(flags.Factors(MeanOf(corpus))),
        headers_(std::move(headers)),
        identifiers_(std::move(identifiers)) {}

  // Each thread takes items until none is left.
  Status Train() {
    {
      std::vector<std::jthread> threads;
      for (uint32_t i = 0; i < flags_.threads; ++i) {
        threads.emplace_back([this] {
          const Status status = TrainItems();
          const std::lock_guard lock(mutex_);
          if (!status.ok()) status_ = status;
        });
      }
    }
    return status_;
  }
  uint64_t cells() const { return cells_; }
  // Mean over the last tenth of the training.
  double Loss() const { return squares_ / static_cast<double>(std::max<uint64_t>(1, cells_of_loss_)); }
  Model GetModel() const {
    return {.options = factors_,
            .headers = All(*headers_, corpus_.headers.size()),
            .identifiers = All(*identifiers_, corpus_.identifiers.size())};
  }

 private:
  Status TrainItems() {
    BatchBuilder builder(corpus_, flags_.headers, flags_.seed);
    Batch batch;
    Rows rows, gradients;
    const uint64_t items = builder.count() * flags_.epochs;
    for (uint64_t next = next_++; next < items; next = next_++) {
      builder.Build(next / builder.count(), next % builder.count(), batch);
      rows.Resize(batch, factors_.dim);
      headers_->Pull(batch.headers, rows.headers);
      identifiers_->Pull(batch.identifiers, rows.identifiers);
      const double squares = LossAndGradients(batch, factors_, rows, gradients);
      RETURN_IF_ERROR(headers_->Push(batch.headers, gradients.headers));
      RETURN_IF_ERROR(identifiers_->Push(batch.identifiers, gradients.identifiers));
      const std::lock_guard lock(mutex_);
      cells_ += batch.cells();
      if (next < items / 10 * 9) continue;
      squares_ += squares;
      cells_of_loss_ += batch.cells();
    }
    return OkStatus();
  }

  std::vector<float> All(ps::TableStore& table, size_t rows) const {
    std::vector<ps::Key> keys(rows);
    std::iota(keys.begin(), keys.end(), ps::Key{0});
    std::vector<float> values(rows * (factors_.dim + 1));
    table.Pull(keys, values);
    return values;
  }

  const Flags& flags_;
  const Corpus& corpus_;
  const FactorOptions factors_;
  const Store headers_, identifiers_;
  std::atomic<uint64_t> next_ = 0;  // item, counted over all epochs
  std::mutex mutex_;                // over what follows
  Status status_ = OkStatus();
  uint64_t cells_ = 0, cells_of_loss_ = 0;
  double squares_ = 0;
};

}  // namespace

Status RunStandalone(const Flags& flags) {
  const SystemTime time;
  ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(flags.corpus));
  std::puts(corpus.Description().c_str());
  ASSIGN_OR_RETURN(Store headers, ps::TableStore::Create({"header", flags.Table()}, {.concurrent = true}));
  ASSIGN_OR_RETURN(Store identifiers, ps::TableStore::Create({"identifier", flags.Table()}, {.concurrent = true}));
  Trainer trainer(flags, corpus, std::move(headers), std::move(identifiers));
  const MonotonicTime start = time.Now();
  RETURN_IF_ERROR(trainer.Train());
  const double seconds = Seconds(time.Now() - start);
  const Model model = trainer.GetModel();
  const Additive additive(corpus, model.options.mean, flags.seed);
  const Errors errors = Judge(model, additive, HeldOutCells(corpus, flags.seed));
  std::fputs(Report(model, corpus, errors, flags.shown).c_str(), stdout);
  std::printf(
      "result mode=standalone threads=%u cells=%llu seconds=%.2f cells_per_second=%.0f loss=%.4f held_out_error=%.4f "
      "additive_error=%.4f\n",
      flags.threads, static_cast<unsigned long long>(trainer.cells()), seconds,
      static_cast<double>(trainer.cells()) / seconds, trainer.Loss(), errors.model, errors.additive);
  return OkStatus();
}

}  // namespace attune::header_words
