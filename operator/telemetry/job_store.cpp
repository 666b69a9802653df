#include "operator/telemetry/job_store.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "operator/telemetry/plausible.h"
#include "proto/contract.h"

namespace attune::telemetry {
namespace {

struct Pod {
  std::string uid;
  PodSample sample;
  uint64_t streams = 0;  // open ones: a reconnect may overlap the stream it replaces
};

struct Job {
  std::string name_space, name;
  std::map<std::string, Pod> pods;  // by name; a successor of the same name takes its predecessor's place
  std::optional<v1::JobWindow> window;
  MonotonicTime window_at{};
  std::optional<v1::FinalReport> final_report;
  uint64_t steps = 0;
  std::vector<HistoryPoint> history;
  uint64_t history_stride = 1, reports_since_point = 0;
  std::map<std::string, DirectiveAnswer> answers;
  uint64_t samples = 0;  // of all workers
  double loss_sum = 0, loss_weight = 0;
  std::optional<MonotonicTime> first_window_began;
  MonotonicTime last_window_ended{};
};

// What controllers act on; the rest of a window moves all the time.
bool IsNews(const std::optional<v1::JobWindow>& before, const v1::JobWindow& after) {
  if (!before) return true;
  const auto facts = [](const v1::JobWindow& window) {
    v1::JobWindow kept;
    *kept.mutable_abilities() = window.abilities();
    *kept.mutable_synchronization() = window.synchronization();
    *kept.mutable_server_states() = window.server_states();
    *kept.mutable_checkpoint() = window.checkpoint();
    *kept.mutable_recovery() = window.recovery();
    kept.set_term(window.term());
    return kept.SerializeAsString();
  };
  return facts(*before) != facts(after);
}

double LossWeight(const v1::WorkerWindow& window) { return std::max<double>(1, static_cast<double>(window.samples())); }

void AddTotals(Job& job, const v1::WindowReport& window, MonotonicTime now) {
  const auto length = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(window.duration_seconds()));
  job.steps += window.worker().steps();
  job.samples += window.worker().samples();
  if (window.worker().loss_count() > 0) {
    const double weight = LossWeight(window.worker());
    job.loss_sum += weight * window.worker().loss_mean();
    job.loss_weight += weight;
  }
  if (window.worker().samples() == 0) return;
  if (!job.first_window_began) job.first_window_began = now - length;
  job.last_window_ended = now;
}

// Keeps at most kHistoryMax points over the whole life of a job: when full, every other one goes and new ones come half
// as often.
void AddPoint(Job& job, MonotonicTime now) {
  if (++job.reports_since_point < job.history_stride) return;
  job.reports_since_point = 0;
  HistoryPoint point{.at = now};
  if (job.window) {
    point.items_done = job.window->items_done();
    point.steps = job.window->steps();
  }
  job.history.push_back(point);
  if (job.history.size() < JobStore::kHistoryMax) return;
  size_t kept = 0;
  for (size_t i = 1; i < job.history.size(); i += 2) job.history[kept++] = job.history[i];
  job.history.resize(kept);
  job.history_stride *= 2;
}

class MeanLoss {
 public:
  void Add(double loss, double weight) {
    sum_ += weight * loss;
    weight_ += weight;
  }
  std::optional<double> value() const { return weight_ > 0 ? std::optional<double>(sum_ / weight_) : std::nullopt; }

 private:
  double sum_ = 0, weight_ = 0;
};

// Loss and rate over the live workers' last windows, and over all last windows.
void Summarize(JobSample& sample, MonotonicTime now) {
  MeanLoss live, all;
  for (const PodSample& pod : sample.pods) {
    if (!pod.window.has_worker()) continue;
    const v1::WorkerWindow& window = pod.window.worker();
    if (pod.last_loss) all.Add(*pod.last_loss, pod.last_loss_weight);
    if (!window.sample_unit().empty()) sample.sample_unit = window.sample_unit();
    if (now - pod.reported_at > JobStore::kStaleAfter) continue;
    if (window.loss_count() > 0) live.Add(window.loss_mean(), LossWeight(window));
    if (pod.connected && pod.window.duration_seconds() > 0) {
      sample.rate += static_cast<double>(window.samples()) / pod.window.duration_seconds();
    }
  }
  sample.loss = live.value();
  sample.last_loss = all.value();
}

class Store final : public JobStore {
 public:
  void Connected(const v1::SidecarHello& hello, MonotonicTime now) override {
    {
      const std::lock_guard lock(mutex_);
      Pod* pod = FindOrAdd(hello);
      if (pod == nullptr) return;
      ++pod->streams;
      pod->sample.connected = true;
      pod->sample.reported_at = std::max(pod->sample.reported_at, now);
    }
    TellNews(hello);
  }

  void Disconnected(const v1::SidecarHello& hello, MonotonicTime) override {
    {
      const std::lock_guard lock(mutex_);
      Pod* pod = Find(hello);
      if (pod == nullptr) return;
      if (pod->streams > 0) --pod->streams;
      pod->sample.connected = pod->streams > 0;
      if (pod->sample.connected) return;
    }
    TellNews(hello);
  }

