// A worker that thinks for a fixed time in every step and measures what it spends on rows: within Pull, PushAsync and
// Step. Announces the rows of its next steps, as early as LookAhead or a number of steps, or none. Writes one line of
// JSON at its end.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "base/random.h"

namespace attune {
namespace {

struct Flags {
  bool announce = false;
  bool localize = false;
  uint64_t hot = 0;    // rows, the first ones, which are the most frequent
  uint64_t early = 0;  // steps; 0: LookAhead's
  uint64_t rows = 100'000;
  uint32_t dim = 64;
  uint32_t keys = 256;       // per step
  double skew = 0;           // of Zipf; 0: uniform
  uint64_t steps = 2'000;    // of all workers together
  uint32_t think_us = 2000;  // of each step
  double skip_seconds = 0;
  std::string out;  // directory
};

struct Batch {
  std::vector<ps::Key> keys;
};

// Of one step, from its number alone, so that all variants touch the same rows. Ranks as in bench/load: by inverting
// the integral of the density.
Batch Draw(const Flags& flags, uint64_t step) {
  Random random(SplitMix64(step));
  Batch batch;
  const double power = 1 - flags.skew, end = std::pow(static_cast<double>(flags.rows) + 1, power);
  for (uint32_t i = 0; i < flags.keys; ++i) {
    if (flags.skew == 0) {
      batch.keys.push_back(random.Below(flags.rows));
    } else {
      const double rank = std::pow(1 + random.Uniform() * (end - 1), 1 / power);
      batch.keys.push_back(std::min(flags.rows - 1, static_cast<uint64_t>(rank) - 1));
    }
  }
  return batch;
}

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); }

double CpuSeconds() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Steps, one after the other, and the time that each spends on rows.
class Measured {
 public:
  Measured(const Flags& flags, ps::Session& session, const ps::Table& table)
      : flags_(flags),
        session_(session),
        table_(table),
        rows_(size_t{flags.keys} * flags.dim),
        gradients_(rows_.size(), 1e-3F),
        counted_from_(began_ + flags.skip_seconds) {}

  Status Step(const Batch& batch, const ps::DataLease& lease, uint64_t item) {
    double spent = -Now();
    if (began_ < counted_from_ && -spent >= counted_from_) {
      access_.clear();
      began_ = -spent;
      cpu_before_ = CpuSeconds();
    }
    RETURN_IF_ERROR(table_.Pull(batch.keys, rows_));
    spent += Now();
    if (flags_.think_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(flags_.think_us));
    spent -= Now();
    table_.PushAsync(batch.keys, gradients_);
    lease.Advance(item + 1);
    RETURN_IF_ERROR(session_.Step({.loss = 1, .samples = flags_.keys}));
    ended_ = Now();
    spent += ended_;
    access_.push_back(spent);
    return OkStatus();
  }

  void Write(const std::string& path) {
    std::ranges::sort(access_);
    const auto quantile = [&](double share) {
      return access_.empty() ? 0 : access_[static_cast<size_t>(share * static_cast<double>(access_.size() - 1))];
    };
    std::ofstream(path) << "{\"steps\":" << access_.size() << ",\"seconds\":" << ended_ - began_
                        << ",\"cpu_seconds\":" << CpuSeconds() - cpu_before_
                        << ",\"access_p50_ms\":" << 1e3 * quantile(0.5) << ",\"access_p99_ms\":" << 1e3 * quantile(0.99)
                        << "}\n";
  }

 private:
  const Flags& flags_;
  ps::Session& session_;
  const ps::Table& table_;
  std::vector<float> rows_;
  const std::vector<float> gradients_;
  std::vector<double> access_;
  double began_ = Now(), ended_ = began_, cpu_before_ = CpuSeconds();
  const double counted_from_;
};

Status AnnounceByLookAhead(const Flags& flags, ps::Session& session, const ps::Table& table, Measured& measured) {
  ps::LookAhead<Batch> ahead(
      session, "train", {.items = flags.steps, .epochs = 1, .lease_items = 200},
      [&](const ps::PlannedItem& planned) { return Draw(flags, planned.item); },
      [&](const Batch& batch, ps::Touch& touch) {
        if (flags.announce) touch(table, batch.keys);
      });
  for (auto& [lease, item, batch] : ahead) RETURN_IF_ERROR(measured.Step(batch, lease, item));
  return OkStatus();
}

// Decides by itself what comes here and when, as programs for other parameter servers do. Which items a worker will
// have so many steps later is not known, so its keys are of its own step here.
Status AnnounceEarly(const Flags& flags, ps::Session& session, const ps::Table& table, uint32_t worker,
                     Measured& measured) {
  const auto draw = [&](uint64_t step) { return Draw(flags, (uint64_t{worker} << 40) + step); };
  if (flags.hot > 0) {
    std::vector<ps::Key> hot(flags.hot);
    std::iota(hot.begin(), hot.end(), 0);
    RETURN_IF_ERROR(table.Intend(hot, session.clock(), session.clock() + flags.steps));
  }
  uint64_t announced = session.clock();  // steps before this one
  for (const ps::DataLease& lease :
       session.DataLeases("train", {.items = flags.steps, .epochs = 1, .lease_items = 200})) {
    for (uint64_t item = lease.begin(); item < lease.end() && !session.draining(); ++item) {
      for (; announced <= session.clock() + flags.early; ++announced) {
        const Batch next = draw(announced);
        if (flags.announce) RETURN_IF_ERROR(table.Intend(next.keys, announced));
        if (flags.localize) table.Localize(next.keys);
      }
      RETURN_IF_ERROR(measured.Step(draw(session.clock()), lease, item));
    }
  }
  return OkStatus();
}

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Session> session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table, session->OpenTable("rows", {.dim = flags.dim, .optimizer = ps::Adagrad{}}));
  Measured measured(flags, *session, table);
  RETURN_IF_ERROR(flags.early > 0 ? AnnounceEarly(flags, *session, table, options.index, measured)
                                  : AnnounceByLookAhead(flags, *session, table, measured));
  RETURN_IF_ERROR(session->Flush());
  measured.Write(flags.out + "/worker-" + std::to_string(options.index) + ".json");
  return session->status();
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Flags flags;
  CLI::App app("Measures what a program spends on rows");
  app.add_flag("--announce", flags.announce, "Announce the rows of the next steps");
  CLI::Option* early =
      app.add_option("--early", flags.early, "Announce or localize so many steps before; 0: as LookAhead does")
          ->capture_default_str();
  app.add_flag("--localize", flags.localize, "With --early: own the rows of the next steps")->needs(early);
  app.add_option("--hot", flags.hot, "With --early: announce the most frequent rows for all steps, and no others")
      ->capture_default_str()
      ->needs(early);
  app.add_option("--rows", flags.rows, "Rows of the model")->capture_default_str();
  app.add_option("--dim", flags.dim, "Values per row")->capture_default_str();
  app.add_option("--keys", flags.keys, "Keys per step")->capture_default_str();
  app.add_option("--skew", flags.skew, "Zipf exponent of the keys; 0: uniform")->capture_default_str();
  app.add_option("--steps", flags.steps, "Steps of all workers together")->capture_default_str();
  app.add_option("--think-us", flags.think_us, "Microseconds that each step computes (sleeps)")->capture_default_str();
  app.add_option("--skip-seconds", flags.skip_seconds, "What is measured begins after so long")->capture_default_str();
  app.add_option("--out", flags.out, "Directory for the results")->required();
  CLI11_PARSE(app, argc, argv);
  const attune::Status status = attune::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-access: %s\n", attune::ToString(status).c_str());
  return 1;
}
