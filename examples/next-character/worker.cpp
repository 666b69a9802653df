#include "examples/next-character/worker.h"

#include <cstdio>
#include <numeric>

#include "attune/ps/session.h"
#include "examples/next-character/evaluation.h"
#include "examples/next-character/parallel_network.h"
#include "examples/support/step_trace.h"

namespace attune::next_character {
namespace {

class Worker {
 public:
  Worker(const Flags& flags, std::span<const Symbol> text, ps::Session& session, std::vector<ps::Table> tables)
      : flags_(flags),
        text_(text),
        positions_(text, flags.network.context),
        session_(session),
        tables_(std::move(tables)),
        network_(flags.network),
        trace_(flags.trace) {
    const auto shapes = Shapes(flags.network);
    for (size_t layer = 0; layer < kLayers; ++layer) {
      keys_[layer].resize(shapes[layer].rows);
      std::iota(keys_[layer].begin(), keys_[layer].end(), ps::Key{0});
      parameters_[layer].resize(shapes[layer].size());
    }
  }

  Status Train();
  // By whichever worker is handed the only item of the data set "evaluate".
  Status Evaluate();

 private:
  Status PullNetwork();
  Status TrainOn(const ps::DataLease& lease, uint64_t item);

  const Flags& flags_;
  const std::span<const Symbol> text_;
  const Positions positions_;
  ps::Session& session_;
  const std::vector<ps::Table> tables_;             // by layer
  std::array<std::vector<ps::Key>, kLayers> keys_;  // of all rows
  ParallelNetwork network_;
  Parameters parameters_, gradients_;
  std::vector<uint64_t> batch_;
  examples::StepTrace trace_;
};

Status Worker::PullNetwork() {
  std::array<ps::Future, kLayers> pulls;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    pulls[layer] = tables_[layer].PullAsync(keys_[layer], parameters_[layer]);
  }
  Status status = OkStatus();
  for (const ps::Future& pull : pulls) {  // all, because they write into our memory
    const Status ended = pull.Wait();
    if (status.ok()) status = ended;
  }
  return status;
}

Status Worker::TrainOn(const ps::DataLease& lease, uint64_t item) {
  positions_.Batch(lease.epoch(), item, flags_.epoch_batches, flags_.batch, batch_);
  RETURN_IF_ERROR(PullNetwork());
  const double loss = network_.LossAndGradients(parameters_, text_, batch_, session_.ThreadsForStep(), gradients_);
  for (size_t layer = 0; layer < kLayers; ++layer) tables_[layer].PushAsync(keys_[layer], gradients_[layer]);
  lease.Advance(item + 1);  // before the step ends, so that a checkpoint has both or neither
  trace_.Add(loss, batch_.size());
  return session_.Step({.loss = loss, .samples = batch_.size()});
}

Status Worker::Train() {
  for (const ps::DataLease& lease : session_.DataLeases("train", {.items = flags_.epoch_batches})) {
    for (uint64_t item = lease.begin(); item < lease.end() && !session_.draining(); ++item) {
      RETURN_IF_ERROR(TrainOn(lease, item));
    }
    if (session_.draining()) break;
  }
  RETURN_IF_ERROR(session_.status());
  return session_.Flush();  // reports a push that failed
}

Status Worker::Evaluate() {
  for ([[maybe_unused]] const ps::DataLease& lease : session_.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    RETURN_IF_ERROR(PullNetwork());
    ps::FinalResult result;
    const double bits = HeldOutBits(network_.network(), parameters_, text_, positions_, flags_.judged_characters);
    const double bigram_bits = BigramBits(text_, positions_, flags_.judged_characters);
    result.metrics = {{"held_out_bits", bits}, {"bigram_bits", bigram_bits}};
    result.summary =
        "made up by the network:\n" + MakeUp(network_.network(), flags_.network, parameters_, flags_.sampling);
    if (flags_.save_tables) {
      RETURN_IF_ERROR(session_.SaveTables());
      result.model_path = session_.model_directory();
    }
    std::printf("%s\nheld_out_bits=%.4f bigram_bits=%.4f\n", result.summary.c_str(), bits, bigram_bits);
    RETURN_IF_ERROR(session_.Finish(result));
  }
  return session_.status();
}

}  // namespace

Status RunWorker(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const Text text, LoadText(flags.text));
  std::puts(text.Description().c_str());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  session->SetSampleUnit("characters");
  session->OfferThreads({.initial = 1, .most = flags.worker_threads_max});
  std::vector<ps::Table> tables;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    ASSIGN_OR_RETURN(ps::Table table, session->OpenTable(kLayerNames[layer], flags.TableOf(layer)));
    tables.push_back(std::move(table));
  }
  Worker worker(flags, text.symbols, *session, std::move(tables));
  RETURN_IF_ERROR(worker.Train());
  return session->draining() ? OkStatus() : worker.Evaluate();
}

}  // namespace attune::next_character
