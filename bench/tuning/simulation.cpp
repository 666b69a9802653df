#include "bench/tuning/simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "bench/cpu_seconds.h"

namespace attune::bench {
namespace {

bool Same(const Point& a, const Point& b) {
  return a.servers == b.servers && a.workers == b.workers && a.threads == b.threads &&
         a.worker_millicores == b.worker_millicores && a.server_millicores == b.server_millicores;
}

class Run {
 public:
  Run(const JobModel& job, Policy& policy, bool trace)
      : job_(job),
        policy_(policy),
        trace_(trace),
        random_(job.seed * 7919 + 17),
        errors_(job.seed * 104729 + 5),
        here_(job.start),
        kept_(job.start) {}

  Outcome Play() {
    Outcome& out = outcome_;
    out.family = job_.family;
    out.seed = job_.seed;
    out.length_windows = job_.length_windows;
    const double limit = 30 * job_.StaticSeconds(job_.best) + 1000 * job_.window_seconds;
    while (!Done() && time_ < limit) Step();
    out.finished = Done();
    out.ratio = spent_ / job_.best_seconds;
    out.against_mean = job_.mean_seconds / spent_;
    out.against_expert = spent_ / job_.expert_seconds;
    if (out.decisions > 0) out.milliseconds_per_decision = spent_ms_ / out.decisions;
    if (estimate_.has_value() && estimate_at_ > 0) {
      const double truth = time_ - estimate_at_;
      out.remaining_known = true;
      out.remaining_error = std::abs(estimate_->mid - truth) / truth;
      out.covered = estimate_->low <= truth && truth <= estimate_->high;
    }
    return out;
  }

 private:
  bool Done() const { return steps_ >= job_.total_effective; }

  void Step() {
    const double began = 1e3 * ThreadCpuSeconds();
    const tuner::Decision decision = policy_.Decide(time_, job_.ToSetting(here_));
    spent_ms_ += 1e3 * ThreadCpuSeconds() - began;
    ++outcome_.decisions;
    if (estimate_at_ == 0 && steps_ >= 0.2 * job_.total_effective) {
      estimate_at_ = time_;
      estimate_ = decision.remaining;
      outcome_.unreachable_said = decision.outlook == tuner::Outlook::kUnreachable;
    }
    const Point to = job_.ToPoint(decision.setting);
    const tuner::Tuner* tuner = trace_ ? policy_.AsTuner() : nullptr;
    if (trace_)
      std::printf("%8.1f s %5.1f%% %s -> %s %-5s %.0f s  pace %.2f  collapsed %.2f  %s\n", time_,
                  100 * steps_ / job_.total_effective, Text(here_).c_str(), Text(to).c_str(),
                  tuner::Name(decision.kind).data(), decision.seconds, Pace(to) / Pace(job_.best),
                  tuner != nullptr ? tuner->CollapseProbability() : 0, decision.why.c_str());
    // Kept is where the job stays by decision; going back to what was kept before is a rollback.
    if (decision.kind == tuner::DecisionKind::kKeep && !Same(to, kept_)) {
      ++outcome_.adoptions;
      outcome_.rollbacks += Same(to, kept_before_) && outcome_.adoptions > 1 ? 1 : 0;
      kept_before_ = kept_;
      kept_ = to;
    }
    if (!Same(to, here_)) Change(to, decision.kind == tuner::DecisionKind::kKeep);
    if (Done()) return;
    const bool trial = decision.kind == tuner::DecisionKind::kTrial;
    lost_ = trial ? &outcome_.lost_in_trials : &outcome_.lost_while_kept;
    Stay(std::max(decision.seconds, 0.2 * job_.window_seconds));
  }

  std::string Text(const Point& point) const {
    std::string text;
    for (const int value : job_.ToSetting(point)) text += (text.empty() ? "" : ":") + std::to_string(value);
    return text;
  }

  // Of what counts: seconds, or their price.
  void Spend(double seconds) { spent_ += seconds * job_.Price(here_); }

  // Time without training.
  void Pass(double seconds) {
    time_ += seconds;
    Spend(seconds);
    *lost_ += seconds * job_.Price(here_) / job_.best_seconds;
  }

  double Pace(const Point& p) const { return job_.UpdateSeconds(p, time_) * job_.Price(p) / job_.Quality(p); }

  void Change(const Point& to, bool adoption) {
    if (outcome_.changes++ == 0) outcome_.first_look = Pace(to) / Pace(job_.best);
    lost_ = &outcome_.lost_in_changes;
    const double effect = std::abs(std::log(Pace(to) / Pace(here_)));
    if (effect < 0.01) ++outcome_.small_moves;
    if (adoption && effect == 0) ++outcome_.no_ops;  // a trial cannot know
    if (job_.restart_seconds > 0) {
      Pass(job_.restart_seconds);
      previous_ = here_;
      here_ = to;
      return;
    }
    const bool more = to.servers > here_.servers || to.workers > here_.workers;
    if (more) Train(job_.costs.pods, 1, true);
    if (to.servers != here_.servers) Train(job_.costs.relocation, 0.4, true);
    const bool resized =
        to.worker_millicores != here_.worker_millicores || to.server_millicores != here_.server_millicores;
    if (to.threads != here_.threads || resized) Pass(job_.costs.live);
    previous_ = here_;
    here_ = to;
    noise_state_ = 0;
  }

