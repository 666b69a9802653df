// Will a setting run out of memory? Bayesian linear regression of the fullest server's use on (1, 1/servers, workers)
// and of the fullest worker's on (1, threads, servers), both as a share of the limit; known noise. Without memory
// telemetry a small risk per octave outside of what ran already, which grows with each crash. A crashed setting is
// never proposed again for the job, nor what asks for more of every node. Source: docs/tuner.md#how-it-decides, 4.
#pragma once

#include <array>
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

class MemoryModel {
 public:
  explicit MemoryModel(const SearchSpace& space, bool use_telemetry = true);

  // Shares of the limit, 0..1 and beyond; negative: not measured. `windows` weighs a long window more, up to a bound.
  void Absorb(const SearchSpace& space, int setting, double server_use, double worker_use, double windows);
  void Ran(const SearchSpace& space, int setting);  // without crashing
  // Banned, and whichever node was expected to be fuller has needed more than there is.
  void Crashed(const SearchSpace& space, int setting);

  double CrashProbability(const SearchSpace& space, int setting) const;
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
  };
  Dump Save() const;
  void Load(Dump dump);

 private:
  BayesianLine::Features ServerFeatures(const SearchSpace& space, int setting) const;
  BayesianLine::Features WorkerFeatures(const SearchSpace& space, int setting) const;

  BayesianLine server_, worker_;
  bool use_telemetry_;
  bool server_seen_ = false, worker_seen_ = false;
  double server_scale_ = 1, worker_scale_ = 1, thread_scale_ = 1;  // to the ranges the prior is about
  std::vector<int> crashed_;
  std::vector<double> low_, high_;  // octaves visited, per knob
};

}  // namespace attune::tuner
