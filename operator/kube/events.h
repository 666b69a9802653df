// Events (events.k8s.io/v1): the story of an object, for people reading `kubectl describe`. Never for automation.
// Record never blocks and never fails: what cannot be written in time is dropped and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::kube {

enum class EventType { kNormal, kWarning };

// What happened to `regarding` (an object, or a reference with apiVersion, kind and metadata).
struct EventNote {
  EventType type = EventType::kNormal;
  std::string reason;  // PascalCase, stable: "WorkerFailed"
  std::string action;  // what was done or tried: "Restart"
  std::string note;    // for people; cut at 1 kB
};

// Pure: which API call an occurrence leads to. The same (object, reason, note) within ten minutes raises the count of
// one Event; the count is written at most every ten seconds.
class EventSeries {
 public:
  struct Call {
    bool create = true;  // else merge-patch
    ObjectKey key;
    Json body;
  };
  EventSeries(std::string controller, std::string instance);

  std::optional<Call> OnOccurrence(const Json& regarding, const EventNote& note, MonotonicTime now, WallTime wall_now);
  // The Event could not be written, or is gone (the server keeps Events for an hour): the next occurrence creates a new
  // one.
  void OnLost(const ObjectKey& key);
  // Counts not written yet whose time has come.
  std::vector<Call> TakeDue(MonotonicTime now);
  // All counts not written yet, due or not: before the end.
  std::vector<Call> TakeAll() { return TakeDue(kNever); }
  MonotonicTime NextDue() const;
  size_t size() const { return series_.size(); }

 private:
  using Id = std::tuple<std::string, std::string, std::string>;  // object (uid and key), reason, note
  struct Entry {
    ObjectKey key;
    uint64_t count = 1;
    bool dirty = false;
    MonotonicTime last_seen, last_written;
    WallTime last_seen_wall;
  };
  void Forget(MonotonicTime now);

  const std::string controller_, instance_;
  std::map<Id, Entry> series_;
  uint64_t next_name_ = 0;
};

// Cuts at `bytes_max` without splitting a UTF-8 character.
std::string CutText(const std::string& text, size_t bytes_max);
// "2026-01-02T03:04:05.000006Z": metav1.MicroTime.
std::string MicroTime(WallTime time);

struct EventRecorderCounts {
  uint64_t recorded = 0, written = 0, dropped = 0, failed = 0;
};

// Thread-safe. `api` and `time` must outlive it. Destruction writes what is queued for at most two seconds.
class EventRecorder {
 public:
  // `instance`: which process reports, usually the pod's name.
  EventRecorder(Api& api, const TimeSource& time, const std::string& instance);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void Record(const Json& regarding, EventNote note);
  // Waits until everything recorded before has been written or given up (tests, end of a program); false at the
  // timeout.
  bool Flush(Duration timeout);
  EventRecorderCounts counts() const;

 private:
  struct Occurrence {
    Json regarding;  // reference only
    EventNote note;
    MonotonicTime at;
    WallTime wall_at;
  };
  void Run();
  void Write(const EventSeries::Call& call);

  Api& api_;
  const TimeSource& time_;
  EventSeries series_;  // by the thread only
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Occurrence> queue_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime write_until_ ABSL_GUARDED_BY(mutex_) = kNever;
  EventRecorderCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace attune::kube
