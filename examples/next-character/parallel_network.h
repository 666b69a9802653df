// The network computed by several threads at once, each with a part of a step's positions.
#pragma once

#include <memory>

#include "examples/next-character/network.h"
#include "examples/support/thread_team.h"

namespace attune::next_character {

// Memory of its own for each thread, reused from call to call. One calling thread at a time.
class ParallelNetwork {
 public:
  explicit ParallelNetwork(const NetworkOptions& options) : options_(options) {}

  // As Network's, with `threads` of them; sums of floats are then formed in another order.
  double LossAndGradients(const Parameters& parameters, std::span<const Symbol> text,
                          std::span<const uint64_t> positions, uint32_t threads, Parameters& gradients);
  // Of the calling thread.
  Network& network() { return PartOf(0).network; }

 private:
  struct Part {
    explicit Part(const NetworkOptions& options) : network(options) {}
    Network network;
    Parameters gradients;
    double loss = 0;
  };
  Part& PartOf(size_t number);

  const NetworkOptions options_;
  std::vector<std::unique_ptr<Part>> parts_;
  examples::ThreadTeam team_;
};

}  // namespace attune::next_character