  void Report(const v1::SidecarHello& hello, const v1::PodReport& report, MonotonicTime now) override {
    bool news = false;
    {
      const std::lock_guard lock(mutex_);
      Pod* pod = IsPlausible(hello, report) ? Find(hello)
                                            : nullptr;  // only a connection adds: late words of a forgotten job do not
      if (pod == nullptr) {
        ++dropped_;
        return;
      }
      Job& job = jobs_.at(hello.job_uid());
      news = pod->sample.window.sequence() == 0;
      pod->sample.reported_at = now;
      pod->sample.window = report.window();
      pod->sample.usage = report.usage();
      if (const v1::WorkerWindow& worker = report.window().worker(); worker.loss_count() > 0) {
        pod->sample.last_loss = worker.loss_mean();
        pod->sample.last_loss_weight = LossWeight(worker);
      }
      if (report.window().has_worker()) AddTotals(job, report.window(), now);
      if (report.window().has_job()) {
        // A coordinator that has been replaced may not know it yet.
        const bool superseded = job.window && job.window->term() > report.window().job().term();
        if (!superseded) {
          news = news || IsNews(job.window, report.window().job());
          job.window = report.window().job();
          job.window_at = now;
          AddPoint(job, now);
        }
      }
    }
    if (news) TellNews(hello);
  }

  void Answered(const v1::SidecarHello& hello, const std::string& key, const DirectiveAnswer& answer) override {
    {
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(hello.job_uid());
      if (job == jobs_.end()) return;
      auto& answers = job->second.answers;
      DirectiveAnswer& kept = answers[key];
      const uint32_t refusals = kept.refusals;
      kept = answer;
      kept.refusals = answer.outcome == DirectiveAnswer::Outcome::kRefused ? refusals + 1 : 0;
      if (answers.size() > kAnswersMax) {
        answers.erase(std::min_element(answers.begin(), answers.end(),
                                       [](const auto& a, const auto& b) { return a.second.at < b.second.at; }));
      }
    }
    TellNews(hello);
  }

  void Final(const v1::SidecarHello& hello, const v1::FinalReport& report) override {
    {
      const std::lock_guard lock(mutex_);
      if (!IsPlausible(report) || Find(hello) == nullptr) {
        ++dropped_;
        return;
      }
      jobs_.at(hello.job_uid()).final_report = report;
    }
    TellNews(hello);
  }

  JobSample Sample(const std::string& job_uid, MonotonicTime now) const override {
    JobSample sample;
    {
      const std::lock_guard lock(mutex_);
      const auto found = jobs_.find(job_uid);
      if (found == jobs_.end()) return sample;
      const Job& job = found->second;
      for (const auto& [name, pod] : job.pods) sample.pods.push_back(pod.sample);
      sample.job = job.window;
      if (sample.job && now - job.window_at > kPresentAfter) {
        sample.job->clear_relocation();
        sample.job->clear_slowest_worker();
      }
      sample.final_report = job.final_report;
      sample.steps = job.steps;
      sample.loss_sum = job.loss_sum;
      sample.loss_weight = job.loss_weight;
      sample.history = job.history;
      sample.answers = job.answers;
      if (job.first_window_began && job.last_window_ended > *job.first_window_began) {
        sample.mean_rate = static_cast<double>(job.samples) / Seconds(job.last_window_ended - *job.first_window_began);
      }
    }
    std::sort(sample.pods.begin(), sample.pods.end(), [](const PodSample& a, const PodSample& b) {
      return std::tie(a.role, a.index) < std::tie(b.role, b.index);
    });
    Summarize(sample, now);
    return sample;
  }

  void Forget(const std::string& job_uid) override {
    const std::lock_guard lock(mutex_);
    jobs_.erase(job_uid);
  }

  void OnNews(std::function<void(const std::string&, const std::string&)> call) override {
    const std::lock_guard lock(news_mutex_);
    on_news_ = std::move(call);
  }

  uint64_t dropped_reports() const override {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  Pod* Find(const v1::SidecarHello& hello) {
    const auto job = jobs_.find(hello.job_uid());
    if (job == jobs_.end()) return nullptr;
    const auto pod = job->second.pods.find(hello.pod());
    return pod == job->second.pods.end() || pod->second.uid != hello.pod_uid() ? nullptr : &pod->second;
  }

  Pod* FindOrAdd(const v1::SidecarHello& hello) {
    if (Pod* pod = Find(hello)) return pod;
    if (!jobs_.contains(hello.job_uid()) && jobs_.size() >= kJobsMax) return nullptr;
    Job& job = jobs_[hello.job_uid()];
    job.name_space = hello.namespace_();
    job.name = hello.job();
    if (!job.pods.contains(hello.pod()) && job.pods.size() >= kPodsPerJobMax) return nullptr;
    Pod& pod = job.pods[hello.pod()];
    pod = Pod{.uid = hello.pod_uid(), .sample = {}, .streams = 0};
    pod.sample.pod = hello.pod();
    pod.sample.role = hello.role();
    pod.sample.index = hello.index();
    return &pod;
  }

  // Outside mutex_, so that the listener may ask the store.
  void TellNews(const v1::SidecarHello& hello) {
    const std::lock_guard lock(news_mutex_);
    if (on_news_) on_news_(hello.namespace_(), hello.job());
  }

  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;  // by uid; guarded by mutex_
  uint64_t dropped_ = 0;             // guarded by mutex_

  std::mutex news_mutex_;
  std::function<void(const std::string&, const std::string&)> on_news_;  // guarded by news_mutex_
};

}  // namespace

std::unique_ptr<JobStore> JobStore::Create() { return std::make_unique<Store>(); }

}  // namespace attune::telemetry
