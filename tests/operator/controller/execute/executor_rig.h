// One job under the real Executor, over operator/local's API in memory. The test is kubelet, sidecars and clock; it
// decides which calls to the API server fail, how, and when the operator's caches catch up with the server.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/controller/execute/executor.h"
#include "operator/local/api/memory_api.h"
#include "tests/operator/controller/execute/faulty_api.h"

namespace attune::controller {

// Moves when it is asked to; read by the recorder of Events from its own thread.
class TestClock final : public TimeSource {
 public:
  MonotonicTime Now() const override { return MonotonicTime(Duration(now_.load())); }
  WallTime WallNow() const override { return WallTime(std::chrono::seconds(1'700'000'000)) + Duration(now_.load()); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<int64_t> now_ = Duration(std::chrono::hours(1)).count();
};

// Sidecars that are connected take every directive.
class TestService final : public telemetry::Service {
 public:
  struct Sent {
    std::string pod_uid, key;
    v1::Directive directive;
  };
  std::string address() const override { return "127.0.0.1:1"; }
  bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) override {
    sent.push_back({pod_uid, key, directive});
    return true;
  }
  uint64_t implausible_reports() const override { return 0; }
  std::vector<Sent> sent;
};

class TestStore final : public telemetry::JobStore {
 public:
  attune::Status CheckJob(const telemetry::JobId&) const override { return OkStatus(); }
  attune::Status Connected(const v1::SidecarHello&, MonotonicTime) override { return OkStatus(); }
  void Disconnected(const v1::SidecarHello&, MonotonicTime) override {}
  bool Report(const v1::SidecarHello&, const v1::PodReport&, MonotonicTime) override { return true; }
  bool Final(const v1::SidecarHello&, const v1::FinalReport&) override { return true; }
  void Answered(const v1::SidecarHello&, const std::string&, const telemetry::DirectiveAnswer&) override {}
  telemetry::JobSample Sample(const telemetry::JobId&, MonotonicTime) const override { return sample; }
  void Forget(const std::string&, const std::string&, const std::string&) override {}
  void OnNews(std::function<void(const std::string&, const std::string&)>) override {}
  uint64_t dropped_reports() const override { return 0; }

  telemetry::JobSample sample;
};

class ExecutorRig {
 public:
  // With backups where there are servers enough.
  ExecutorRig(int servers, int workers);
  ~ExecutorRig();

  // --- the operator
  // One round, with the caches as they are. An operator that dies is followed by another one.
  void Round();
  // Rounds with fresh caches, for this long, each when the one before asked for it (and at least every second).
  void Run(Duration time);
  void SyncCaches();  // all of them
  void SyncCache(size_t which);
  void Report();  // by all processes, a moment ago
  static constexpr size_t kCaches = OperatorsView::kKinds;
  void RestartOperator();
  uint64_t deaths() const { return deaths_; }  // by Fault::operator_dies

  // --- Kubernetes and the job
  void Start(const std::string& pod);  // scheduled, running, ready, its sidecar connected
  void StartAll();
  void Exit(const std::string& pod, int code);
  void DeleteFromOutside(const std::string& pod);
  void ConfirmDeletions();  // by kubelets
  void Connect(const std::string& pod, bool connected);
  void Scale(int workers);
  void DeleteJob();
  // From nothing to a job that trains.
  void BringUp();
  // The coordinator's word: these servers serve.
  void Say(int servers, uint64_t term = 0);
  // That the job is finished, from now on.
  void SayFinished();
  // What the process of this server says of the lease of the coordinator that it runs.
  void ReportLease(const std::string& pod, const v1::LeaderLease& lease);
  // This server's process is stopped, and the other servers say that it does not answer; ended by an empty name.
  void Silence(const std::string& pod) { silent_ = pod; }
  // Everything asked of the processes so far is answered so.
  void AnswerAll(telemetry::DirectiveAnswer::Outcome outcome);

  kube::Json Job();
  api::TrainingJobStatus Status();
  std::string Condition(const char* type);  // "True/Ready: message"
  std::optional<kube::Json> Pod(const std::string& name);
  std::vector<std::string> PodNames();
  std::vector<std::string> EventReasons();
  bool WasTold(const std::string& pod_uid, const std::string& key_begin) const;

  TestClock clock;
  local::MemoryApi real;
  FaultyApi api;
  TestService service;
  TestStore store;
  PlanOptions options{.job_policies = true, .begin_unheard_after = Duration::zero()};

 private:
  OperatorsView view_;
  kube::EventRecorder events_;
  std::unique_ptr<Executor> executor_;
  const kube::ObjectKey key_{"default", "j"};
  std::optional<Duration> again_;
  std::string silent_;
  uint64_t deaths_ = 0;
};

}  // namespace attune::controller
