#include "bench/transport/measure.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.h"
#include "bench/cpu_seconds.h"

namespace attune::ps::bench {
namespace {

constexpr size_t kBatches = 256;
constexpr double kWarmShare = 0.2;  // of a measurement, before it

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Slice {
  double keys_per_second = 0, p50_us = 0, p99_us = 0;
};

// Keeps `in_flight` batches in flight; returns what was measured after the warm-up.
Slice MeasureOnce(const Settings& settings, const Candidate& candidate, const Case& of,
                  const std::vector<std::vector<Key>>& batches, uint64_t& calls) {
  std::vector<double> begun_at(of.in_flight), latencies;
  size_t begun = 0, ended = 0, counted = 0;
  const double start = Now(), warm = settings.seconds * kWarmShare;
  double from = 0;
  for (double now = start; now - start < settings.seconds + warm; now = Now()) {
    if (from == 0 && now - start >= warm) {
      from = now;
      counted = ended;
      latencies.clear();
    }
    while (begun - ended < of.in_flight) {
      begun_at[begun % of.in_flight] = Now();
      candidate.issue(of, begun % of.in_flight, batches[begun % batches.size()]);
      ++begun;
    }
    candidate.finish(of, ended % of.in_flight);
    latencies.push_back(Now() - begun_at[ended % of.in_flight]);
    ++ended;
  }
  Slice slice{.keys_per_second = static_cast<double>((ended - counted) * settings.batch) / (Now() - from)};
  while (ended < begun) candidate.finish(of, ended++ % of.in_flight);
  calls += ended;
  std::ranges::sort(latencies);
  slice.p50_us = latencies[latencies.size() / 2] * 1e6;
  slice.p99_us = latencies[latencies.size() * 99 / 100] * 1e6;
  return slice;
}

}  // namespace

std::vector<Case> Cases(const Settings& settings, size_t dim) {
  std::vector<Case> cases;
  for (const std::string& distribution : settings.distributions) {
    for (const std::string& operation : settings.operations) {
      for (const size_t in_flight : settings.in_flight) {
        cases.push_back({.dim = dim,
                         .zipf = distribution == "zipf",
                         .push = operation == "push",
                         .in_flight = std::clamp<size_t>(in_flight, 1, kInFlightMax)});
      }
    }
  }
  return cases;
}

std::vector<std::vector<Key>> Batches(const Settings& settings, bool zipf) {
  Random random(zipf ? 2 : 1);
  std::vector<double> sums;
  if (zipf) {
    double sum = 0;
    for (uint64_t rank = 1; rank <= settings.keys; ++rank) {
      sums.push_back(sum += 1 / std::pow(static_cast<double>(rank), 1.1));
    }
  }
  std::vector<std::vector<Key>> batches(kBatches);
  for (std::vector<Key>& batch : batches) {
    while (batch.size() < settings.batch) {
      uint64_t key = random.Below(settings.keys);
      if (zipf) {
        const auto rank = std::ranges::lower_bound(sums, random.Uniform() * sums.back()) - sums.begin();
        key = SplitMix64(static_cast<uint64_t>(rank)) % settings.keys;
      }
      if (std::ranges::find(batch, key) == batch.end()) batch.push_back(key);
    }
  }
  return batches;
}

std::vector<Result> Measure(const Settings& settings, const Candidate& candidate, const std::vector<Case>& cases) {
  const std::vector<std::vector<Key>> batches[] = {Batches(settings, false), Batches(settings, true)};
  std::vector<std::vector<Slice>> slices(cases.size());
  std::vector<Result> results(cases.size());
  std::vector<uint64_t> calls(cases.size());
  for (int repetition = 0; repetition < settings.repetitions; ++repetition) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const double worker = ProcessCpuSeconds(), server = ProcessCpuSeconds(candidate.server);
      slices[i].push_back(MeasureOnce(settings, candidate, cases[i], batches[cases[i].zipf ? 1 : 0], calls[i]));
      results[i].worker_us += ProcessCpuSeconds() - worker;
      results[i].server_us += ProcessCpuSeconds(candidate.server) - server;
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    Result& result = results[i];
    candidate.transport.copy(result.transport, sizeof result.transport - 1);
    result.of = cases[i];
    std::ranges::sort(slices[i], {}, &Slice::keys_per_second);
    const Slice& median = slices[i][slices[i].size() / 2];
    result.keys_per_second = median.keys_per_second;
    result.p50_us = median.p50_us;
    result.p99_us = median.p99_us;
    result.slowest = slices[i].front().keys_per_second;
    result.fastest = slices[i].back().keys_per_second;
    result.worker_us *= 1e6 / static_cast<double>(calls[i]);
    result.server_us *= 1e6 / static_cast<double>(calls[i]);
  }
  return results;
}

}  // namespace attune::ps::bench
