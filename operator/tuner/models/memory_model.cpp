#include "operator/tuner/models/memory_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "operator/tuner/models/normal.h"

namespace attune::tuner {
namespace {

constexpr std::string_view kServerMemory = "server_memory_mib", kWorkerMemory = "worker_memory_mib";
constexpr double kNoise = 0.03;
constexpr double kLimit = 0.97;              // use above which a node is taken for lost
constexpr double kBlindRisk = 0.025;         // per octave outside of what ran, without telemetry
constexpr double kBlindRiskPerCrash = 0.05;  // more for each that this job has seen: then by small steps
constexpr double kWeightMax = 8;             // windows one report may count for

Eigen::Matrix3d Precision(const BayesianLine::Dump& dump) { return Eigen::Matrix3d(dump.precision.data()); }
Eigen::Vector3d ToVector(const BayesianLine::Features& features) { return Eigen::Vector3d(features.data()); }

double RangeScale(const SearchSpace& space, std::string_view knob, double usual) {
  const auto index = space.KnobIndex(knob);
  const double high = index ? space.description().knobs[static_cast<size_t>(*index)].high : usual;
  return high > usual ? usual / high : 1;
}

// Who waits for whom takes no memory, nor do cores.
bool TakesNoMemory(std::string_view name) {
  return name == "slack" || name == "worker_millicores" || name == "server_millicores";
}

double LimitAtFirst(const SearchSpace& space, std::string_view knob) {
  const auto index = space.KnobIndex(knob);
  if (!index) return 1;
  const SpaceDescription& description = space.description();
  const auto k = static_cast<size_t>(*index);
  const bool known = description.current && description.current->size() == description.knobs.size();
  return std::max(1, known ? (*description.current)[k] : description.knobs[k].high);
}

}  // namespace

BayesianLine::BayesianLine(const Features& mean, const Features& deviation, double noise) : noise_(noise) {
  for (size_t i = 0; i < kFeatures; ++i) {
    const double precision = 1 / (deviation[i] * deviation[i]);
    dump.precision[i * kFeatures + i] = precision;
    dump.moment[i] = precision * mean[i];
  }
}

void BayesianLine::Absorb(const Features& features, double value, double weight) {
  const double factor = weight / (noise_ * noise_);
  for (size_t i = 0; i < kFeatures; ++i) {
    for (size_t j = 0; j < kFeatures; ++j) dump.precision[i * kFeatures + j] += factor * features[i] * features[j];
    dump.moment[i] += factor * features[i] * value;
  }
}

void BayesianLine::Predict(const Features& features, double& mean, double& variance) const {
  const Eigen::Vector3d x = ToVector(features);
  const Eigen::Vector3d projected = Precision(dump).inverse() * x;  // well conditioned by the prior
  mean = projected.dot(ToVector(dump.moment));
  variance = projected.dot(x) + noise_ * noise_;
}

MemoryModel::MemoryModel(const SearchSpace& space, bool use_telemetry)
    : server_({0.1, 0.3, 0.01}, {0.2, 1, 0.04}, kNoise),
      worker_({0.3, 0.05, 0.005}, {0.2, 0.12, 0.015}, kNoise),
      use_telemetry_(use_telemetry),
      server_scale_(RangeScale(space, "servers", 8)),
      worker_scale_(RangeScale(space, "workers", 16)),
      thread_scale_(RangeScale(space, "threads", 4)),
      server_limit_(LimitAtFirst(space, kServerMemory)),
      worker_limit_(LimitAtFirst(space, kWorkerMemory)) {}

double MemoryModel::ServerShare(const SearchSpace& space, int setting) const {
  return server_limit_ / std::max(1, space.Value(setting, kServerMemory, 1));
}

double MemoryModel::WorkerShare(const SearchSpace& space, int setting) const {
  return worker_limit_ / std::max(1, space.Value(setting, kWorkerMemory, 1));
}

BayesianLine::Features MemoryModel::ServerFeatures(const SearchSpace& space, int setting) const {
  return {1, 1.0 / std::max(1, space.Value(setting, "servers", 1)), worker_scale_ * space.Value(setting, "workers", 1)};
}

BayesianLine::Features MemoryModel::WorkerFeatures(const SearchSpace& space, int setting) const {
  return {1, thread_scale_ * space.Value(setting, "threads", 1), server_scale_ * space.Value(setting, "servers", 1)};
}

void MemoryModel::Absorb(const SearchSpace& space, int setting, double server_use, double worker_use, double windows) {
  const double weight = std::clamp(windows, 0.25, kWeightMax);
  if (server_use < 0 && worker_use < 0) silent_windows_ += windows;
  if (server_use >= 0) {
    server_.Absorb(ServerFeatures(space, setting), server_use / ServerShare(space, setting), weight);
    server_seen_ = true;
  }
  if (worker_use >= 0) {
    worker_.Absorb(WorkerFeatures(space, setting), worker_use / WorkerShare(space, setting), weight);
    worker_seen_ = true;
  }
}

PodLoad MemoryModel::LoadOf(const SearchSpace& space, int setting) {
  const auto octaves = [&](std::string_view knob) {
    return std::log2(static_cast<double>(std::max(1, space.Value(setting, knob, 1))));
  };
  return {
      .rows = -octaves("servers"), .requests = octaves("workers") - octaves("servers"), .threads = octaves("threads")};
}

bool MemoryModel::BeyondEvidence(const SearchSpace& space, int setting, int current) const {
  constexpr double kSame = 1e-9, kSilentWindows = 3;
  if (!use_telemetry_ || silent_windows_ >= kSilentWindows) return false;
  const PodLoad there = LoadOf(space, setting);
  PodLoad most = LoadOf(space, current);
  if (most_) {
    most = {.rows = std::max(most.rows, most_->rows),
            .requests = std::max(most.requests, most_->requests),
            .threads = std::max(most.threads, most_->threads)};
  }
  const bool server = there.rows > most.rows + kSame || there.requests > most.requests + kSame;
  return (!server_seen_ && server) || (!worker_seen_ && there.threads > most.threads + kSame);
}

void MemoryModel::Ran(const SearchSpace& space, int setting) {
  const PodLoad load = LoadOf(space, setting);
  if (!most_) most_ = load;
  most_ = {.rows = std::max(most_->rows, load.rows),
           .requests = std::max(most_->requests, load.requests),
           .threads = std::max(most_->threads, load.threads)};
  if (low_.empty()) {
    low_.assign(static_cast<size_t>(space.knob_count()), 1e9);
    high_.assign(static_cast<size_t>(space.knob_count()), -1e9);
  }
  for (int k = 0; k < space.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    low_[i] = std::min(low_[i], space.Coordinate(setting, k));
    high_[i] = std::max(high_[i], space.Coordinate(setting, k));
  }
}

void MemoryModel::Crashed(const SearchSpace& space, int setting) {
  if (std::find(crashed_.begin(), crashed_.end(), setting) != crashed_.end()) return;
  crashed_.push_back(setting);
  if (!use_telemetry_ || (!server_seen_ && !worker_seen_)) return;
  // How much more is not known: a vague observation, and only where less was expected.
  constexpr double kNeeded = 1.15, kWeight = 0.05;
  const auto expected = [](const BayesianLine& line, const BayesianLine::Features& features) {
    double mean = 0, variance = 0;
    line.Predict(features, mean, variance);
    return mean;
  };
  const auto server = ServerFeatures(space, setting), worker = WorkerFeatures(space, setting);
  const double server_share = ServerShare(space, setting), worker_share = WorkerShare(space, setting);
  const double server_use = server_seen_ ? server_share * expected(server_, server) : 0;
  const double worker_use = worker_seen_ ? worker_share * expected(worker_, worker) : 0;
  if (server_use >= worker_use && server_use < kNeeded) server_.Absorb(server, kNeeded / server_share, kWeight);
  if (worker_use > server_use && worker_use < kNeeded) worker_.Absorb(worker, kNeeded / worker_share, kWeight);
}

double MemoryModel::CrashProbability(const SearchSpace& space, int setting) const {
  double safe = 1;
  const auto one = [&](const BayesianLine& line, const BayesianLine::Features& features, double share) {
    double mean = 0, variance = 0;
    line.Predict(features, mean, variance);
    safe *= NormalCdf((kLimit - share * mean) / (share * std::sqrt(variance)));
  };
  // Before anything ran, the prior alone says that small settings are safe.
  const bool nothing = low_.empty();
  if (use_telemetry_ && (server_seen_ || nothing))
    one(server_, ServerFeatures(space, setting), ServerShare(space, setting));
  if (use_telemetry_ && (worker_seen_ || nothing))
    one(worker_, WorkerFeatures(space, setting), WorkerShare(space, setting));
  if (!(use_telemetry_ && (server_seen_ || worker_seen_)) && !low_.empty()) {
    double outside = 0;
    for (int k = 0; k < space.knob_count(); ++k) {
      const auto i = static_cast<size_t>(k);
      const double at = space.Coordinate(setting, k);
      const std::string& name = space.knob_name(k);
      if (TakesNoMemory(name)) continue;
      const bool is_limit = name == kServerMemory || name == kWorkerMemory;
      if (name != "workers" && name != "threads") outside += std::max(0.0, low_[i] - at);
      if (name != "servers" && !is_limit) outside += std::max(0.0, at - high_[i]);
    }
    const double risk = kBlindRisk + kBlindRiskPerCrash * static_cast<double>(crashed_.size());
    safe *= 1 - std::min(0.5, risk * outside);
  }
  return 1 - safe;
}

bool MemoryModel::Banned(const SearchSpace& space, int setting) const {
  for (const int crashed : crashed_) {
    bool as_heavy = true;
    for (int k = 0; k < space.knob_count() && as_heavy; ++k) {
      const auto i = static_cast<size_t>(k);
      const int mine = space.setting(setting)[i], theirs = space.setting(crashed)[i];
      const std::string& name = space.knob_name(k);
      if (name == "servers" || name == kServerMemory || name == kWorkerMemory) {
        as_heavy = mine <= theirs;
      } else if (name == "workers" || name == "threads") {
        as_heavy = mine >= theirs;
      } else if (name != "worker_millicores" && name != "server_millicores") {
        as_heavy = mine == theirs;
      }
    }
    if (as_heavy) return true;
  }
  return false;
}

double MemoryModel::ServerUse(const SearchSpace& space, int setting) const {
  double mean = 0, variance = 0;
  if (server_seen_) server_.Predict(ServerFeatures(space, setting), mean, variance);
  return mean * ServerShare(space, setting);
}

double MemoryModel::WorkerUse(const SearchSpace& space, int setting) const {
  double mean = 0, variance = 0;
  if (worker_seen_) worker_.Predict(WorkerFeatures(space, setting), mean, variance);
  return mean * WorkerShare(space, setting);
}

MemoryModel::Dump MemoryModel::Save() const {
  return {server_.dump, worker_.dump, server_seen_, worker_seen_, crashed_, low_, high_, most_, silent_windows_};
}

void MemoryModel::Load(Dump dump) {
  server_.dump = dump.server;
  worker_.dump = dump.worker;
  server_seen_ = dump.server_seen;
  worker_seen_ = dump.worker_seen;
  crashed_ = std::move(dump.crashed);
  low_ = std::move(dump.low);
  high_ = std::move(dump.high);
  most_ = dump.most;
  silent_windows_ = dump.silent;
}

}  // namespace attune::tuner
