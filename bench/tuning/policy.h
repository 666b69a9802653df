// What plays against a simulated job: the tuner and the baselines see the same reports and are asked at the same
// moments.
#pragma once

#include <memory>
#include <string>

#include "bench/tuning/job_model.h"
#include "operator/tuner/tuner.h"

namespace attune::bench {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void Absorb(const tuner::Report& report) = 0;
  virtual tuner::Decision Decide(double now, const tuner::Setting& current) = 0;
  virtual const tuner::Tuner* AsTuner() const { return nullptr; }
};

// What a policy knows of the job.
tuner::JobDescription Describe(const JobModel& job);

std::unique_ptr<Policy> MakeTuner(const JobModel& job, tuner::PriorCache& priors, const tuner::TunerParts& parts);
// expert, random12, hill-climbing, halving, gp-ei, marginal-gain, published
std::unique_ptr<Policy> MakeBaseline(const std::string& name, const JobModel& job, tuner::PriorCache& priors);

}  // namespace attune::bench
