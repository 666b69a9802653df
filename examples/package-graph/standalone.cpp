#include "examples/package-graph/standalone.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/time_source.h"
#include "examples/package-graph/complex_model.h"
#include "examples/package-graph/evaluation.h"
#include "ps/store/table_store.h"

namespace attune::package_graph {
namespace {

using Tables = std::unique_ptr<ps::TableStore>;

class Trainer {
 public:
  Trainer(const Flags& flags, const Graph& graph, Tables entities, Tables relations)
      : flags_(flags), graph_(graph), entities_(std::move(entities)), relations_(std::move(relations)) {}

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
  // Mean over the last tenth of the training, where the loss has settled.
  double Loss() const { return loss_ / static_cast<double>(2 * links_); }
  Model GetModel() const {
    Model model{flags_.dim, std::vector<float>(graph_.size() * flags_.dim),
                std::vector<float>(kRelations * flags_.dim)};
    std::vector<ps::Key> keys(graph_.size());
    std::iota(keys.begin(), keys.end(), ps::Key{0});
    entities_->Pull(keys, model.entities);
    relations_->Pull(kRelationKeys, model.relations);
    return model;
  }

 private:
  Status TrainItems() {
    BatchBuilder builder(graph_, flags_.batch, flags_.seed);
    Batch batch;
    Rows rows, gradients;
    const uint64_t items = builder.count() * flags_.epochs;
    for (uint64_t next = next_++; next < items; next = next_++) {
      builder.Build(next / builder.count(), next % builder.count(), batch);
      rows.Resize(batch, flags_.dim);
      entities_->Pull(batch.entities, rows.entities);
      relations_->Pull(kRelationKeys, rows.relations);
      const double loss = LossAndGradients(batch, flags_.dim, flags_.regularization, rows, gradients);
      RETURN_IF_ERROR(entities_->Push(batch.entities, gradients.entities));
      RETURN_IF_ERROR(relations_->Push(kRelationKeys, gradients.relations));
      if (next < items / 10 * 9) continue;
      const std::lock_guard lock(mutex_);
      loss_ += loss;
      links_ += batch.heads.size();
    }
    return OkStatus();
  }

  const Flags& flags_;
  const Graph& graph_;
  const Tables entities_, relations_;
  std::atomic<uint64_t> next_ = 0;  // item, counted over all epochs
  std::mutex mutex_;                // over what follows
  Status status_ = OkStatus();
  double loss_ = 0;
  uint64_t links_ = 0;
};

}  // namespace

Status RunStandalone(const Flags& flags) {
  const SystemTime time;
  ASSIGN_OR_RETURN(const Graph graph, LoadGraph(flags.graph));
  std::puts(graph.Description().c_str());
  ASSIGN_OR_RETURN(Tables entities, ps::TableStore::Create({"entity", flags.EntityTable()}, {.concurrent = true}));
  ASSIGN_OR_RETURN(Tables relations, ps::TableStore::Create({"relation", flags.RelationTable()}, {.concurrent = true}));
  Trainer trainer(flags, graph, std::move(entities), std::move(relations));
  const MonotonicTime start = time.Now();
  RETURN_IF_ERROR(trainer.Train());
  const double seconds = Seconds(time.Now() - start);
  const Model model = trainer.GetModel();
  const Judge judge(graph);
  const Judgment judgment = judge.JudgeModel(model, flags.judged_links);
  const Judgment popularity = judge.JudgePopularity(flags.judged_links);
  std::fputs(Report(model, graph, judge, judgment, popularity, flags.packages).c_str(), stdout);
  const double links = static_cast<double>(graph.training.size()) * flags.epochs;
  std::printf(
      "result mode=standalone threads=%u links=%.0f seconds=%.2f links_per_second=%.0f loss=%.4f mrr=%.4f "
      "hits_at_10=%.4f\n",
      flags.threads, links, seconds, links / seconds, trainer.Loss(), judgment.all.Mrr(), judgment.all.Hits10());
  return OkStatus();
}

}  // namespace attune::package_graph
