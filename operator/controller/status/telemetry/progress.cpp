#include "operator/controller/status/telemetry/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "operator/controller/observe/attempts.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/tuner/progress.h"

namespace attune::controller {
namespace {

double ToSeconds(MonotonicTime time) { return Seconds(time.time_since_epoch()); }

// Fraction of a countable goal over time, from the job's history. It begins where something has been done: a job that
// resumes reports nothing until its checkpoint is read and all of the checkpoint's progress at once then, which is no
// rate; and the time until the first step is none, either.
template <typename Done>
std::vector<tuner::ProgressSample> Samples(const telemetry::JobSample& sample, double total, Done done) {
  std::vector<tuner::ProgressSample> samples;
  if (total <= 0) return samples;
  for (const telemetry::HistoryPoint& point : sample.history) {
    const auto count = static_cast<double>(done(point));
    if (count <= 0) {
      samples.clear();
    } else {
      samples.push_back({ToSeconds(point.at), std::clamp(count / total, 0.0, 1.0)});
    }
  }
  return samples;
}

// Whichever goal is reached first ends the job: the largest fraction and the least remaining time count.
class Nearest {
 public:
  void Add(double fraction, std::optional<double> remaining_seconds) {
    fraction_ = std::max(fraction_, std::clamp(fraction, 0.0, 1.0));
    if (!remaining_seconds) return;
    remaining_ = remaining_ ? std::min(*remaining_, *remaining_seconds) : *remaining_seconds;
  }
  void Add(const std::vector<tuner::ProgressSample>& samples, double now_seconds) {
    if (samples.empty()) return;
    const auto remaining = tuner::EstimateRemaining(samples, now_seconds);
    Add(samples.back().fraction, remaining ? std::optional<double>(remaining->seconds) : std::nullopt);
  }
  double fraction() const { return fraction_; }
  std::optional<double> remaining() const { return remaining_; }

 private:
  double fraction_ = 0;
  std::optional<double> remaining_;
};

void AddDataPlane(const Observed& observed, const v1::JobWindow& window, api::Progress& progress) {
  if (window.has_slowest_worker()) {
    progress.slowest_worker =
        PodName(observed.job.name, RoleName::kWorker, static_cast<int32_t>(window.slowest_worker()));
  }
  if (!window.has_relocation()) return;
  progress.moving_bytes_left = window.relocation().bytes_left();
  progress.moving_rows_per_second = window.relocation().rows_per_second();
}

}  // namespace

std::optional<api::Progress> MakeProgress(const Observed& observed, Now now) {
  const telemetry::JobSample& sample = observed.sample;
  if (!sample.job && !sample.last_loss && !sample.loss && sample.rate <= 0) return std::nullopt;
  // An operator that has just begun has not heard yet how far the job is, and a job that continues from a checkpoint
  // says nothing of it until a worker asks for data: what is on record stands.
  const auto& known = observed.job.status.progress;
  const bool has_begun_again = AttemptOf(observed.job.status) > 0 && known && known->items_done > 0;
  if (known && (!sample.job || (has_begun_again && sample.job->items_done() == 0))) return std::nullopt;
  const api::Goal& goal = observed.job.spec.goal;
  api::Progress progress;
  Nearest nearest;
  if (sample.job) {
    progress.epoch = sample.job->epoch();
    progress.epochs = sample.job->epochs();
    progress.items_done = sample.job->items_done();
    progress.items_total = sample.job->items_total();
    progress.reprocessed_items = sample.job->reprocessed_items();
    nearest.Add(Samples(sample, static_cast<double>(progress.items_total), [](const auto& p) { return p.items_done; }),
                ToSeconds(now.monotonic));
    if (progress.items_total > 0) {
      nearest.Add(static_cast<double>(progress.items_done) / static_cast<double>(progress.items_total), std::nullopt);
    }
  }
  if (goal.steps) {
    nearest.Add(Samples(sample, static_cast<double>(*goal.steps), [](const auto& p) { return p.steps; }),
                ToSeconds(now.monotonic));
  }
  if (goal.max_duration_seconds && sample.job) {
    const double limit = static_cast<double>(*goal.max_duration_seconds);
    const double trained = sample.job->trained_seconds();
    if (limit > 0) nearest.Add(trained / limit, std::max(0.0, limit - trained));
  }
  progress.fraction = nearest.fraction();
  progress.remaining_seconds = nearest.remaining();
  progress.loss = sample.loss ? sample.loss : sample.last_loss;
  if (sample.rate > 0) progress.rate = sample.rate;
  if (const v1::JobWindow* window = CurrentWindow(observed); window != nullptr)
    AddDataPlane(observed, *window, progress);
  progress.sample_unit = FitText(sample.sample_unit, 32);
  return progress;
}

}  // namespace attune::controller
