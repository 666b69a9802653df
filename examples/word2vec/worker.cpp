#include "examples/word2vec/worker.h"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "base/time_source.h"
#include "examples/support/step_trace.h"
#include "examples/word2vec/evaluation.h"
#include "examples/word2vec/gradient.h"

namespace attune::word2vec {
namespace {

// A batch, and its rows once they are on their way.
struct PulledBatch {
  Batch batch;
  BatchRows rows;
  ps::Future inputs, outputs;
  bool under_way = false;

  PulledBatch() = default;
  PulledBatch(PulledBatch&&) = default;
  PulledBatch& operator=(PulledBatch&&) = default;
  ~PulledBatch() { (void)Wait(); }  // the rows must live until the pulls have ended
  Status Wait() {
    if (!std::exchange(under_way, false)) return OkStatus();
    const Status input_status = inputs.Wait(), output_status = outputs.Wait();
    return input_status.ok() ? output_status : input_status;
  }
};

class Worker {
 public:
  Worker(const Flags& flags, const Corpus& corpus, ps::Session& session, ps::Table inputs, ps::Table outputs)
      : flags_(flags),
        vocabulary_(corpus.vocabulary),
        chunks_(corpus.text, flags.chunk_words),
        session_(session),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        builder_(corpus.vocabulary, flags.batch),
        trace_(flags.trace) {}

  Status Train();
  // On the way, every goal.evaluateEvery of the manifest: by whichever worker is handed that.
  Status EvaluateWhenDue();
  // At the end, by whichever worker is handed the only item of the data set "evaluate".
  Status Evaluate();

 private:
  PulledBatch Prepare(const ps::PlannedItem& of);
  void StartPull(PulledBatch& pulled);
  Status TrainOn(PulledBatch& pulled, const ps::DataLease& lease, uint64_t item);
  StatusOr<Model> PullModel() const;

  const Flags& flags_;
  const Vocabulary& vocabulary_;
  const Chunks chunks_;
  ps::Session& session_;
  const ps::Table inputs_, outputs_;
  BatchBuilder builder_;
  BatchRows gradients_;
  examples::StepTrace trace_;
};

PulledBatch Worker::Prepare(const ps::PlannedItem& of) {
  PulledBatch pulled;
  builder_.Build(chunks_.Training(of.epoch, of.item), flags_.BatchSeed(of.epoch, of.item), pulled.batch);
  return pulled;
}

// Unless it has begun.
void Worker::StartPull(PulledBatch& pulled) {
  if (pulled.under_way) return;
  pulled.rows.Resize(pulled.batch, flags_.dim);
  pulled.inputs = inputs_.PullAsync(pulled.batch.input_keys, pulled.rows.inputs);
  pulled.outputs = outputs_.PullAsync(pulled.batch.output_keys, pulled.rows.outputs);
  pulled.under_way = true;
}

Status Worker::TrainOn(PulledBatch& pulled, const ps::DataLease& lease, uint64_t item) {
  RETURN_IF_ERROR(pulled.Wait());
  const Batch& batch = pulled.batch;
  const double loss = LossAndGradients(batch, flags_.batch, flags_.dim, pulled.rows, gradients_);
  inputs_.PushAsync(batch.input_keys, gradients_.inputs);
  outputs_.PushAsync(batch.output_keys, gradients_.outputs);
  lease.Advance(item + 1);  // before the step ends, so that a checkpoint has both or neither
  const double mean = batch.pairs.empty() ? std::nan("") : loss / static_cast<double>(batch.pairs.size());
  trace_.Add(mean, batch.words_read);
  return session_.Step({.loss = mean, .samples = batch.words_read});
}

Status Worker::Train() {
  ps::LookAhead<PulledBatch> ahead(
      session_, "train", {.items = chunks_.training_count()}, [this](const ps::PlannedItem& of) { return Prepare(of); },
      [this](const PulledBatch& pulled, ps::Touch& touch) {
        if (!flags_.announce) return;
        touch(inputs_, pulled.batch.input_keys);
        touch(outputs_, pulled.batch.output_keys);
      });
  for (auto& [lease, item, pulled] : ahead) {
    StartPull(pulled);
    if (PulledBatch* const next = ahead.Following()) StartPull(*next);  // travels while we compute
    RETURN_IF_ERROR(TrainOn(pulled, lease, item));
    RETURN_IF_ERROR(EvaluateWhenDue());
  }
  RETURN_IF_ERROR(session_.status());
  return session_.Flush();  // reports a push that failed
}

StatusOr<Model> Worker::PullModel() const {
  constexpr size_t kKeys = 4096;
  Model model{flags_.dim, std::vector<float>(vocabulary_.size() * flags_.dim), {}};
  model.outputs.resize(model.inputs.size());
  for (size_t begin = 0; begin < vocabulary_.size(); begin += kKeys) {
    std::vector<ps::Key> keys(std::min(kKeys, vocabulary_.size() - begin));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = begin + i;
    const auto part = [&](std::vector<float>& all) {
      return std::span(all).subspan(begin * flags_.dim, keys.size() * flags_.dim);
    };
    RETURN_IF_ERROR(inputs_.Pull(keys, part(model.inputs)));
    RETURN_IF_ERROR(outputs_.Pull(keys, part(model.outputs)));
  }
  return model;
}

Status Worker::EvaluateWhenDue() {
  for ([[maybe_unused]] const ps::DataLease& lease : session_.DataLeases("validate", {.when_due = true})) {
    ASSIGN_OR_RETURN(const Model model, PullModel());
    RETURN_IF_ERROR(session_.ReportMetric("held_out_loss", HeldOutLoss(model, chunks_, builder_)));
  }
  return OkStatus();
}

Status Worker::Evaluate() {
  for ([[maybe_unused]] const ps::DataLease& lease : session_.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    ASSIGN_OR_RETURN(const Model model, PullModel());
    ps::FinalResult result;
    result.metrics["vocabulary"] = static_cast<double>(vocabulary_.size());
    const double held_out_loss = HeldOutLoss(model, chunks_, builder_);
    if (std::isfinite(held_out_loss)) result.metrics["held_out_loss"] = held_out_loss;
    RETURN_IF_ERROR(session_.ReportMetric("held_out_loss", held_out_loss));
    for (const std::string& word : flags_.neighbors) result.summary += Neighbors(model, vocabulary_, word) + '\n';
    const std::filesystem::path path = std::filesystem::path(session_.model_directory()) / "vectors.txt";
    if (Status status = WriteVectors(path, model, vocabulary_); !status.ok()) {
      return Annotate(status, "saving the vectors in the model directory");
    }
    result.model_path = path.string();
    if (flags_.save_tables) {
      RETURN_IF_ERROR(WriteVocabulary(path.parent_path() / "vocabulary.txt", vocabulary_));
      RETURN_IF_ERROR(session_.SaveTables());
    }
    std::printf("%sheld_out_loss=%.4f model=%s\n", result.summary.c_str(), held_out_loss, path.c_str());
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
  session->SetSampleUnit("words");
  ASSIGN_OR_RETURN(ps::Table inputs, session->OpenTable("input", flags.InputTable()));
  ASSIGN_OR_RETURN(ps::Table outputs, session->OpenTable("output", flags.OutputTable()));
  Worker worker(flags, corpus, *session, std::move(inputs), std::move(outputs));
  RETURN_IF_ERROR(worker.Train());
  return session->draining() ? OkStatus() : worker.Evaluate();
}

}  // namespace attune::word2vec
