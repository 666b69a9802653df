#include "ps/core/progress/announcement_trial.h"

namespace attune::ps {
namespace {

// Of one worker's reports.
template <typename Sample>
double RateBetween(const Sample& first, const Sample& last) {
  return static_cast<double>(last.steps - first.steps) / Seconds(last.at - first.at);
}

}  // namespace

void AnnouncementTrial::Report(NodeId worker, uint64_t steps, bool announces, MonotonicTime now) {
  if (!announces) return Remove(worker, now);
  const auto [entry, is_new] = workers_.try_emplace(worker);
  if (!next_) next_ = now + kBefore;
  if (is_new) return Abandon(now);
  if (!in_progress()) {
    if (now >= *next_) {
      trial_began_ = now;
      Begin(0, now);
    }
    return;
  }
  if (now < measured_from_) return;
  Worker& known = entry->second;
  (known.first ? known.last : known.first) = {.steps = steps, .at = now};
  if (!known.middle && now - known.first->at >= kWindow / 2) known.middle = known.last;
  // A worker that hardly makes a step will not do so soon.
  if (now - phase_began_ > kPhaseMax) return Abandon(now, kRestMin * (now - trial_began_));
  if (!IsMeasured(now)) return;
  if (acts() && Rises() && now - phase_began_ < kRiseMax) return Measure(now);
  rates_[phase_] = Rate();
  if (phase_ + 1 == kPhases) return Decide(now);
  Begin(phase_ + 1, now);
}

void AnnouncementTrial::Remove(NodeId worker, MonotonicTime now) {
  if (workers_.erase(worker) > 0) Abandon(now);
}

void AnnouncementTrial::SkipPause(Duration pause, MonotonicTime now) {
  if (next_) *next_ += pause;
  Abandon(now);
}

void AnnouncementTrial::Begin(size_t phase, MonotonicTime now) {
  phase_ = phase;
  phase_began_ = now;
  Measure(now + kWarmUp);
}

void AnnouncementTrial::Measure(MonotonicTime from) {
  measured_from_ = from;
  for (auto& [id, worker] : workers_) worker = {};
}

void AnnouncementTrial::Abandon(MonotonicTime now, Duration rest) {
  if (!in_progress()) return;
  phase_ = kPhases;
  next_ = now + rest;
}

bool AnnouncementTrial::IsMeasured(MonotonicTime now) const {
  return now - measured_from_ >= kWindow && std::ranges::all_of(workers_, [](const auto& entry) {
           const Worker& worker = entry.second;
           return worker.last && worker.last->steps >= worker.first->steps + kSteps &&
                  worker.last->at - worker.first->at >= kMeasured;
         });
}

// Workers with too few reports to say so do not count.
bool AnnouncementTrial::Rises() const {
  double before = 0, after = 0;
  for (const auto& [id, worker] : workers_) {
    if (!worker.middle || worker.last->at <= worker.middle->at) continue;
    before += RateBetween(*worker.first, *worker.middle);
    after += RateBetween(*worker.middle, *worker.last);
  }
  return after > kRise * before;
}

// Of each worker by its own reports, which come at about equal distances.
double AnnouncementTrial::Rate() const {
  double rate = 0;
  for (const auto& [id, worker] : workers_) rate += RateBetween(*worker.first, *worker.last);
  return rate;
}

// Of every other phase from `first` on.
double AnnouncementTrial::MedianFrom(size_t first) const {
  std::array<double, kPhases / 2> rates{};
  for (size_t i = 0; i < rates.size(); ++i) rates[i] = rates_[first + 2 * i];
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

void AnnouncementTrial::Decide(MonotonicTime now) {
  const double with = MedianFrom(0), without = MedianFrom(1);
  speedup_ = with / without;
  const bool is_worth_it = *speedup_ >= kGain;
  rests_ = is_worth_it == is_worth_it_ ? std::min(2 * rests_, kRestMax) : kRestMin;
  is_worth_it_ = is_worth_it;
  phase_ = kPhases;
  next_ = now + rests_ * (now - trial_began_);
}

}  // namespace attune::ps
