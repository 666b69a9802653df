#include "examples/header-words/worker.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "examples/header-words/batch.h"
#include "examples/header-words/evaluation.h"
#include "examples/support/step_trace.h"
#include "examples/support/text_files.h"

namespace attune::header_words {
namespace {

class Worker {
 public:
  Worker(const Flags& flags, const Corpus& corpus, ps::Session& session, ps::Table headers, ps::Table identifiers)
      : flags_(flags),
        corpus_(corpus),
        factors_(flags.Factors(MeanOf(corpus))),
        session_(session),
        headers_(std::move(headers)),
        identifiers_(std::move(identifiers)),
        builder_(corpus, flags.headers, flags.seed),
        trace_(flags.trace) {}

  Status Train();
  // By whichever worker is handed the only item of the data set "evaluate".
  Status Evaluate();

 private:
  Status TrainOn(const Batch& batch, const ps::DataLease& lease, uint64_t number);
  StatusOr<std::vector<float>> PullAll(const ps::Table& table, size_t rows) const;

  const Flags& flags_;
  const Corpus& corpus_;
  const FactorOptions factors_;
  ps::Session& session_;
  const ps::Table headers_, identifiers_;
  BatchBuilder builder_;
  Rows rows_, gradients_;
  examples::StepTrace trace_;
};

Status Worker::TrainOn(const Batch& batch, const ps::DataLease& lease, uint64_t number) {
  rows_.Resize(batch, factors_.dim);
  ps::Future headers = headers_.PullAsync(batch.headers, rows_.headers);
  RETURN_IF_ERROR(identifiers_.Pull(batch.identifiers, rows_.identifiers));
  RETURN_IF_ERROR(headers.Wait());
  const double squares = LossAndGradients(batch, factors_, rows_, gradients_);
  headers_.PushAsync(batch.headers, gradients_.headers);
  identifiers_.PushAsync(batch.identifiers, gradients_.identifiers);
  lease.Advance(number + 1);  // before the step ends, so that a checkpoint has both or neither
  const double mean = squares / static_cast<double>(std::max<size_t>(1, batch.cells()));
  trace_.Add(mean, batch.cells());
  return session_.Step({.loss = mean, .samples = batch.cells()});
}

Status Worker::Train() {
  ps::LookAhead<Batch> ahead(
      session_, "train", {.items = builder_.count()},
      [this](const ps::PlannedItem& of) {
        Batch batch;
        builder_.Build(of.epoch, of.item, batch);
        return batch;
      },
      [this](const Batch& batch, ps::Touch& touch) {
        if (!flags_.announce) return;
        touch(headers_, batch.headers);
        touch(identifiers_, batch.identifiers);
      });
  for (auto& [lease, number, batch] : ahead) RETURN_IF_ERROR(TrainOn(batch, lease, number));
  RETURN_IF_ERROR(session_.status());
  return session_.Flush();  // reports a push that failed
}

StatusOr<std::vector<float>> Worker::PullAll(const ps::Table& table, size_t rows) const {
  constexpr size_t kKeys = 4096;
  const size_t stride = factors_.dim + 1;
  std::vector<float> values(rows * stride);
  std::vector<ps::Key> keys(rows);
  std::iota(keys.begin(), keys.end(), ps::Key{0});
  for (size_t begin = 0; begin < rows; begin += kKeys) {
    const std::span<const ps::Key> part = std::span(keys).subspan(begin, std::min(kKeys, rows - begin));
    RETURN_IF_ERROR(table.Pull(part, std::span(values).subspan(begin * stride, part.size() * stride)));
  }
  return values;
}

Status Worker::Evaluate() {
  for ([[maybe_unused]] const ps::DataLease& lease : session_.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    Model model{.options = factors_, .headers = {}, .identifiers = {}};
    ASSIGN_OR_RETURN(model.headers, PullAll(headers_, corpus_.headers.size()));
    ASSIGN_OR_RETURN(model.identifiers, PullAll(identifiers_, corpus_.identifiers.size()));
    const Errors errors =
        Judge(model, Additive(corpus_, factors_.mean, flags_.seed), HeldOutCells(corpus_, flags_.seed));
    ps::FinalResult result;
    result.metrics = {{"held_out_cells", static_cast<double>(errors.cells)},
                      {"held_out_error", errors.model},
                      {"additive_error", errors.additive},
                      {"mean_error", errors.mean}};
    result.summary = Report(model, corpus_, errors, flags_.shown);
    const std::filesystem::path directory = session_.model_directory();
    for (const auto& [name, lines] :
         {std::pair("headers.txt", &corpus_.headers), std::pair("identifiers.txt", &corpus_.identifiers)}) {
      if (Status status = examples::WriteLines(directory / name, *lines); !status.ok()) {
        return Annotate(status, "saving the names in the model directory");
      }
    }
    result.model_path = directory.string();
    if (flags_.save_tables) RETURN_IF_ERROR(session_.SaveTables());
    std::printf("%sheld_out_error=%.4f additive_error=%.4f model=%s\n", result.summary.c_str(), errors.model,
                errors.additive, result.model_path.c_str());
    RETURN_IF_ERROR(session_.Finish(result));
  }
  return session_.status();
}

}  // namespace

Status RunWorker(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(flags.corpus));
  std::puts(corpus.Description().c_str());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  session->SetSampleUnit("cells");
  ASSIGN_OR_RETURN(ps::Table headers, session->OpenTable("header", flags.Table()));
  ASSIGN_OR_RETURN(ps::Table identifiers, session->OpenTable("identifier", flags.Table()));
  Worker worker(flags, corpus, *session, std::move(headers), std::move(identifiers));
  RETURN_IF_ERROR(worker.Train());
  return session->draining() ? OkStatus() : worker.Evaluate();
}

}  // namespace attune::header_words
