// Reads neighborhoods of the package graph, as inference by a graph network does, and writes to no row: of some
// packages, some of their neighbors, and some neighbors of those, the mean of all vectors.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "base/random.h"
#include "bench/adaptive/measured_worker.h"
#include "bench/adaptive/step_times.h"
#include "examples/package-graph/graph.h"
#include "examples/package-graph/package_files.h"

namespace attune::adaptive_bench {
namespace {

struct Flags : WorkerFlags {
  uint32_t centers = 4;     // per step
  uint32_t neighbors = 10;  // of each
  uint32_t beyond = 5;      // neighbors of each of these
  uint32_t dim = 64;
  double idle_seconds = 0;
};

// By entity.
using Neighbors = std::vector<std::vector<package_graph::EntityId>>;

StatusOr<Neighbors> ReadNeighbors() {
  ASSIGN_OR_RETURN(std::vector<std::filesystem::path> lists, package_graph::FindPackageLists({}));
  ASSIGN_OR_RETURN(const package_graph::Graph graph, package_graph::LoadGraph({.lists = std::move(lists)}));
  Neighbors neighbors(graph.names.size());
  for (const package_graph::Link& link : graph.training) {
    neighbors[link.head].push_back(link.tail);
    neighbors[link.tail].push_back(link.head);
  }
  return neighbors;
}

struct Batch {
  std::vector<ps::Key> keys;  // each once
};

// Of one step, from its number alone, so that all variants read the same rows.
Batch Draw(const Flags& flags, const Neighbors& neighbors, uint64_t step) {
  Random random(SplitMix64(step));
  Batch batch;
  const auto some_of = [&](uint64_t entity, uint32_t count, const auto& then) {
    const auto& all = neighbors[entity];
    for (uint32_t i = 0; i < count && !all.empty(); ++i) then(all[random.Below(all.size())]);
  };
  for (uint32_t i = 0; i < flags.centers; ++i) {
    const uint64_t center = random.Below(neighbors.size());
    batch.keys.push_back(center);
    some_of(center, flags.neighbors, [&](uint64_t near) {
      batch.keys.push_back(near);
      some_of(near, flags.beyond, [&](uint64_t far) { batch.keys.push_back(far); });
    });
  }
  std::ranges::sort(batch.keys);
  batch.keys.erase(std::ranges::unique(batch.keys).begin(), batch.keys.end());
  return batch;
}

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const Neighbors neighbors, ReadNeighbors());
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Session> session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table,
                   session->OpenTable("vectors", {.dim = flags.dim, .initializer = ps::UniformInitializer{}}));
  session->SetSampleUnit("rows");
  ps::LookAhead<Batch> ahead(
      *session, "read", {.items = flags.steps},
      [&](const ps::PlannedItem& planned) { return Draw(flags, neighbors, planned.item); },
      [&](const Batch& batch, ps::Touch& touch) {
        if (flags.announce) touch(table, batch.keys, ps::Access::kRead);
      });
  StepTimes times(flags.skip_seconds);
  std::vector<float> rows;
  for (auto& [lease, item, batch] : ahead) {
    rows.resize(batch.keys.size() * flags.dim);
    times.Begin();
    RETURN_IF_ERROR(table.Pull(batch.keys, rows));
    times.Think();
    double mean = 0;
    for (const float value : rows) mean += value;
    mean /= static_cast<double>(rows.size());
    times.Access();
    lease.Advance(item + 1);
    RETURN_IF_ERROR(session->Step({.loss = mean, .samples = batch.keys.size()}));
    times.End();
    times.IdleOnce(flags.idle_seconds);
  }
  times.Write(flags.out, options.index);
  return session->status();
}

}  // namespace
}  // namespace attune::adaptive_bench

int main(int argc, char** argv) {
  attune::adaptive_bench::Flags flags;
  CLI::App app("Reads neighborhoods of the package graph");
  app.add_option("--centers", flags.centers, "Packages per step")->capture_default_str();
  app.add_option("--neighbors", flags.neighbors, "Neighbors of each")->capture_default_str();
  app.add_option("--beyond", flags.beyond, "Neighbors of each of these")->capture_default_str();
  app.add_option("--dim", flags.dim, "Values per row")->capture_default_str();
  app.add_option("--idle-seconds", flags.idle_seconds, "Pause for so long when what is measured has begun")
      ->capture_default_str();
  return attune::adaptive_bench::RunMeasuredWorker(argc, argv, "attune-neighborhoods", app, flags,
                                                   [&] { return attune::adaptive_bench::Run(flags); });
}
