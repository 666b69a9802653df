#include "operator/kube/events.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/log.h"
#include "base/random.h"

namespace attune::kube {
namespace {

constexpr size_t kNoteBytesMax = 1024, kReasonBytesMax = 128, kActionBytesMax = 128;  // the API's limits
constexpr size_t kObjectNameMax = 253;
constexpr auto kSeriesWindow = std::chrono::minutes(10);
constexpr auto kWriteEvery = std::chrono::seconds(10);
constexpr size_t kSeriesMax = 4096;
constexpr size_t kQueueMax = 1000;
constexpr auto kCallTimeout = std::chrono::seconds(5);
constexpr auto kLastWrites = std::chrono::seconds(2);
constexpr char kController[] = "attune-operator";
constexpr char kDefaultNamespace[] = "default";  // of events about objects without a namespace

Json Reference(const Json& object) {
  Json reference = Json::object();
  auto set = [&](const char* field, std::string_view value) {
    if (!value.empty()) reference[field] = value;
  };
  set("apiVersion", StringAt(object, {"apiVersion"}));
  set("kind", StringAt(object, {"kind"}));
  set("name", Name(object));
  set("namespace", Namespace(object));
  set("uid", Uid(object));
  set("resourceVersion", ResourceVersion(object));
  return reference;
}

Json SeriesBody(uint64_t count, WallTime last) {
  return {{"series", {{"count", count}, {"lastObservedTime", MicroTime(last)}}}};
}

}  // namespace

std::string CutText(const std::string& text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string MicroTime(WallTime time) {
  auto micros = std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
  std::time_t seconds = micros / 1'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(micros % 1'000'000));
  return text;
}

EventSeries::EventSeries(std::string controller, std::string instance)
    : controller_(std::move(controller)), instance_(std::move(instance)) {}

std::optional<EventSeries::Call> EventSeries::OnOccurrence(const Json& regarding, const EventNote& note,
                                                           MonotonicTime now, WallTime wall_now) {
  Forget(now);
  Json reference = regarding.contains("metadata") ? Reference(regarding) : regarding;
  std::string text = CutText(note.note, kNoteBytesMax), reason = CutText(note.reason, kReasonBytesMax);
  std::string object = reference.value("kind", "") + "/" + reference.value("namespace", "") + "/" +
                       reference.value("name", "") + "/" + reference.value("uid", "");
  auto [place, is_new] = series_.try_emplace(Id{object, reason, text});
  Entry& entry = place->second;
  entry.last_seen = now;
  entry.last_seen_wall = wall_now;
  if (!is_new) {
    ++entry.count;
    entry.dirty = true;
    if (now - entry.last_written < kWriteEvery) return std::nullopt;
    entry.dirty = false;
    entry.last_written = now;
    return Call{false, entry.key, SeriesBody(entry.count, wall_now)};
  }
  entry.last_written = now;
  // Unique without asking the server: the time, and a number against two in the same instant.
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".%016llx",
                static_cast<unsigned long long>(
                    SplitMix64(static_cast<uint64_t>(wall_now.time_since_epoch().count()) + next_name_++)));
  std::string name_space = reference.value("namespace", "");
  entry.key = {name_space.empty() ? kDefaultNamespace : name_space,
               CutText(reference.value("name", "unknown"), kObjectNameMax - 20) + suffix};
  Json body = {{"apiVersion", kEvents.api_version()},
               {"kind", kEvents.kind},
               {"metadata", {{"name", entry.key.name}, {"namespace", entry.key.name_space}}},
               {"eventTime", MicroTime(wall_now)},
               {"type", note.type == EventType::kNormal ? "Normal" : "Warning"},
               {"reason", reason},
               {"action", CutText(note.action.empty() ? note.reason : note.action, kActionBytesMax)},
               {"note", text},
               {"reportingController", controller_},
               {"reportingInstance", CutText(instance_, 128)},
               {"regarding", reference}};
  return Call{true, entry.key, std::move(body)};
}

std::vector<EventSeries::Call> EventSeries::TakeDue(MonotonicTime now) {
  std::vector<Call> due;
  for (auto& [id, entry] : series_) {
    bool is_due = now == kNever || now - entry.last_written >= kWriteEvery;
    if (!entry.dirty || !is_due) continue;
    entry.dirty = false;
    if (now != kNever) entry.last_written = now;
    due.push_back({false, entry.key, SeriesBody(entry.count, entry.last_seen_wall)});
  }
  return due;
}

MonotonicTime EventSeries::NextDue() const {
  MonotonicTime next = kNever;
  for (const auto& [id, entry] : series_) {
    if (entry.dirty) next = std::min<MonotonicTime>(next, entry.last_written + kWriteEvery);
  }
  return next;
}

void EventSeries::OnLost(const ObjectKey& key) {
  std::erase_if(series_, [&](const auto& item) { return item.second.key == key; });
}

void EventSeries::Forget(MonotonicTime now) {
  std::erase_if(series_,
                [&](const auto& item) { return !item.second.dirty && now - item.second.last_seen >= kSeriesWindow; });
  if (series_.size() < kSeriesMax) return;
  // Rare: so many different events within the window. The oldest loses its series, not its Event.
  auto oldest = std::min_element(series_.begin(), series_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_seen < b.second.last_seen; });
  series_.erase(oldest);
}

