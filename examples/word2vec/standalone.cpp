#include "examples/word2vec/standalone.h"

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/time_source.h"
#include "examples/word2vec/evaluation.h"
#include "examples/word2vec/gradient.h"
#include "ps/store/formulas/initializer.h"
#include "ps/store/formulas/optimizer.h"

namespace attune::word2vec {
namespace {

// A table as a plain array, with the servers' initial values and updates. Threads race for rows on purpose.
class ArrayTable {
 public:
  ArrayTable(const char* name, const ps::TableOptions& options, size_t rows)
      : dim_(options.dim), kernel_(ps::SelectKernel(options.optimizer)), values_(rows * dim_), state_(rows * dim_) {
    const ps::RowInitializer initializer(options.initializer, options.seed, name);
    for (size_t row = 0; row < rows; ++row) initializer.Fill(row, std::span(values_).subspan(row * dim_, dim_));
    ps::InitializeState(options.optimizer, {.values = values_.data(), .state = state_.data()}, state_.size());
  }
  void Pull(std::span<const ps::Key> keys, std::span<float> rows) const {
    for (size_t i = 0; i < keys.size(); ++i) std::copy_n(&values_[keys[i] * dim_], dim_, &rows[i * dim_]);
  }
  void Push(std::span<const ps::Key> keys, std::span<const float> gradients) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t at = keys[i] * dim_;
      const ps::RowParts row{.values = &values_[at], .state = &state_[at]};
      kernel_.update(kernel_.settings, row, &gradients[i * dim_], dim_, 1);
    }
  }
  std::vector<float> TakeValues() && { return std::move(values_); }

 private:
  const size_t dim_;
  const ps::RowKernel kernel_;
  std::vector<float> values_, state_;
};

// Loss and pairs of the last tenth of the training, where the loss has settled; all words.
struct Totals {
  double loss = 0, pairs = 0;
  uint64_t words = 0;
};

class Trainer {
 public:
  Trainer(const Flags& flags, const Corpus& corpus)
      : flags_(flags),
        vocabulary_(corpus.vocabulary),
        chunks_(corpus.text, flags.chunk_words),
        inputs_("input", flags.InputTable(), vocabulary_.size()),
        outputs_("output", flags.OutputTable(), vocabulary_.size()) {}

  // Each thread takes items until none is left.
  Totals Train() {
    std::vector<Totals> totals(flags_.threads);
    {
      std::vector<std::jthread> threads;
      for (Totals& mine : totals) threads.emplace_back([&] { TrainItems(mine); });
    }
    Totals sum;
    for (const Totals& t : totals) sum = {sum.loss + t.loss, sum.pairs + t.pairs, sum.words + t.words};
    return sum;
  }
  const Chunks& chunks() const { return chunks_; }
  Model TakeModel() && { return {flags_.dim, std::move(inputs_).TakeValues(), std::move(outputs_).TakeValues()}; }

 private:
  void TrainItems(Totals& totals) {
    BatchBuilder builder(vocabulary_, flags_.batch);
    Batch batch;
    BatchRows rows, gradients;
    const uint64_t items = chunks_.training_count() * flags_.epochs;
    for (uint64_t next = next_++; next < items; next = next_++) {
      const uint64_t epoch = next / chunks_.training_count(), item = next % chunks_.training_count();
      builder.Build(chunks_.Training(epoch, item), flags_.BatchSeed(epoch, item), batch);
      rows.Resize(batch, flags_.dim);
      inputs_.Pull(batch.input_keys, rows.inputs);
      outputs_.Pull(batch.output_keys, rows.outputs);
      const double loss = LossAndGradients(batch, flags_.batch, flags_.dim, rows, gradients);
      inputs_.Push(batch.input_keys, gradients.inputs);
      outputs_.Push(batch.output_keys, gradients.outputs);
      totals.words += batch.words_read;
      if (next < items / 10 * 9) continue;
      totals.loss += loss;
      totals.pairs += static_cast<double>(batch.pairs.size());
    }
  }

  const Flags& flags_;
  const Vocabulary& vocabulary_;
  const Chunks chunks_;
  ArrayTable inputs_, outputs_;
  std::atomic<uint64_t> next_ = 0;  // item, counted over all epochs
};

}  // namespace

Status RunStandalone(const Flags& flags) {
  const SystemTime time;
  ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(flags.corpus));
  std::puts(corpus.Description().c_str());
  Trainer trainer(flags, corpus);
  const MonotonicTime start = time.Now();
  const Totals totals = trainer.Train();
  const double seconds = Seconds(time.Now() - start);
  const Model model = std::move(trainer).TakeModel();
  BatchBuilder builder(corpus.vocabulary, flags.batch);
  const double held_out_loss = HeldOutLoss(model, trainer.chunks(), builder);
  for (const std::string& word : flags.neighbors) std::puts(Neighbors(model, corpus.vocabulary, word).c_str());
  const auto words = static_cast<double>(totals.words);
  std::printf(
      "result mode=standalone threads=%u words=%.0f seconds=%.2f words_per_second=%.0f loss=%.4f "
      "held_out_loss=%.4f\n",
      flags.threads, words, seconds, words / seconds, totals.loss / totals.pairs, held_out_loss);
  return OkStatus();
}

}  // namespace attune::word2vec
