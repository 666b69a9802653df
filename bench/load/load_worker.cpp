// A worker whose model has a known best answer and a chosen size: every row is drawn to a target that is a function of
// its key, loss = mean square distance. Keys are Zipf or uniform. Used by bench/elastic.py, which needs the time of
// every step, so it writes a trace: one line per 50 ms with the longest step.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "base/random.h"

namespace attune {
namespace {

struct Flags {
  uint64_t rows = 100'000;
  uint32_t dim = 64;
  uint32_t batch = 256;
  double skew = 1.1;  // of Zipf; 0: uniform
  uint32_t in_flight = 4;
  bool push_only = false;
  std::string trace;  // directory; empty: none
};

double WallSeconds() { return Seconds(std::chrono::system_clock::now().time_since_epoch()); }
double SteadySeconds() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); }

float Target(ps::Key key) { return static_cast<float>(SplitMix64(key) >> 40) / static_cast<float>(1 << 23) - 1; }

// Ranks with probability proportional to rank^-skew, by inverting the integral of the density; rank r is key r.
class Keys {
 public:
  Keys(uint64_t rows, double skew, uint64_t seed) : rows_(rows), power_(1 - skew), skew_(skew), random_(seed) {
    end_ = std::pow(static_cast<double>(rows) + 1, power_);
  }
  void Fill(std::span<ps::Key> keys) {
    for (ps::Key& key : keys) key = skew_ == 0 ? random_.Below(rows_) : Rank();
  }

 private:
  uint64_t Rank() {
    const double u = random_.Uniform();
    const double rank =
        skew_ == 1 ? std::pow(static_cast<double>(rows_) + 1, u) : std::pow(1 + u * (end_ - 1), 1 / power_);
    return std::min(rows_ - 1, static_cast<uint64_t>(rank) - 1);
  }
  uint64_t rows_;
  double power_, skew_, end_ = 0;
  Random random_;
};

// One line per bucket: wall-clock second of its end, steps, longest step in seconds, mean loss.
class Trace {
 public:
  static constexpr double kBucketSeconds = 0.05;

  Trace(const std::string& directory, const std::string& name) {
    if (!directory.empty()) file_ = std::fopen((directory + "/" + name).c_str(), "ae");
  }
  ~Trace() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void Step(double seconds, double loss) {
    ++steps_;
    longest_ = std::max(longest_, seconds);
    loss_ += loss;
    const double now = SteadySeconds();
    if (file_ == nullptr || now < next_) return;
    next_ = now + kBucketSeconds;
    std::fprintf(file_, "%.3f %d %.6f %.6g\n", WallSeconds(), steps_, longest_, loss_ / steps_);
    std::fflush(file_);
    steps_ = 0;
    longest_ = loss_ = 0;
  }

 private:
  std::FILE* file_ = nullptr;
  double next_ = 0;
  int steps_ = 0;
  double longest_ = 0, loss_ = 0;
};

struct Batch {
  std::vector<ps::Key> keys;
  std::vector<float> rows;
  ps::Future pull;
  ~Batch() { (void)pull.Wait(); }  // its rows must live until it has ended
};

class Worker {
 public:
  Worker(const Flags& flags, ps::Session& session, ps::Table table, uint64_t seed, const std::string& name)
      : flags_(flags),
        creating_((flags.rows + flags.batch - 1) / flags.batch),
        session_(session),
        table_(std::move(table)),
        keys_(flags.rows, flags.skew, seed),
        trace_(flags.trace, name),
        gradients_(size_t{flags.batch} * flags.dim) {}

  Status Train() {
    std::vector<Batch> batches(flags_.in_flight);
    constexpr uint64_t kItems = uint64_t{1} << 26;  // days: the goal is a time, or the job is stopped
    for (const ps::DataLease& lease : session_.DataLeases("train", {.items = kItems, .lease_items = 1024})) {
      for (Batch& batch : batches) StartPull(batch);
      for (uint64_t item = lease.begin(); item < lease.end() && !session_.draining(); ++item) {
        Batch& batch = batches[item % batches.size()];
        RETURN_IF_ERROR(item < creating_ ? Create(item) : flags_.push_only ? Push(batch) : TrainOn(batch));
        lease.Advance(item + 1);
      }
      if (session_.draining()) break;
    }
    RETURN_IF_ERROR(session_.status());
    return session_.Flush();
  }

