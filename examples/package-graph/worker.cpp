#include "examples/package-graph/worker.h"

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <utility>

#include "attune/ps/session.h"
#include "examples/package-graph/complex_model.h"
#include "examples/package-graph/evaluation.h"
#include "examples/support/step_trace.h"

namespace attune::package_graph {
namespace {

// A batch whose rows are on their way.
struct PulledBatch {
  Batch batch;
  Rows rows;
  ps::Future entities, relations;
  bool under_way = false;

  PulledBatch() = default;
  PulledBatch(PulledBatch&&) = default;
  PulledBatch& operator=(PulledBatch&&) = default;
  ~PulledBatch() { (void)Wait(); }  // the rows must live until the pulls have ended
  Status Wait() {
    if (!std::exchange(under_way, false)) return OkStatus();
    const Status first = entities.Wait(), second = relations.Wait();
    return first.ok() ? second : first;
  }
};

class Worker {
 public:
  Worker(const Flags& flags, const Graph& graph, ps::Session& session, ps::Table entities, ps::Table relations)
      : flags_(flags),
        graph_(graph),
        session_(session),
        entities_(std::move(entities)),
        relations_(std::move(relations)),
        builder_(graph, flags.batch, flags.seed),
        trace_(flags.trace) {}

  Status Train();
  // By whichever worker is handed the only item of the data set "evaluate".
  Status Evaluate();

 private:
  void StartPull(uint64_t epoch, uint64_t item, PulledBatch& pulled);
  Status TrainOn(PulledBatch& pulled, const ps::DataLease& lease, uint64_t item);
  StatusOr<Model> PullModel() const;

  const Flags& flags_;
  const Graph& graph_;
  ps::Session& session_;
  const ps::Table entities_, relations_;
  BatchBuilder builder_;
  Rows gradients_;
  examples::StepTrace trace_;
};

void Worker::StartPull(uint64_t epoch, uint64_t item, PulledBatch& pulled) {
  builder_.Build(epoch, item, pulled.batch);
  pulled.rows.Resize(pulled.batch, flags_.dim);
  pulled.entities = entities_.PullAsync(pulled.batch.entities, pulled.rows.entities);
  pulled.relations = relations_.PullAsync(kRelationKeys, pulled.rows.relations);
  pulled.under_way = true;
}

Status Worker::TrainOn(PulledBatch& pulled, const ps::DataLease& lease, uint64_t item) {
  RETURN_IF_ERROR(pulled.Wait());
  const double loss = LossAndGradients(pulled.batch, flags_.dim, flags_.regularization, pulled.rows, gradients_);
  entities_.PushAsync(pulled.batch.entities, gradients_.entities);
  relations_.PushAsync(kRelationKeys, gradients_.relations);
  lease.Advance(item + 1);  // before the step ends, so that a checkpoint has both or neither
  const size_t links = pulled.batch.heads.size();
  const double mean = loss / static_cast<double>(2 * links);
  trace_.Add(mean, links);
  return session_.Step({.loss = mean, .samples = links});
}

Status Worker::Train() {
  PulledBatch current, next;
  for (const ps::DataLease& lease : session_.DataLeases("train", {.items = builder_.count()})) {
    StartPull(lease.epoch(), lease.begin(), current);
    for (uint64_t item = lease.begin(); item < lease.end() && !session_.draining(); ++item) {
      if (item + 1 < lease.end()) StartPull(lease.epoch(), item + 1, next);  // travels while we compute
      RETURN_IF_ERROR(TrainOn(current, lease, item));
      std::swap(current, next);
    }
    RETURN_IF_ERROR(current.Wait());  // of an item we leave to others
    if (session_.draining()) break;
  }
  RETURN_IF_ERROR(session_.status());
  return session_.Flush();  // reports a push that failed
}

StatusOr<Model> Worker::PullModel() const {
  constexpr size_t kKeys = 4096;
  Model model{flags_.dim, std::vector<float>(graph_.size() * flags_.dim), std::vector<float>(kRelations * flags_.dim)};
  std::vector<ps::Key> keys(graph_.size());
  std::iota(keys.begin(), keys.end(), ps::Key{0});
  for (size_t begin = 0; begin < keys.size(); begin += kKeys) {
    const std::span<const ps::Key> part = std::span(keys).subspan(begin, std::min(kKeys, keys.size() - begin));
    RETURN_IF_ERROR(
        entities_.Pull(part, std::span(model.entities).subspan(begin * flags_.dim, part.size() * flags_.dim)));
  }
  RETURN_IF_ERROR(relations_.Pull(kRelationKeys, model.relations));
  return model;
}

Status Worker::Evaluate() {
  for ([[maybe_unused]] const ps::DataLease& lease : session_.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    ASSIGN_OR_RETURN(const Model model, PullModel());
    const Judge judge(graph_);
    const Judgment judgment = judge.JudgeModel(model, flags_.judged_links);
    const Judgment popularity = judge.JudgePopularity(flags_.judged_links);
    ps::FinalResult result;
    result.metrics = {{"things", static_cast<double>(graph_.size())},
                      {"held_out_ranks", static_cast<double>(judgment.all.count)},
                      {"mrr", judgment.all.Mrr()},
                      {"hits_at_10", judgment.all.Hits10()},
                      {"popularity_mrr", popularity.all.Mrr()},
                      {"popularity_hits_at_10", popularity.all.Hits10()}};
    result.summary = Report(model, graph_, judge, judgment, popularity, flags_.packages);
    const std::filesystem::path path = std::filesystem::path(session_.model_directory()) / "names.txt";
    if (Status status = WriteNames(path, graph_); !status.ok()) {
      return Annotate(status, "saving the names in the model directory");
    }
    result.model_path = path.parent_path().string();
    if (flags_.save_tables) RETURN_IF_ERROR(session_.SaveTables());
    std::printf("%smrr=%.4f hits_at_10=%.4f model=%s\n", result.summary.c_str(), judgment.all.Mrr(),
                judgment.all.Hits10(), result.model_path.c_str());
    RETURN_IF_ERROR(session_.Finish(result));
  }
  return session_.status();
}

}  // namespace

Status RunWorker(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const Graph graph, LoadGraph(flags.graph));
  std::puts(graph.Description().c_str());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  session->SetSampleUnit("links");
  ASSIGN_OR_RETURN(ps::Table entities, session->OpenTable("entity", flags.EntityTable()));
  ASSIGN_OR_RETURN(ps::Table relations, session->OpenTable("relation", flags.RelationTable()));
  Worker worker(flags, graph, *session, std::move(entities), std::move(relations));
  RETURN_IF_ERROR(worker.Train());
  return session->draining() ? OkStatus() : worker.Evaluate();
}

}  // namespace attune::package_graph
