// What all candidates of transport_bench have in common: the cases, the keys, how a case is measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attune/ps/session.h"

namespace attune::ps::bench {

struct Settings {
  double seconds = 0.25;  // of one measurement
  int repetitions = 3;
  std::vector<size_t> dims = {16, 64, 128};
  size_t batch = 256;
  uint64_t keys = 1'000'000;
  std::vector<std::string> transports = {"bare", "tcp", "tls", "memory", "idle"};
  std::vector<std::string> distributions = {"uniform", "zipf"};
  std::vector<std::string> operations = {"pull", "push"};
  std::vector<size_t> in_flight = {1, 8};
};

inline constexpr size_t kInFlightMax = 8;

struct Case {
  size_t dim = 0;
  bool zipf = false;
  bool push = false;
  size_t in_flight = 1;
  bool operator==(const Case&) const = default;
};
// In the order they are printed.
std::vector<Case> Cases(const Settings& settings, size_t dim);

// Of one case; plain data, because it travels through a pipe.
struct Result {
  char transport[8] = {};
  Case of;
  double keys_per_second = 0, slowest = 0, fastest = 0;  // median of the repetitions, and the extremes
  double p50_us = 0, p99_us = 0;                         // of a call, of the median repetition
  double worker_us = 0, server_us = 0;                   // CPU time per call, all repetitions together
};

// Batches of unique keys, drawn beforehand. Zipf with exponent 1.1, scattered over the keys.
std::vector<std::vector<Key>> Batches(const Settings& settings, bool zipf);

// A candidate: `issue` starts a batch in a slot below kInFlightMax, `finish` ends the oldest one of that slot.
struct Candidate {
  std::string transport;
  pid_t server = 0;
  std::function<void(const Case& of, size_t slot, const std::vector<Key>& keys)> issue;
  std::function<void(const Case& of, size_t slot)> finish;
};

// The cases take turns, `repetitions` times, so that other load on the machine hits all alike.
std::vector<Result> Measure(const Settings& settings, const Candidate& candidate, const std::vector<Case>& cases);

}  // namespace attune::ps::bench