EventRecorder::EventRecorder(Api& api, const TimeSource& time, const std::string& instance)
    : api_(api), time_(time), series_(kController, instance.empty() ? kController : instance) {
  thread_ = std::thread([this] { Run(); });
}

EventRecorder::~EventRecorder() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    write_until_ = time_.Now() + kLastWrites;
    changed_.NotifyAll();
  }
  thread_.join();
}

void EventRecorder::Record(const Json& regarding, EventNote note) {
  Occurrence occurrence{Reference(regarding), std::move(note), time_.Now(), time_.WallNow()};
  const MutexLock lock(mutex_);
  ++counts_.recorded;
  if (queue_.size() >= kQueueMax || stopping_) {
    ++counts_.dropped;
    return;
  }
  queue_.push_back(std::move(occurrence));
  changed_.NotifyAll();
}

bool EventRecorder::Flush(Duration timeout) {
  const MutexLock lock(mutex_);
  return changed_.WaitFor(mutex_, timeout,
                          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty() && !busy_; });
}

EventRecorderCounts EventRecorder::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void EventRecorder::Run() {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    MonotonicTime now = time_.Now(), due = series_.NextDue();
    if (queue_.empty() && !stopping_ && due > now) {
      busy_ = false;
      changed_.NotifyAll();
      changed_.WaitFor(mutex_, std::min<Duration>(due == kNever ? kSeriesWindow : due - now, kSeriesWindow));
      continue;
    }
    if (stopping_ && (queue_.empty() || now >= write_until_)) break;
    busy_ = true;
    std::vector<EventSeries::Call> calls = series_.TakeDue(now);
    if (!queue_.empty()) {
      Occurrence next = std::move(queue_.front());
      queue_.pop_front();
      if (auto call = series_.OnOccurrence(next.regarding, next.note, next.at, next.wall_at))
        calls.push_back(*std::move(call));
    }
    lock.Release();
    for (const EventSeries::Call& call : calls) Write(call);
    lock.Acquire();
  }
  counts_.dropped += queue_.size();
  queue_.clear();
  const MonotonicTime write_until = write_until_;  // does not change any more
  lock.Release();
  if (time_.Now() < write_until) {
    for (const EventSeries::Call& call : series_.TakeAll()) {
      if (time_.Now() < write_until) Write(call);
    }
  }
  lock.Acquire();
  busy_ = false;
  changed_.NotifyAll();
}

void EventRecorder::Write(const EventSeries::Call& call) {
  CallOptions options{.timeout = kCallTimeout};
  {
    const MutexLock lock(mutex_);
    if (stopping_) options.timeout = std::clamp<Duration>(write_until_ - time_.Now(), Duration::zero(), kCallTimeout);
  }
  Status status = call.create ? api_.Create(kEvents, call.body, options).status()
                              : api_.Patch(kEvents, call.key, PatchType::kMerge, call.body, "", options).status();
  const MutexLock lock(mutex_);
  if (status.ok()) {
    ++counts_.written;
  } else {
    ++counts_.failed;
    series_.OnLost(call.key);
    log::Debug("event not written", {{"event", call.key.ToString()}, {"reason", status}});
  }
}

}  // namespace attune::kube
