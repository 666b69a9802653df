// Will a setting run out of memory? Bayesian linear regression of the fullest server's use on (1, 1/servers, workers)
// and of the fullest worker's on (1, threads, servers), both as a share of the limit, which may be a knob; known noise.
// Before telemetry has come nothing is tried that asks more of a pod than it holds already; where none comes the risk
// is small for each octave outside of what ran, and grows with each crash. A crashed setting is never proposed again
// for the job, nor what asks for more of every node. Source: docs/tuner.md#how-it-decides, 4.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// y = features * x, Gaussian prior, known noise; keeps precision matrix and moment, both small.
class BayesianLine {
 public:
  static constexpr size_t kFeatures = 3;
  using Features = std::array<double, kFeatures>;

  BayesianLine(const Features& mean, const Features& deviation, double noise);
  void Absorb(const Features& features, double value, double weight);
  void Predict(const Features& features, double& mean, double& variance) const;

  struct Dump {
    std::array<double, 9> precision{};
    Features moment{};
  };
  Dump dump;  // the whole state besides the noise

 private:
  double noise_;
};

// What one pod has to hold for each byte that it may use, in octaves.
struct PodLoad {
  double rows = 0, requests = 0;  // of a server: its share of the rows, workers for each server
  double threads = 0;             // of a worker
};

class MemoryModel {
 public:
  explicit MemoryModel(const SearchSpace& space, bool use_telemetry = true);

  // Shares of the limit, 0..1 and beyond; negative: not measured. `windows` weighs a long window more, up to a bound.
  void Absorb(const SearchSpace& space, int setting, double server_use, double worker_use, double windows);
  void Ran(const SearchSpace& space, int setting);  // without crashing
  // Banned, and whichever node was expected to be fuller has needed more than there is.
  void Crashed(const SearchSpace& space, int setting);

  double CrashProbability(const SearchSpace& space, int setting) const;
  // It is not known yet how full pods are, and a pod there would hold more than one does at `current` and wherever the
  // job ran: more rows or more workers' requests for each server, more threads for each worker. After some windows
  // without a reading none is expected any more, and the risk is that of CrashProbability.
  bool BeyondEvidence(const SearchSpace& space, int setting, int current) const;
  bool Banned(const SearchSpace& space, int setting) const;
  // Expected use of the fullest server and worker, for explanations; 0 without telemetry.
  double ServerUse(const SearchSpace& space, int setting) const;
  double WorkerUse(const SearchSpace& space, int setting) const;
  const std::vector<int>& crashed() const { return crashed_; }

  struct Dump {
    BayesianLine::Dump server, worker;
    bool server_seen = false, worker_seen = false;
    std::vector<int> crashed;
    std::vector<double> low, high;
    std::optional<PodLoad> most;
    double silent = 0;
  };
  Dump Save() const;
  void Load(Dump dump);

 private:
  static PodLoad LoadOf(const SearchSpace& space, int setting);
  BayesianLine::Features ServerFeatures(const SearchSpace& space, int setting) const;
  BayesianLine::Features WorkerFeatures(const SearchSpace& space, int setting) const;

  BayesianLine server_, worker_;
  bool use_telemetry_;
  bool server_seen_ = false, worker_seen_ = false;
  // A pod's limit where the lines were drawn, over its limit at a setting; 1 where limits are no knobs.
  double ServerShare(const SearchSpace& space, int setting) const;
  double WorkerShare(const SearchSpace& space, int setting) const;

  double server_scale_ = 1, worker_scale_ = 1, thread_scale_ = 1;  // to the ranges the prior is about
  double server_limit_ = 1, worker_limit_ = 1;                     // MiB where the job stood at first
  std::vector<int> crashed_;
  std::vector<double> low_, high_;  // octaves visited, per knob
  std::optional<PodLoad> most_;     // where it ran
  double silent_windows_ = 0;       // without any reading
};

}  // namespace attune::tuner
