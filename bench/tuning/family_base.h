// What families of simulated jobs are made of: draws, a parameter server with overlapping stages, a queueing network.
#pragma once

#include <cmath>
#include <span>

#include "base/random.h"
#include "bench/tuning/job_model.h"

namespace attune::bench {

double LogUniform(Random& r, double low, double high);
double Uniform(Random& r, double low, double high);

// Parameter server with overlapping stages: the common ground of most families.
struct Base {
  double parallel = 0.8, communication = 0.2, fan = 0.02, server = 0.3, link = 0.02, constant = 0.01, per_worker = 0;
  double pair = 0, norm = 3, host_cores = 1e9, overload_at = 1e9, overload = 0;
  int cores = 4, slow_from = 99;
  double slowness = 1, rack = 0, straggle = 0.15;
  int rack_from = 99;
};

double Stages(const Base& b, const Point& x, bool bsp);
TimeTruth TimesOf(const Base& b, const Point& x, bool bsp);
Base RandomBase(Random& r);
void UseBase(JobModel& job, const Base& base);

// Workers think, then visit a link and one of the servers: seconds per update of the closed network.
struct Network {
  double think = 1, link = 0, server = 0;
  int servers_max = 1;
  double skew = 0;  // of the servers' shares
};
double Queueing(const Point& x, const Network& network);
TimeTruth TimesOf(const Network& network, const Point& x);

// What all jobs have: length, window, costs, noise, a loss, where they start.
JobModel RandomJob(const std::string& family, Random& r);

struct Family {
  const char* name;
  void (*make)(JobModel&, Base, Random&);
};
// Jobs whose limits of CPU are knobs: to look at while developing, and for validation.
std::span<const Family> ResourceFamilies();
std::span<const Family> ResourceHoldOutFamilies();

}  // namespace attune::bench