  void Stay(double seconds) {
    if (job_.Crashes(here_)) {
      ++outcome_.crashes;
      lost_ = &outcome_.lost_in_crashes;
      Pass(job_.costs.crash);
      policy_.Absorb({.ok = false, .setting = job_.ToSetting(here_), .time = time_});
      here_ = job_.Crashes(previous_) ? job_.expert : previous_;
      return;
    }
    // One report per window; the last one as long as what is left.
    while (seconds > 0.01 * job_.window_seconds && !Done()) {
      const double part = seconds < 1.5 * job_.window_seconds ? seconds : job_.window_seconds;
      Train(part, 1, false);
      seconds -= part;
      collapsed_ = job_.Quality(here_) < 0.25 * job_.Quality(job_.best) ? collapsed_ + part : 0;
      outcome_.collapse_windows = std::max(outcome_.collapse_windows, collapsed_ / job_.window_seconds);
    }
  }

  // Trains at the present setting and reports.
  void Train(double seconds, double share, bool changing) {
    const double windows = seconds / job_.window_seconds;
    noise_state_ =
        job_.noise_memory * noise_state_ + std::sqrt(1 - job_.noise_memory * job_.noise_memory) * random_.Normal();
    double speed = share * std::exp(job_.speed_noise * noise_state_ / std::sqrt(std::max(windows, 0.2)));
    if (random_.Chance(job_.heavy_share)) speed *= 1 - job_.heavy_depth * random_.Uniform();
    const double per_update = job_.UpdateSeconds(here_, time_ + seconds / 2);
    const double rate = speed / per_update;  // updates per second
    const double quality = job_.Quality(here_);
    const double left = (job_.total_effective - steps_) / (rate * quality);
    const double used = std::min(seconds, left);
    const double updates = rate * used;
    const double middle = steps_ + updates * quality / 2;
    *lost_ += (used * job_.Price(here_) - updates * quality * Pace(job_.best)) / job_.best_seconds;
    time_ += used;
    Spend(used);
    steps_ += updates * quality;
    if (left <= seconds) steps_ = job_.total_effective;  // done, rounding aside
    const double noise = job_.loss_noise / std::sqrt(std::max(windows, 0.2));
    tuner::Report report{.ok = true,
                         .setting = job_.ToSetting(here_),
                         .time = time_,
                         .seconds = used,
                         .steps = updates,
                         .loss_mean = job_.loss.At(middle) * std::max(0.05, 1 + noise * random_.Normal()),
                         .staleness = job_.Staleness(here_) * (1 + 0.03 * random_.Normal()),
                         .server_memory = job_.server_memory(here_) * (1 + 0.01 * random_.Normal()),
                         .worker_memory = job_.worker_memory(here_) * (1 + 0.01 * random_.Normal()),
                         .during_change = changing};
    if (job_.cpu) ReadCpu(report);
    if (job_.times) ReadTimes(report);
    policy_.Absorb(report);
  }

  void ReadCpu(tuner::Report& report) {
    const CpuTruth truth = job_.cpu(here_);
    const auto noisy = [&](double share) { return std::clamp(share * (1 + 0.05 * random_.Normal()), 0.0, 1.0); };
    report.worker_throttled = noisy(truth.worker_throttled);
    report.worker_cpu = noisy(truth.worker_use);
    if (job_.server_cores.high <= 0) return;
    report.server_throttled = noisy(truth.server_throttled);
    report.server_cpu = noisy(truth.server_use);
  }

  void ReadTimes(tuner::Report& report) {
    const TimeTruth truth = job_.times(here_);
    const auto noisy = [&](double share) { return std::clamp(share * (1 + 0.05 * errors_.Normal()), 0.0, 1.0); };
    report.worker_compute = noisy(truth.compute + job_.messages_counted * truth.messages);
    report.server_busy = noisy(truth.busy * job_.busy_bias);
  }

  const JobModel& job_;
  Policy& policy_;
  bool trace_;
  Random random_, errors_;  // of its own: jobs stay what they are whether they say more or not
  Outcome outcome_;
  double spent_ = 0;
  double time_ = 0, steps_ = 0, noise_state_ = 0, spent_ms_ = 0, collapsed_ = 0;
  Point here_, previous_{}, kept_, kept_before_{};
  std::optional<tuner::Remaining> estimate_;
  double estimate_at_ = 0;
  double* lost_ = &outcome_.lost_while_kept;
};

}  // namespace

Outcome RunJob(const JobModel& job, Policy& policy, bool trace) { return Run(job, policy, trace).Play(); }

}  // namespace attune::bench
