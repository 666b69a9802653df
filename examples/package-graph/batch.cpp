#include "examples/package-graph/batch.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace attune::package_graph {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// A number without a common divisor with n, another for each epoch: position p of the epoch is link p * stride mod n.
uint64_t Stride(uint64_t seed, uint64_t epoch, uint64_t n) {
  uint64_t stride = 1 + SplitMix64(seed + epoch) % n;
  while (std::gcd(stride, n) > 1) ++stride;
  return stride;
}

}  // namespace

BatchBuilder::BatchBuilder(const Graph& graph, const BatchOptions& options, uint64_t seed)
    : graph_(graph), options_(options), seed_(seed), row_of_entity_(graph.size(), kNone) {}

uint32_t BatchBuilder::RowOf(EntityId entity, std::vector<ps::Key>& keys) {
  uint32_t& row = row_of_entity_[entity];
  if (row == kNone) {
    row = static_cast<uint32_t>(keys.size());
    keys.push_back(entity);
  }
  return row;
}

void BatchBuilder::AddLinks(uint64_t epoch, uint64_t item, Batch& batch) {
  for (auto* rows : {&batch.heads, &batch.tails, &batch.negatives}) rows->clear();
  batch.relations.clear();
  batch.entities.clear();
  const uint64_t n = graph_.training.size(), stride = Stride(seed_, epoch, n);
  const uint64_t begin = item * options_.links, end = std::min(n, begin + options_.links);
  for (uint64_t position = begin; position < end; ++position) {
    const Link& link = graph_.training[position * stride % n];
    batch.heads.push_back(RowOf(link.head, batch.entities));
    batch.tails.push_back(RowOf(link.tail, batch.entities));
    batch.relations.push_back(link.relation);
  }
}

void BatchBuilder::BuildLinks(uint64_t epoch, uint64_t item, Batch& batch) {
  AddLinks(epoch, item, batch);
  for (const ps::Key entity : batch.entities) row_of_entity_[entity] = kNone;
  batch.negatives.resize(options_.negatives);
  std::iota(batch.negatives.begin(), batch.negatives.end(), static_cast<uint32_t>(batch.entities.size()));
  batch.entities.resize(batch.entities.size() + options_.negatives);
}

void BatchBuilder::Build(uint64_t epoch, uint64_t item, Batch& batch) {
  AddLinks(epoch, item, batch);
  Random random(SplitMix64(SplitMix64(SplitMix64(seed_) + epoch) + item));
  for (uint32_t i = 0; i < options_.negatives; ++i) {
    batch.negatives.push_back(RowOf(static_cast<EntityId>(random.Below(graph_.size())), batch.entities));
  }
  for (const ps::Key entity : batch.entities) row_of_entity_[entity] = kNone;
}

}  // namespace attune::package_graph
