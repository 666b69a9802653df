// Can these pods run on these machines? The first question of every placement: asked before a job's pods wait for ever.
// Pure: no I/O, no clock. Quantities are requests, as kube-scheduler counts them; it binds, this only foresees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::scheduler {

struct Resources {
  double cpu_cores = 0;
  double memory_bytes = 0;

  friend bool operator==(const Resources&, const Resources&) = default;
};

struct Machine {
  std::string name;
  Resources free;  // allocatable minus what other pods request
};

// `count` equal pods.
struct Demand {
  std::string role;  // "server", "worker"
  int count = 0;
  Resources each;
};

struct Fit {
  struct Shortage {
    std::string role;
    int missing = 0;            // pods that found no machine
    bool fits_nowhere = false;  // one pod alone is larger than every machine
  };
  std::vector<Shortage> shortages;  // empty: everything fits
  bool complete() const { return shortages.empty(); }
};

// First-fit decreasing by the larger share of a machine: not optimal (bin packing is NP-hard), but it never says that
// something fits which does not.
Fit FindFit(std::vector<Demand> demands, std::vector<Machine> machines);

// For people: "2 of 4 workers fit nowhere now: each requests 1 CPU and 2.0 GiB; the freest machine (node-2) has 0.5 CPU
// and 7.1 GiB. Free resources, add machines, or lower spec.workers". Empty when everything fits.
std::string Explain(const Fit& fit, const std::vector<Demand>& demands, const std::vector<Machine>& machines);

}  // namespace attune::scheduler
