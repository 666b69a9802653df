// Keeps a WatchCache equal to what the API server holds: a thread that carries out what a Watcher decides.
//
//   WatchCache pods({.index_label = "attune.dev/job",
//                    .on_change = [&](const CacheChange& change) { queue.Add(JobOf(change)); }});
//   Reflector reflector(api, kPods, {.label_selector = "attune.dev/job"}, pods, time);
//   if (!pods.WaitForSync(std::chrono::seconds(30))) ...
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "operator/kube/api.h"
#include "operator/kube/watch/signal_queue.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/kube/watch/watch_health.h"
#include "operator/kube/watch/watcher.h"

namespace attune::kube {

struct ReflectorOptions {
  std::string name_space;  // "" = all
  std::string label_selector, field_selector;
  Duration list_timeout = std::chrono::seconds(15);  // destruction may wait for a list in progress
  WatcherOptions watcher;
  uint64_t seed = 1;  // of backoff and watch lengths
};

// Starts at once. `api`, `cache` and `time` must outlive it. Destruction ends the watch and joins the thread.
class Reflector {
 public:
  Reflector(Api& api, ResourceType type, ReflectorOptions options, WatchCache& cache, const TimeSource& time);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Any thread.
  WatcherCounts counts() const { return health_.counts(); }
  using Turn = WatchHealth::Turn;
  Turn turn() const { return health_.turn(); }
  // Why the last list or watch failed; OK after something was heard. For readiness and messages to people.
  Status last_failure() const { return health_.last_failure(); }

 private:
  void Run();
  // Waits for signals, the watcher's next time, or the end.
  std::deque<WatchSignal> Wait();
  void Carry(WatcherOutput output);
  void Note(const Status& status);

  Api& api_;
  const ResourceType type_;
  const ReflectorOptions options_;
  WatchCache& cache_;
  const TimeSource& time_;
  Watcher watcher_;               // by the thread only
  std::unique_ptr<Watch> watch_;  // by the thread only
  uint64_t watch_number_ = 0;     // by the thread only; rises when a watch is given up
  SignalQueue signals_;
  WatchHealth health_;
  std::thread thread_;
};

}  // namespace attune::kube
