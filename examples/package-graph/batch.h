// One step's work: some links, negative samples that they share, and the few rows that both touch.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/ps/session.h"
#include "examples/package-graph/graph.h"

namespace attune::package_graph {

struct BatchOptions {
  uint32_t links = 512;
  uint32_t negatives = 512;  // drawn evenly from all entities, shared by the links of the batch
};

// Row numbers count within the batch: row r belongs to entities[r].
struct Batch {
  std::vector<ps::Key> entities;  // those of the links first, once each; negatives may repeat them
  std::vector<uint32_t> heads, tails, negatives;
  std::vector<Relation> relations;  // of each link

  // How many of the entities come before those that are to be filled in with negatives (BatchBuilder::BuildLinks).
  size_t LinkEntities() const { return entities.size() - negatives.size(); }
};

// Builds batches one after another; keeps its tables between them. One thread at a time. The graph must outlive it.
class BatchBuilder {
 public:
  BatchBuilder(const Graph& graph, const BatchOptions& options, uint64_t seed);

  uint64_t count() const { return (graph_.training.size() + options_.links - 1) / options_.links; }
  // Replaces `batch` by item `item` of `epoch`. Every link is in one item of each epoch, with other company in each.
  // The same in every process. No entity is in it twice.
  void Build(uint64_t epoch, uint64_t item, Batch& batch);
  // The same without negatives: their keys, the last `negatives` of the entities, are to be filled in.
  void BuildLinks(uint64_t epoch, uint64_t item, Batch& batch);

 private:
  void AddLinks(uint64_t epoch, uint64_t item, Batch& batch);
  uint32_t RowOf(EntityId entity, std::vector<ps::Key>& keys);

  const Graph& graph_;
  const BatchOptions options_;
  const uint64_t seed_;
  std::vector<uint32_t> row_of_entity_;
};

}  // namespace attune::package_graph
