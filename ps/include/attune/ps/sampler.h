// Rows that a step touches at random, negative samples for instance: Attune draws their keys, so that it can announce
// them, use them several times, or prefer rows that are at hand.
//
//   ASSIGN_OR_RETURN(Sampler negatives, table.OpenSampler({.distribution = ZipfKeys{.keys = n, .exponent = 0.75}}));
//   Draw draw = negatives.Prepare(64, session->clock() + 3);       // some steps before they are needed
//   ...
//   RETURN_IF_ERROR(negatives.Pull(std::move(draw), keys, rows));  // in that step: 64 keys, and their rows
//   ...
//   table.PushAsync(keys, gradients);
//
// One thread uses a sampler; each thread opens one of its own, with a seed of its own. It must not outlive the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attune/ps/session.h"
#include "ps/types/sampling.h"

namespace attune::ps {

// Keys to come. Belongs to the sampler that prepared it.
class Draw {
 public:
  Draw() = default;
  size_t size() const { return size_; }

 private:
  friend class Sampler;
  explicit Draw(size_t size) : size_(size) {}

  size_t size_ = 0;
  std::vector<Key> keys_;  // empty: drawn when they are pulled
};

class Sampler {
 public:
  struct State;
  explicit Sampler(std::unique_ptr<State> state);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  // Draws `count` keys, and announces them (Table::Intend) for this worker's step `step`. With kLocal they are drawn
  // when they are pulled, and nothing is announced.
  Draw Prepare(size_t count, uint64_t step);
  // The same without announcing, for rows that are pulled at once.
  Draw Prepare(size_t count);

  // The keys of a draw, draw.size() of them, in no particular order, which may repeat, and their rows: as Table::Pull.
  // InvalidArgument when `keys` or `rows` have another size; else the errors of Table::Pull, after which the keys are
  // drawn all the same.
  Status Pull(const Draw& draw, std::span<Key> keys, std::span<float> rows);
  // The same without waiting for rows that are elsewhere: as Table::PullAsync. The keys are there at once.
  Future PullAsync(const Draw& draw, std::span<Key> keys, std::span<float> rows);

  SamplingReport report() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace attune::ps
