#include "operator/telemetry/job_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/mutex.h"

namespace attune::telemetry {
namespace {

struct Pod {
  std::string uid;
  PodSample sample;
  uint64_t streams = 0;  // open ones: a reconnect may overlap the stream it replaces
};

struct Job {
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
  std::optional<MonotonicTime> progressed_at;
};

// What controllers act on; the rest of a window moves all the time.
bool IsNews(const std::optional<v1::JobWindow>& before, const v1::JobWindow& after) {
  if (!before) return true;
  const auto facts = [](const v1::JobWindow& window) {
    v1::JobWindow kept;
    *kept.mutable_abilities() = window.abilities();
    *kept.mutable_synchronization() = window.synchronization();
    *kept.mutable_server_states() = window.server_states();
    *kept.mutable_lost_pods() = window.lost_pods();
    *kept.mutable_checkpoint() = window.checkpoint();
    *kept.mutable_best_checkpoint() = window.best_checkpoint();
    *kept.mutable_recovery() = window.recovery();
    *kept.mutable_relief() = window.relief();
    *kept.mutable_closing() = window.closing();
    kept.set_goal_reached(window.goal_reached());
    kept.set_term(window.term());
    return kept.SerializeAsString();
  };
  return facts(*before) != facts(after);
}

// What the coordinator's right to act is judged by: its own word, and whether another server hears it.
bool IsNewsOfLease(const v1::WindowReport& before, const v1::WindowReport& after) {
  const auto said = [](const v1::WindowReport& window) {
    v1::LeaderLease lease = window.leader_lease();
    if (lease.wanted_voters().empty()) lease.clear_map_version();
    return lease.SerializeAsString();
  };
  return MissesCoordinator(before) != MissesCoordinator(after) || said(before) != said(after);
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

// Makes place for a pod of that role and index: an ended one of another name goes, and when a job has too many, so does
// the one that was heard of least lately. What is connected stays.
void MakePlace(std::map<std::string, Pod>& pods, const v1::SidecarHello& hello) {
  std::erase_if(pods, [&](const auto& entry) {
    const PodSample& pod = entry.second.sample;
    return !pod.connected && pod.role == hello.role() && pod.index == hello.index();
  });
  if (pods.size() < JobStore::kPodsPerJobMax) return;
  auto oldest = pods.end();
  for (auto pod = pods.begin(); pod != pods.end(); ++pod) {
    if (pod->second.sample.connected) continue;
    if (oldest == pods.end() || pod->second.sample.heard_at < oldest->second.sample.heard_at) oldest = pod;
  }
  if (oldest != pods.end()) pods.erase(oldest);
}

class Store final : public JobStore {
 public:
  explicit Store(JobLookup lookup) : lookup_(std::move(lookup)) {}

  Status CheckJob(const JobId& job) const override {
    switch (lookup_(job)) {
      case JobKnown::kYes:
        return OkStatus();
      case JobKnown::kNo:
        return Error(StatusCode::kPermissionDenied,
                     "there is no job " + job.name_space + "/" + job.name + " with the uid that the hello names");
      case JobKnown::kNotYet:
        break;
    }
    return Error(StatusCode::kUnavailable, "the operator has not seen its jobs yet; try again");
  }

  Status Connected(const v1::SidecarHello& hello, MonotonicTime now) override {
    {
      const MutexLock lock(mutex_);
      ASSIGN_OR_RETURN(Pod * pod, FindOrAdd(hello));
      ++pod->streams;
      pod->sample.connected = true;
      pod->sample.heard_at = std::max(pod->sample.heard_at, now);
    }
    ReportNews(hello);
    return OkStatus();
  }

  void Disconnected(const v1::SidecarHello& hello, MonotonicTime) override {
    {
      const MutexLock lock(mutex_);
      Pod* pod = Find(hello);
      if (pod == nullptr) return;
      if (pod->streams > 0) --pod->streams;
      pod->sample.connected = pod->streams > 0;
      if (pod->sample.connected) return;
    }
    ReportNews(hello);
  }

  bool Report(const v1::SidecarHello& hello, const v1::PodReport& report, MonotonicTime now) override {
    bool news = false;
    {
      const MutexLock lock(mutex_);
      Pod* pod = Find(hello);
      if (pod == nullptr) {
        ++dropped_;
        return false;
      }
      Job& job = jobs_.at(JobOf(hello));
      news = pod->sample.window.sequence() == 0 || IsNewsOfLease(pod->sample.window, report.window());
      pod->sample.heard_at = pod->sample.reported_at = now;
      pod->sample.window = report.window();
      pod->sample.usage = report.usage();
      if (const v1::WorkerWindow& worker = report.window().worker(); worker.loss_count() > 0) {
        pod->sample.last_loss = worker.loss_mean();
        pod->sample.last_loss_weight = LossWeight(worker);
      }
      if (const v1::WorkerWindow& worker = report.window().worker(); worker.steps() > 0) {
        pod->sample.step_seconds_max = worker.step_seconds().max();
        job.progressed_at = now;
      }
      if (report.window().has_worker()) AddTotals(job, report.window(), now);
      if (report.window().has_job()) {
        // A coordinator that has been replaced may not know it yet.
        const bool superseded = job.window && job.window->term() > report.window().job().term();
        if (!superseded) {
          news = news || IsNews(job.window, report.window().job());
          if (job.window && report.window().job().steps() > job.window->steps()) job.progressed_at = now;
          job.window = report.window().job();
          job.window_at = now;
          AddPoint(job, now);
        }
      }
    }
    if (news) ReportNews(hello);
    return true;
  }

  void Answered(const v1::SidecarHello& hello, const std::string& key, const DirectiveAnswer& answer) override {
    {
      const MutexLock lock(mutex_);
      const auto job = jobs_.find(JobOf(hello));
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
    ReportNews(hello);
  }

  bool Final(const v1::SidecarHello& hello, const v1::FinalReport& report) override {
    {
      const MutexLock lock(mutex_);
      if (Find(hello) == nullptr) {
        ++dropped_;
        return false;
      }
      jobs_.at(JobOf(hello)).final_report = report;
    }
    ReportNews(hello);
    return true;
  }

  JobSample Sample(const JobId& id, MonotonicTime now) const override {
    JobSample sample;
    {
      const MutexLock lock(mutex_);
      const auto found = jobs_.find(id);
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
      sample.progressed_at = job.progressed_at;
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

  void Forget(const std::string& name_space, const std::string& name, const std::string& uid_that_stays) override {
    const MutexLock lock(mutex_);
    for (auto job = jobs_.lower_bound({name_space, name, ""});
         job != jobs_.end() && job->first.name_space == name_space && job->first.name == name;) {
      job = job->first.uid == uid_that_stays ? std::next(job) : jobs_.erase(job);
    }
  }

  void OnNews(std::function<void(const std::string&, const std::string&)> call) override {
    const MutexLock lock(news_mutex_);
    on_news_ = std::move(call);
  }

  uint64_t dropped_reports() const override {
    const MutexLock lock(mutex_);
    return dropped_;
  }

 private:
  Pod* Find(const v1::SidecarHello& hello) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto job = jobs_.find(JobOf(hello));
    if (job == jobs_.end()) return nullptr;
    const auto pod = job->second.pods.find(hello.pod());
    return pod == job->second.pods.end() || pod->second.uid != hello.pod_uid() ? nullptr : &pod->second;
  }

  StatusOr<Pod*> FindOrAdd(const v1::SidecarHello& hello) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const JobId id = JobOf(hello);
    RETURN_IF_ERROR(CheckJob(id));
    if (Pod* pod = Find(hello)) return pod;
    if (!jobs_.contains(id) && jobs_.size() >= kJobsMax) {
      return Error(StatusCode::kResourceExhausted,
                   "this operator keeps reports of at most " + std::to_string(kJobsMax) + " jobs");
    }
    Job& job = jobs_[id];
    if (!job.pods.contains(hello.pod())) MakePlace(job.pods, hello);
    if (!job.pods.contains(hello.pod()) && job.pods.size() >= kPodsPerJobMax) {
      return Error(StatusCode::kResourceExhausted,
                   "this operator keeps reports of at most " + std::to_string(kPodsPerJobMax) + " pods of a job");
    }
    Pod& pod = job.pods[hello.pod()];
    pod = Pod{.uid = hello.pod_uid(), .sample = {}, .streams = 0};
    pod.sample.pod = hello.pod();
    pod.sample.pod_uid = hello.pod_uid();
    pod.sample.role = hello.role();
    pod.sample.index = hello.index();
    return &pod;
  }

  // The listener may ask the store.
  void ReportNews(const v1::SidecarHello& hello) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(news_mutex_);
    if (on_news_) on_news_(hello.namespace_(), hello.job());
  }

  const JobLookup lookup_;
  mutable Mutex mutex_;
  std::map<JobId, Job> jobs_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;

  Mutex news_mutex_;
  std::function<void(const std::string&, const std::string&)> on_news_ ABSL_GUARDED_BY(news_mutex_);
};

}  // namespace

bool MissesCoordinator(const v1::WindowReport& window) {
  constexpr double kSilentSeconds = 3;  // a server asks twice a second
  return window.has_server() && window.server().coordinator_silent_seconds() >= kSilentSeconds;
}

JobId JobOf(const v1::SidecarHello& hello) { return {hello.namespace_(), hello.job(), hello.job_uid()}; }

std::unique_ptr<JobStore> JobStore::Create(JobLookup lookup) { return std::make_unique<Store>(std::move(lookup)); }

}  // namespace attune::telemetry
