// What sidecars reported lately, by job and pod. Fed by the gRPC service (service.h), read by controllers and displays.
// Bounded: the last window of each pod and a short history per job; a job's entry goes with the job. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"

namespace attune::telemetry {

// A job as its pods name it. The namespace is part of it: a uid alone proves nothing, since a pod of any namespace may
// write it down.
struct JobId {
  std::string name_space, name, uid;
  auto operator<=>(const JobId&) const = default;
};
JobId JobOf(const v1::SidecarHello& hello);

enum class JobKnown { kYes, kNo, kNotYet };  // kNotYet: the operator has not seen its first list of jobs
// What the operator's cache says. Called under the store's lock, so that a job that goes cannot come back: it must not
// call the store.
using JobLookup = std::function<JobKnown(const JobId&)>;

struct PodSample {
  std::string pod, pod_uid;
  std::string role;
  uint32_t index = 0;
  bool connected = false;       // its sidecar's stream is open
  MonotonicTime heard_at{};     // its stream was opened, or a report arrived
  MonotonicTime reported_at{};  // `window` arrived: a new stream does not make an old report newer
  v1::WindowReport window;
  v1::ProcessUsage usage;
  std::optional<double> last_loss;  // of its last window that had one; a worker that evaluates has none any more
  double last_loss_weight = 0;
  double step_seconds_max = 0;  // the longest step of its last window in which one ended
};

// How far the job was at a time.
struct HistoryPoint {
  MonotonicTime at{};
  uint64_t items_done = 0;  // over all epochs, as the coordinator said
  uint64_t steps = 0;       // of all workers together, by the same word
};

// What became of a directive.
struct DirectiveAnswer {
  enum class Outcome { kDone, kRefused, kLost };  // kLost: the connection ended before an answer
  Outcome outcome = Outcome::kLost;
  std::string message;
  MonotonicTime at{};
  uint32_t refusals = 0;           // of this key, one after the other; counted by the store
  std::vector<std::string> lines;  // of a TraceRow
};

// A server says that the coordinator has not answered it for some seconds.
bool MissesCoordinator(const v1::WindowReport& window);

struct JobSample {
  std::vector<PodSample> pods;       // ordered by role, index
  std::optional<v1::JobWindow> job;  // last seen from the coordinator's process
  std::optional<double> loss;        // mean over the workers' last windows, weighted by samples
  double rate = 0;                   // samples per second over live workers' last windows
  std::string sample_unit;
  std::optional<v1::FinalReport> final_report;
  uint64_t steps = 0;                    // of all workers, those that left included, as far as this process saw them
  double loss_sum = 0, loss_weight = 0;  // of all windows so far: losses weighted by samples, and the weights
  std::vector<HistoryPoint> history;     // oldest first; thinned evenly, at most kHistoryMax points
  std::map<std::string, DirectiveAnswer> answers;  // by the key given to Service::Send; the newest kAnswersMax
  std::optional<MonotonicTime> progressed_at;      // when a step was last reported, by a worker or the coordinator

  // Over the life of the job, as far as this process saw it, for its summary.
  std::optional<double> last_loss;  // over each worker's last window with a loss, however old
  double mean_rate = 0;             // samples per second, from the first window to the last
};

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Whether there is such a job: PermissionDenied when there is not, Unavailable when that is not known yet.
  virtual Status CheckJob(const JobId& job) const = 0;

  // Written by the service, with messages that passed plausible.h.
  // Only a connection adds, and only to a job that exists (CheckJob). ResourceExhausted: a bound is reached.
  virtual Status Connected(const v1::SidecarHello& hello, MonotonicTime now) = 0;
  virtual void Disconnected(const v1::SidecarHello& hello, MonotonicTime now) = 0;
  // False: that pod is not known, for its job was forgotten or another pod has its place. Nothing was kept.
  virtual bool Report(const v1::SidecarHello& hello, const v1::PodReport& report, MonotonicTime now) = 0;
  virtual bool Final(const v1::SidecarHello& hello, const v1::FinalReport& report) = 0;
  virtual void Answered(const v1::SidecarHello& hello, const std::string& key, const DirectiveAnswer& answer) = 0;

  // A worker's window older than this does not count in rate and loss.
  static constexpr Duration kStaleAfter = std::chrono::seconds(10);
  // What a coordinator said to be in progress (rows moving, a worker waited for) is not believed longer than this: it
  // ends with its job.
  static constexpr Duration kPresentAfter = std::chrono::seconds(3);
  // Bounds of what is kept; beyond them new jobs, or new pods of a job, are not kept and counted as dropped.
  static constexpr size_t kJobsMax = 20'000;
  static constexpr size_t kPodsPerJobMax = 2'000;
  static constexpr size_t kHistoryMax = 128;
  static constexpr size_t kAnswersMax = 64;
  virtual JobSample Sample(const JobId& job, MonotonicTime now) const = 0;
  // All that was kept of jobs of that name, except of the one with `uid_that_stays`. The lookup no longer knows them.
  virtual void Forget(const std::string& name_space, const std::string& name,
                      const std::string& uid_that_stays = "") = 0;
  // Called (from the service's threads, briefly) when a job has news: first report, connection change, final report,
  // an answer, a coordinator that says something new.
  virtual void OnNews(std::function<void(const std::string& job_namespace, const std::string& job)> call) = 0;

  // Reports that were dropped because their pod is not known (any more).
  virtual uint64_t dropped_reports() const = 0;

  static std::unique_ptr<JobStore> Create(JobLookup lookup);
};

}  // namespace attune::telemetry
