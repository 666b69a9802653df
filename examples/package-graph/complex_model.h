// ComplEx (Trouillon et al. 2016): every entity and every relation is a vector of complex numbers; how likely a link
// is, as a logit, is Re(sum of head * relation * conj(tail)). A row holds the real parts, then the imaginary parts.
//
// Seen from the head's side that is a plain inner product: of tail with head * relation; seen from the tail's side, of
// head with conj(relation) * tail. Training makes the right end likelier than the batch's negatives, on both sides
// (softmax over sampled negatives), with the regularizer N3 (Lacroix et al. 2018), a cube of the absolute values.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "examples/package-graph/batch.h"

namespace attune::package_graph {

struct Rows {
  std::vector<float> entities;   // batch.entities.size() * dim
  std::vector<float> relations;  // kRelations * dim

  void Resize(const Batch& batch, size_t dim) {
    entities.resize(batch.entities.size() * dim);
    relations.resize(kRelations * dim);
  }
};

// The keys of the relations' table.
inline constexpr std::array<ps::Key, kRelations> kRelationKeys = {0, 1, 2, 3, 4, 5, 6, 7, 8};

enum class Side { kTail, kHead };  // which end of a link is asked for

// The vector whose inner product with an entity says how likely that entity is the end asked for; `known` is the
// other end. All have `dim` values, an even number.
void MakeQuery(Side asked, const float* known, const float* relation, size_t dim, float* query);

// Sum over the links of the batch and both sides of -log p(right end), plus `regularization` / 3 * the cubes of the
// links' vectors; `gradients` becomes its derivative by every row. Returns the sum without the regularizer.
double LossAndGradients(const Batch& batch, size_t dim, float regularization, const Rows& rows, Rows& gradients);

}  // namespace attune::package_graph
