#include "examples/package-graph/worker.h"

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/sampler.h"
#include "attune/ps/session.h"
#include "base/random.h"
#include "examples/package-graph/complex_model.h"
#include "examples/package-graph/evaluation.h"
#include "examples/support/step_trace.h"
#include "examples/support/text_files.h"

namespace attune::package_graph {
namespace {

// An item, its rows once they have come.
struct Item {
  Batch batch;
  ps::Draw negatives;
  Rows rows;
  std::vector<ps::Future> pulls;

  Item() = default;
  Item(Item&&) = default;
  Item& operator=(Item&&) = default;
  ~Item() { (void)Wait(); }  // the rows must live until the pulls have ended
  Status Wait() {
    Status first;
    for (const ps::Future& pull : std::exchange(pulls, {})) first.Update(pull.Wait());
    return first;
  }
};

class Worker {
 public:
  Worker(const Flags& flags, const Graph& graph, ps::Session& session, ps::Table entities, ps::Table relations,
         ps::Sampler negatives)
      : flags_(flags),
        graph_(graph),
        session_(session),
        entities_(std::move(entities)),
        relations_(std::move(relations)),
        negatives_(std::move(negatives)),
        builder_(graph, flags.batch, flags.seed),
        trace_(flags.trace) {}

  Status Train();
  // By whichever worker is handed the only item of the data set "evaluate".
  Status Evaluate();

 private:
  Item Prepare(const ps::PlannedItem& of);
  void StartPull(Item& item);
  Status TrainOn(Item& item, const ps::DataLease& lease, uint64_t number);
  StatusOr<Model> PullModel() const;

  const Flags& flags_;
  const Graph& graph_;
  ps::Session& session_;
  const ps::Table entities_, relations_;
  ps::Sampler negatives_;
  BatchBuilder builder_;
  Rows gradients_;
  examples::StepTrace trace_;
};

Item Worker::Prepare(const ps::PlannedItem& of) {
  Item item;
  builder_.BuildLinks(of.epoch, of.item, item.batch);
  const uint32_t count = flags_.batch.negatives;
  item.negatives = flags_.announce ? negatives_.Prepare(count, of.step) : negatives_.Prepare(count);
  return item;
}

// Unless it has begun.
void Worker::StartPull(Item& item) {
  if (!item.pulls.empty()) return;
  item.rows.Resize(item.batch, flags_.dim);
  const std::span<ps::Key> entities = item.batch.entities;
  const std::span<float> rows = item.rows.entities;
  const size_t of_links = item.batch.LinkEntities();
  item.pulls.push_back(entities_.PullAsync(entities.first(of_links), rows.first(of_links * flags_.dim)));
  item.pulls.push_back(
      negatives_.PullAsync(item.negatives, entities.subspan(of_links), rows.subspan(of_links * flags_.dim)));
  item.pulls.push_back(relations_.PullAsync(kRelationKeys, item.rows.relations));
}

Status Worker::TrainOn(Item& item, const ps::DataLease& lease, uint64_t number) {
  RETURN_IF_ERROR(item.Wait());
  const double loss = LossAndGradients(item.batch, flags_.dim, flags_.regularization, item.rows, gradients_);
  entities_.PushAsync(item.batch.entities, gradients_.entities);
  relations_.PushAsync(kRelationKeys, gradients_.relations);
  lease.Advance(number + 1);  // before the step ends, so that a checkpoint has both or neither
  const size_t links = item.batch.heads.size();
  const double mean = loss / static_cast<double>(2 * links);
  trace_.Add(mean, links);
  return session_.Step({.loss = mean, .samples = links});
}

Status Worker::Train() {
  ps::LookAhead<Item> ahead(
      session_, "train", {.items = builder_.count()}, [this](const ps::PlannedItem& of) { return Prepare(of); },
      [this](const Item& item, ps::Touch& touch) {
        if (!flags_.announce) return;
        touch(entities_, std::span(item.batch.entities).first(item.batch.LinkEntities()));
        touch(relations_, kRelationKeys);
      });
  for (auto& [lease, number, item] : ahead) {
    StartPull(item);
    if (Item* const next = ahead.Following()) StartPull(*next);  // travels while we compute
    RETURN_IF_ERROR(TrainOn(item, lease, number));
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
    const ps::SamplingReport sampling = negatives_.report();
    result.metrics["sampling_here"] = sampling.here;
    result.metrics["sampling_total_variation"] = sampling.total_variation;
    result.summary = Report(model, graph_, judge, judgment, popularity, flags_.packages);
    const std::filesystem::path path = std::filesystem::path(session_.model_directory()) / "names.txt";
    if (Status status = examples::WriteLines(path, graph_.names); !status.ok()) {
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
  ASSIGN_OR_RETURN(ps::Sampler negatives, entities.OpenSampler({.distribution = ps::UniformKeys{graph.size()},
                                                                .mode = flags.sampling,
                                                                .seed = SplitMix64(flags.seed) + options.index}));
  Worker worker(flags, graph, *session, std::move(entities), std::move(relations), std::move(negatives));
  RETURN_IF_ERROR(worker.Train());
  return session->draining() ? OkStatus() : worker.Evaluate();
}

}  // namespace attune::package_graph
