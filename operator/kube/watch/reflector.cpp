#include "operator/kube/watch/reflector.h"

#include <algorithm>

#include "base/log.h"

namespace attune::kube {
namespace {

// Bounds a single OS wait, so that a far time cannot overflow the system's clock arithmetic.
constexpr Duration kLongestSignalWait = std::chrono::minutes(10);

}  // namespace

Reflector::Reflector(Api& api, ResourceType type, ReflectorOptions options, WatchCache& cache, const TimeSource& time)
    : api_(api),
      type_(std::move(type)),
      options_(std::move(options)),
      cache_(cache),
      time_(time),
      watcher_(options_.watcher, options_.seed),
      signals_(type_.plural) {
  thread_ = std::thread([this] { Run(); });
}

Reflector::~Reflector() {
  signals_.Stop();
  thread_.join();
}

void Reflector::Run() {
  Carry(watcher_.OnTime(time_.Now()));
  for (;;) {
    std::deque<WatchSignal> signals = Wait();
    if (signals_.stopping()) break;
    uint64_t current = watch_number_;
    for (WatchSignal& signal : signals) {
      Note(signal.status);
      Carry(watcher_.OnSignal(std::move(signal), time_.Now()));
      if (watch_number_ != current) break;  // what is left belongs to a watch that is over
    }
    Carry(watcher_.OnTime(time_.Now()));
  }
  watch_.reset();
}

std::deque<WatchSignal> Reflector::Wait() {
  MonotonicTime now = time_.Now(), wake_at = watcher_.wake_at();
  Duration wait = wake_at == kNever ? kLongestSignalWait
                                    : std::clamp<Duration>(wake_at - now, Duration::zero(), kLongestSignalWait);
  health_.BeginWait(watcher_.counts(), now + wait);
  std::deque<WatchSignal> signals = signals_.TakeAll(wait);
  health_.EndWait();
  return signals;
}

void Reflector::Carry(WatcherOutput output) {
  while (true) {
    for (WatchEvent& event : output.events) cache_.Take(std::move(event));
    if (output.command.kind == WatchCommand::Kind::kNone) return;
    watch_.reset();
    ++watch_number_;
    if (signals_.stopping()) return;
    signals_.Clear();
    if (output.command.kind == WatchCommand::Kind::kList) {
      auto list = api_.List(type_, {options_.name_space, options_.label_selector, options_.field_selector},
                            {.timeout = options_.list_timeout});
      Note(list.status());
      output = watcher_.OnListed(std::move(list), time_.Now());
    } else {
      const bool streams = output.command.kind == WatchCommand::Kind::kStream;
      auto watch = api_.StartWatch(type_,
                                   {options_.name_space, options_.label_selector, options_.field_selector,
                                    output.command.resource_version, output.command.server_timeout, streams},
                                   [this](WatchSignal signal) { signals_.Put(std::move(signal)); });
      if (watch.ok()) return void(watch_ = *std::move(watch));
      // An API that has no streams is listed; nothing has failed.
      if (!streams || watch.status().code() != StatusCode::kUnimplemented) Note(watch.status());
      output = watcher_.OnSignal({WatchSignal::Kind::kBroken, {}, watch.status()}, time_.Now());
    }
  }
}

void Reflector::Note(const Status& status) {
  if (health_.Note(status)) log::Warn("watching failed, will continue", {{"kind", type_.kind}, {"reason", status}});
}

}  // namespace attune::kube
