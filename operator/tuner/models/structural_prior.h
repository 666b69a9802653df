// What is believed about seconds per update before anything was measured: mean and covariance of log seconds over all
// settings, estimated from some thousand random models of a parameter server. Settings differ by the workers' cycle,
// the servers' and the links' time, threads, contention, stragglers; knobs the models do not know get a random smooth
// dependence with an optimum somewhere.
//
// Source: docs/tuner.md#how-it-decides, 1; the p-norm of overlapping times is Pollux's (Qiao et al., OSDI 2021), server
// and fan-out terms are Optimus' (Peng et al., EuroSys 2018).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/sync_mode.h"
#include "operator/tuner/models/timing_model.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// Immutable after construction, so many jobs may share one. About n^2 * 8 bytes for n settings.
class StructuralPrior {
 public:
  // Of the modes, SSP counts as Async: its workers wait rarely.
  StructuralPrior(const SearchSpace& space, SyncMode mode, uint64_t seed, int draws = kDraws);

  // Of one job: from those of kCandidates models in which processes do with their time what was read at the settings of
  // `readings`. How they agree is weighed with the errors of reading and model, never so sharply that less than kAgree
  // models count, and a share of kDoubt stays with all others: what is measured later may contradict.
  StructuralPrior(const StructuralPrior& base, const SearchSpace& space, SyncMode mode, uint64_t seed,
                  const std::vector<TimeReading>& readings);

  int size() const { return size_; }
  double mean(int id) const { return mean_[static_cast<size_t>(id)]; }  // log seconds, arbitrary level
  // Covariance between two settings of the structural models (level removed), and of a Matern 5/2 kernel with a length
  // scale of 1.5 octaves and unit variance.
  const float* structure_row(int id) const { return &structure_[static_cast<size_t>(id) * static_cast<size_t>(size_)]; }
  const float* matern_row(int id) const { return &(*matern_)[static_cast<size_t>(id) * static_cast<size_t>(size_)]; }

  static constexpr int kDraws = 3000, kCandidates = 6000, kKept = 600;
  static constexpr double kAgree = 120, kDoubt = 0.1;

 private:
  int size_ = 0;
  std::vector<double> mean_;
  std::vector<float> structure_;
  std::shared_ptr<const std::vector<float>> matern_;  // the same for all jobs of a space
};

// One prior per space and mode in a process; a value owned by the shell that makes tuners. Not thread-safe.
class PriorCache {
 public:
  std::shared_ptr<const StructuralPrior> Get(const SearchSpace& space, SyncMode mode);

  static constexpr size_t kPriorsMax = 8;  // 8 MB each at most; the oldest goes first

 private:
  struct Entry {
    std::shared_ptr<const StructuralPrior> prior;
    uint64_t used = 0;
  };
  std::map<std::string, Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace attune::tuner
