// The candidates of transport_bench. Each forks its server, so no thread may run yet in the calling process.
#pragma once

#include <string>
#include <vector>

#include "bench/transport/measure.h"

namespace attune::ps::bench {

// A blocking socket loop without routing, versions, duplicate filter or optimizer; rows of a slab are really gathered
// or added. What a transport could give at most.
std::vector<Result> MeasureBare(const Settings& settings, size_t dim);

struct Path {
  std::string name;           // "tcp", "tls", "memory"
  std::string tls_directory;  // empty: no TLS
  bool shared_memory = false;
};
// Attune: one server, one worker. Empty when it does not start; the reason is on standard error.
std::vector<Result> MeasureAttune(const Settings& settings, const Path& path, size_t dim);

// What a server and a worker cost that have nothing to do.
struct IdleCores {
  double server = -1, worker = -1;
};
IdleCores MeasureIdle(const Settings& settings);

}  // namespace attune::ps::bench
