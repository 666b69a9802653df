// A worker that thinks for a fixed time in every step and measures what it spends on rows: within Pull, PushAsync and
// Step. Announces the rows of its next steps, as early as LookAhead or a number of steps, or none. Writes one line of
// JSON at its end.
#include <CLI/CLI.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "base/random.h"
#include "bench/adaptive/measured_worker.h"
#include "bench/adaptive/step_times.h"
#include "ps/sampling/key_distribution.h"

namespace attune::adaptive_bench {
namespace {

struct Flags : WorkerFlags {
  bool localize = false;
  uint64_t hot = 0;    // rows, the first ones, which are the most frequent
  uint64_t early = 0;  // steps; 0: LookAhead's
  uint64_t rows = 100'000;
  uint32_t dim = 64;
  uint32_t keys = 256;       // per step
  double skew = 0;           // of Zipf; 0: uniform
  uint32_t think_us = 2000;  // of each step
};

struct Batch {
  std::vector<ps::Key> keys;
};

// Of one step, from its number alone, so that all variants touch the same rows.
class Draws {
 public:
  Draws(const ps::KeyDistribution& distribution, uint32_t keys) : distribution_(distribution), keys_(keys) {}
  Batch Of(uint64_t step) const {
    Random random(SplitMix64(step));
    Batch batch;
    for (uint32_t i = 0; i < keys_; ++i) batch.keys.push_back(distribution_.Draw(random));
    return batch;
  }

 private:
  const ps::KeyDistribution& distribution_;
  const uint32_t keys_;
};

// Steps, one after the other, and the time that each spends on rows.
class Steps {
 public:
  Steps(const Flags& flags, ps::Session& session, const ps::Table& table)
      : flags_(flags),
        session_(session),
        table_(table),
        times_(flags.skip_seconds),
        rows_(size_t{flags.keys} * flags.dim),
        gradients_(rows_.size(), 1e-3F) {}

  Status Step(const Batch& batch, const ps::DataLease& lease, uint64_t item) {
    times_.Begin();
    RETURN_IF_ERROR(table_.Pull(batch.keys, rows_));
    times_.Think();
    if (flags_.think_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(flags_.think_us));
    times_.Access();
    table_.PushAsync(batch.keys, gradients_);
    lease.Advance(item + 1);
    RETURN_IF_ERROR(session_.Step({.loss = 1, .samples = flags_.keys}));
    times_.End();
    return OkStatus();
  }
  StepTimes& times() { return times_; }

 private:
  const Flags& flags_;
  ps::Session& session_;
  const ps::Table& table_;
  StepTimes times_;
  std::vector<float> rows_;
  const std::vector<float> gradients_;
};

Status PlanByLookAhead(const Flags& flags, const Draws& draws, ps::Session& session, const ps::Table& table,
                       Steps& steps) {
  ps::LookAhead<Batch> ahead(
      session, "train", {.items = flags.steps}, [&](const ps::PlannedItem& planned) { return draws.Of(planned.item); },
      [&](const Batch& batch, ps::Touch& touch) {
        if (flags.announce) touch(table, batch.keys);
      });
  for (auto& [lease, item, batch] : ahead) RETURN_IF_ERROR(steps.Step(batch, lease, item));
  return OkStatus();
}

// Decides by itself what comes here and when, as programs for other parameter servers do. Which items a worker will
// have so many steps later is not known, so its keys are of its own step here.
Status PlanByHand(const Flags& flags, const Draws& draws, ps::Session& session, const ps::Table& table, uint32_t worker,
                  Steps& steps) {
  const auto draw = [&](uint64_t step) { return draws.Of((uint64_t{worker} << 40) + step); };
  if (flags.hot > 0) {
    std::vector<ps::Key> hot(flags.hot);
    std::iota(hot.begin(), hot.end(), 0);
    RETURN_IF_ERROR(table.Intend(hot, session.clock(), session.clock() + flags.steps));
  }
  uint64_t planned = session.clock();  // steps before this one
  for (const ps::DataLease& lease : session.DataLeases("train", {.items = flags.steps})) {
    for (uint64_t item = lease.begin(); item < lease.end() && !session.draining(); ++item) {
      for (; planned <= session.clock() + flags.early; ++planned) {
        const Batch next = draw(planned);
        if (flags.announce) RETURN_IF_ERROR(table.Intend(next.keys, planned));
        if (flags.localize) table.Localize(next.keys);
      }
      RETURN_IF_ERROR(steps.Step(draw(session.clock()), lease, item));
    }
  }
  return OkStatus();
}

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Session> session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table, session->OpenTable("rows", {.dim = flags.dim, .optimizer = ps::Adagrad{}}));
  ASSIGN_OR_RETURN(const auto distribution,
                   ps::KeyDistribution::Create(ps::ZipfKeys{.keys = flags.rows, .exponent = flags.skew}));
  const Draws draws(*distribution, flags.keys);
  Steps steps(flags, *session, table);
  RETURN_IF_ERROR(flags.early > 0 ? PlanByHand(flags, draws, *session, table, options.index, steps)
                                  : PlanByLookAhead(flags, draws, *session, table, steps));
  RETURN_IF_ERROR(session->Flush());
  steps.times().Write(flags.out, options.index);
  return session->status();
}

}  // namespace
}  // namespace attune::adaptive_bench

int main(int argc, char** argv) {
  attune::adaptive_bench::Flags flags;
  CLI::App app("Measures what a program spends on rows");
  CLI::Option* early =
      app.add_option("--early", flags.early, "Announce or localize so many steps before; 0: as LookAhead does")
          ->capture_default_str();
  app.add_flag("--localize", flags.localize, "With --early: own the rows of the next steps")->needs(early);
  app.add_option("--hot", flags.hot, "With --early: announce so many of the most frequent rows for all steps")
      ->capture_default_str()
      ->needs(early);
  app.add_option("--rows", flags.rows, "Rows of the model")->capture_default_str();
  app.add_option("--dim", flags.dim, "Values per row")->capture_default_str();
  app.add_option("--keys", flags.keys, "Keys per step")->capture_default_str();
  app.add_option("--skew", flags.skew, "Zipf exponent of the keys; 0: uniform")->capture_default_str();
  app.add_option("--think-us", flags.think_us, "Microseconds that each step computes (sleeps)")->capture_default_str();
  return attune::adaptive_bench::RunMeasuredWorker(argc, argv, "attune-access", app, flags,
                                                   [&] { return attune::adaptive_bench::Run(flags); });
}