 private:
  // The first items touch every row once, so that the model soon has its full size.
  Status Create(uint64_t item) {
    std::vector<ps::Key> keys;
    for (uint64_t key = item * flags_.batch; key < std::min(flags_.rows, (item + 1) * flags_.batch); ++key) {
      keys.push_back(key);
    }
    const std::vector<float> zeros(keys.size() * flags_.dim);
    table_.PushAsync(keys, zeros);
    return session_.Step({.loss = std::nan(""), .samples = keys.size()});
  }

  void StartPull(Batch& batch) {
    if (flags_.push_only) return;
    (void)batch.pull.Wait();
    batch.keys.resize(flags_.batch);
    batch.rows.resize(size_t{flags_.batch} * flags_.dim);
    keys_.Fill(batch.keys);
    batch.pull = table_.PullAsync(batch.keys, batch.rows);
  }

  // Nothing but the transport of gradients and their use.
  Status Push(Batch& batch) {
    const double began = SteadySeconds();
    batch.keys.resize(flags_.batch);
    keys_.Fill(batch.keys);
    std::ranges::fill(gradients_, 1e-6F);
    table_.PushAsync(batch.keys, gradients_);
    RETURN_IF_ERROR(session_.Step({.loss = std::nan(""), .samples = batch.keys.size()}));
    trace_.Step(SteadySeconds() - began, std::nan(""));
    return OkStatus();
  }

  Status TrainOn(Batch& batch) {
    const double began = SteadySeconds();
    RETURN_IF_ERROR(batch.pull.Wait());
    double loss = 0;
    for (size_t i = 0; i < batch.keys.size(); ++i) {
      const float target = Target(batch.keys[i]);
      const size_t row = i * flags_.dim;
      float sum = 0;
      for (size_t j = row; j < row + flags_.dim; ++j) {
        gradients_[j] = batch.rows[j] - target;
        sum += gradients_[j] * gradients_[j];
      }
      loss += sum;
    }
    loss /= static_cast<double>(batch.keys.size()) * flags_.dim;
    table_.PushAsync(batch.keys, gradients_);
    StartPull(batch);
    RETURN_IF_ERROR(session_.Step({.loss = loss, .samples = batch.keys.size()}));
    trace_.Step(SteadySeconds() - began, loss);
    return OkStatus();
  }

  const Flags& flags_;
  const uint64_t creating_;  // items
  ps::Session& session_;
  const ps::Table table_;
  Keys keys_;
  Trace trace_;
  std::vector<float> gradients_;
};

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Session> session, ps::Session::Connect(options));
  session->SetSampleUnit("keys");
  ASSIGN_OR_RETURN(ps::Table table, session->OpenTable("rows", {.dim = flags.dim, .optimizer = ps::Adagrad{}}));
  Worker worker(flags, *session, std::move(table), options.index + 1, "worker-" + std::to_string(options.index));
  return worker.Train();
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Flags flags;
  CLI::App app("Training program of adjustable size, for measurements");
  app.add_option("--rows", flags.rows, "Rows of the model")->capture_default_str();
  app.add_option("--dim", flags.dim, "Values per row")->capture_default_str();
  app.add_option("--batch", flags.batch, "Keys per step")->capture_default_str();
  app.add_option("--skew", flags.skew, "Zipf exponent of the keys; 0: uniform")->capture_default_str();
  app.add_option("--in-flight", flags.in_flight, "Pulls in flight")->capture_default_str();
  app.add_flag("--push-only", flags.push_only, "Steps push and pull nothing");
  app.add_option("--trace", flags.trace, "Directory for a trace of step times");
  CLI11_PARSE(app, argc, argv);
  const attune::Status status = attune::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-load: %s\n", attune::ToString(status).c_str());
  return 1;
}
