#include "examples/word2vec/standalone.h"

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/time_source.h"
#include "examples/word2vec/evaluation.h"
#include "examples/word2vec/gradient.h"
#include "ps/store/initializer.h"
#include "ps/store/optimizer.h"

namespace attune::word2vec {
namespace {

// A table as a plain array, with the servers' initial values and updates. Threads race for rows on purpose.
class ArrayTable {
 public:
  ArrayTable(const char* name, const ps::TableOptions& options, size_t rows)
      : dim_(options.dim), kernel_(ps::SelectKernel(options.optimizer)), values(rows * dim_), state_(rows * dim_) {
    const ps::RowInitializer initializer(options.initializer, options.seed, name);
    for (size_t row = 0; row < rows; ++row) initializer.Fill(row, std::span(values).subspan(row * dim_, dim_));
    ps::InitializeState(options.optimizer, state_.data(), state_.size());
  }
  void Pull(std::span<const ps::Key> keys, std::span<float> rows) const {
    for (size_t i = 0; i < keys.size(); ++i) std::copy_n(&values[keys[i] * dim_], dim_, &rows[i * dim_]);
  }
  void Push(std::span<const ps::Key> keys, std::span<const float> gradients) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t at = keys[i] * dim_;
      kernel_.update(kernel_.settings, &values[at], &state_[at], &gradients[i * dim_], dim_);
    }
  }

 private:
  const size_t dim_;
  const ps::RowKernel kernel_;

 public:
  std::vector<float> values;

 private:
  std::vector<float> state_;
};

struct Totals {
  double loss = 0, pairs = 0;
  uint64_t words = 0;
};

// Takes items until none is left. `totals` counts the last tenth of the training only, where the loss has settled.
void TrainItems(const Flags& flags, const Chunks& chunks, const Vocabulary& vocabulary,
                std::atomic<uint64_t>& next_item, ArrayTable& inputs, ArrayTable& outputs, Totals& totals) {
  BatchBuilder builder(vocabulary, flags.batch);
  Batch batch;
  BatchRows rows, gradients;
  const uint64_t items = chunks.training_count() * flags.epochs;
  for (uint64_t item = next_item++; item < items; item = next_item++) {
    const uint64_t epoch = item / chunks.training_count(), chunk = item % chunks.training_count();
    builder.Build(chunks.Training(chunk), flags.BatchSeed(epoch, chunk), batch);
    rows.Resize(batch, flags.dim);
    inputs.Pull(batch.input_keys, rows.inputs);
    outputs.Pull(batch.output_keys, rows.outputs);
    const double loss = LossAndGradients(batch, flags.batch, flags.dim, rows, gradients);
    inputs.Push(batch.input_keys, gradients.inputs);
    outputs.Push(batch.output_keys, gradients.outputs);
    totals.words += batch.words_read;
    if (item < items / 10 * 9) continue;
    totals.loss += loss;
    totals.pairs += static_cast<double>(batch.pairs.size());
  }
}

Totals TrainAll(const Flags& flags, const Chunks& chunks, const Vocabulary& vocabulary, ArrayTable& inputs,
                ArrayTable& outputs) {
  std::vector<Totals> totals(flags.threads);
  std::atomic<uint64_t> next_item = 0;
  {
    std::vector<std::jthread> threads;
    for (Totals& mine : totals) {
      threads.emplace_back([&] { TrainItems(flags, chunks, vocabulary, next_item, inputs, outputs, mine); });
    }
  }
  Totals sum;
  for (const Totals& t : totals) {
    sum.loss += t.loss;
    sum.pairs += t.pairs;
    sum.words += t.words;
  }
  return sum;
}

}  // namespace

Status RunStandalone(const Flags& flags) {
  const SystemTime time;
  const MonotonicTime start = time.Now();
  ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(flags.corpus));
  const double load_seconds = Seconds(time.Now() - start);
  std::printf("text: %llu files, %.1f MB, %zu words, vocabulary %zu, read in %.2f s\n",
              static_cast<unsigned long long>(corpus.files), static_cast<double>(corpus.bytes) / 1e6,
              corpus.words.size(), corpus.vocabulary.size(), load_seconds);
  const Chunks chunks(corpus.words, flags.chunk_words);
  ArrayTable inputs("input", flags.InputTable(), corpus.vocabulary.size());
  ArrayTable outputs("output", flags.OutputTable(), corpus.vocabulary.size());
  const MonotonicTime training_start = time.Now();
  const Totals totals = TrainAll(flags, chunks, corpus.vocabulary, inputs, outputs);
  const double seconds = Seconds(time.Now() - training_start);
  const Model model{flags.dim, std::move(inputs.values), std::move(outputs.values)};
  BatchBuilder builder(corpus.vocabulary, flags.batch);
  const double held_out_loss = HeldOutLoss(model, chunks, builder);
  for (const std::string& word : flags.neighbors) std::puts(Neighbors(model, corpus.vocabulary, word).c_str());
  std::printf(
      "result mode=standalone threads=%u words=%llu seconds=%.2f words_per_second=%.0f loss=%.4f held_out_loss=%.4f\n",
      flags.threads, static_cast<unsigned long long>(totals.words), seconds,
      static_cast<double>(totals.words) / seconds, totals.loss / totals.pairs, held_out_loss);
  return OkStatus();
}

}  // namespace attune::word2vec
