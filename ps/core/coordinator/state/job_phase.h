// How far a coordinator is with its job: it takes over, leads, or the job has ended, well or not; or another one is at
// work. Externally synchronized.
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"

namespace attune::ps {

class JobPhase {
 public:
  // `takes_over`: another coordinator has led the job, and its members have yet to answer.
  explicit JobPhase(bool takes_over) : phase_(takes_over ? Phase::kTakingOver : Phase::kLeading) {}

  bool taking_over() const { return phase_ == Phase::kTakingOver; }
  // All members of the job have answered: it leads whenever it holds the leader lease.
  void Lead() { phase_ = Phase::kLeading; }

  // The goal is reached, the closing work done, and all workers have left.
  bool finished() const { return phase_ == Phase::kFinished; }
  void Finish() { phase_ = Phase::kFinished; }

  // The job cannot continue. The first reason counts; false for every other one.
  bool Fail(Status reason) {
    if (failed()) return false;
    failure_ = std::move(reason);
    return true;
  }
  bool failed() const { return !failure_.ok(); }
  const Status& failure() const { return failure_; }

  // Another coordinator is at work; everything else stays what it was.
  void Supersede() { superseded_ = true; }
  bool superseded() const { return superseded_; }

 private:
  enum class Phase : uint8_t { kTakingOver, kLeading, kFinished };

  Phase phase_;
  Status failure_;
  bool superseded_ = false;
};

}  // namespace attune::ps
