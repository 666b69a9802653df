#include "operator/scheduler/fit.h"

#include <algorithm>
#include <cstdio>

namespace attune::scheduler {
namespace {

bool Holds(const Resources& free, const Resources& wanted) {
  return wanted.cpu_cores <= free.cpu_cores && wanted.memory_bytes <= free.memory_bytes;
}

// Share of the largest machine that one pod takes, in its scarcer resource.
double DominantShare(const Resources& wanted, const Resources& largest) {
  const double cpu = largest.cpu_cores > 0 ? wanted.cpu_cores / largest.cpu_cores : 0;
  const double memory = largest.memory_bytes > 0 ? wanted.memory_bytes / largest.memory_bytes : 0;
  return std::max(cpu, memory);
}

Resources Largest(const std::vector<Machine>& machines) {
  Resources largest;
  for (const Machine& machine : machines) {
    largest.cpu_cores = std::max(largest.cpu_cores, machine.free.cpu_cores);
    largest.memory_bytes = std::max(largest.memory_bytes, machine.free.memory_bytes);
  }
  return largest;
}

std::string Text(const Resources& resources) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g CPU and %.1f GiB", resources.cpu_cores, resources.memory_bytes / (1ULL << 30));
  return text;
}

const Machine* Freest(const std::vector<Machine>& machines, const Resources& largest) {
  const auto share = [&](const Machine& machine) { return DominantShare(machine.free, largest); };
  const auto best = std::max_element(machines.begin(), machines.end(),
                                     [&](const Machine& a, const Machine& b) { return share(a) < share(b); });
  return best == machines.end() ? nullptr : &*best;
}

}  // namespace

Fit FindFit(std::vector<Demand> demands, std::vector<Machine> machines) {
  const std::vector<Machine> at_start = machines;
  const Resources largest = Largest(machines);
  std::stable_sort(demands.begin(), demands.end(), [&](const Demand& a, const Demand& b) {
    return DominantShare(a.each, largest) > DominantShare(b.each, largest);
  });
  Fit fit;
  for (const Demand& demand : demands) {
    int missing = 0;
    for (int i = 0; i < demand.count; ++i) {
      const auto home = std::find_if(machines.begin(), machines.end(),
                                     [&](const Machine& machine) { return Holds(machine.free, demand.each); });
      if (home == machines.end()) {
        missing = demand.count - i;  // equal pods: the next ones find nothing either
        break;
      }
      home->free.cpu_cores -= demand.each.cpu_cores;
      home->free.memory_bytes -= demand.each.memory_bytes;
    }
    if (missing == 0) continue;
    const bool fits_nowhere = std::none_of(at_start.begin(), at_start.end(),
                                           [&](const Machine& machine) { return Holds(machine.free, demand.each); });
    fit.shortages.push_back({demand.role, missing, fits_nowhere});
  }
  return fit;
}

std::string Explain(const Fit& fit, const std::vector<Demand>& demands, const std::vector<Machine>& machines) {
  std::string text;
  const Machine* freest = Freest(machines, Largest(machines));
  for (const Fit::Shortage& shortage : fit.shortages) {
    const auto demand =
        std::find_if(demands.begin(), demands.end(), [&](const Demand& d) { return d.role == shortage.role; });
    if (demand == demands.end()) continue;
    if (!text.empty()) text += ' ';
    text += std::to_string(shortage.missing) + " of " + std::to_string(demand->count) + " " + shortage.role + "s " +
            (shortage.fits_nowhere ? "can fit on no machine" : "fit on no machine together with the rest") +
            ": each requests " + Text(demand->each);
    if (freest == nullptr) {
      text += "; there is no machine.";
    } else {
      text += "; the freest machine (" + freest->name + ") has " + Text(freest->free) + ".";
    }
    text += " Free resources, add machines, or lower spec." + shortage.role + "s.";
  }
  return text;
}

}  // namespace attune::scheduler
