// What a Future points to. One thread completes it, once; any number wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "attune/ps/session.h"
#include "base/status.h"
#include "ps/core/worker/worker_core.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

struct Future::State {
  // A waiter sleeps in the kernel until the phase changes; the core completes every call by its deadline.
  enum Phase : uint32_t { kPending, kInterrupted, kAbandoned, kDone };

  // Helps the loop that will complete it, where one is known.
  void Wait() const {
    if (loop == nullptr) return Sleep();
    loop->WaitFor([this] { return done(); }, [this] { Sleep(); });
  }
  void Sleep() const {
    for (uint32_t seen = phase.load(std::memory_order_acquire); seen != kDone;
         seen = phase.load(std::memory_order_acquire)) {
      phase.wait(seen, std::memory_order_acquire);
    }
  }
  // Returns false when Interrupt came before the end.
  bool WaitUnlessInterrupted() const {
    phase.wait(kPending, std::memory_order_acquire);
    return done();
  }
  void Interrupt() {
    uint32_t expected = kPending;
    if (phase.compare_exchange_strong(expected, kInterrupted)) phase.notify_all();
  }
  // No caller will look at the result; false when it is there already.
  bool Abandon() {
    uint32_t seen = phase.load(std::memory_order_acquire);
    while (seen != kDone) {
      if (phase.compare_exchange_weak(seen, kAbandoned, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  // Returns true when it had been abandoned.
  bool Complete(Status new_status, CallResult new_result) {
    status = std::move(new_status);
    result = new_result;
    const uint32_t before = phase.exchange(kDone, std::memory_order_acq_rel);
    phase.notify_all();
    return before == kAbandoned;
  }
  bool done() const { return phase.load(std::memory_order_acquire) == kDone; }

  std::atomic<uint32_t> phase = kPending;
  Status status;      // valid once done
  CallResult result;  // likewise

  std::shared_ptr<EventLoop> loop;  // null: waiting sleeps
  std::span<float> rows;            // of a pull: written to until it is completed
  CallId call;                      // set when it is submitted

  // For telemetry: where the time a program waits here is added, and that from its begin to its end; null for calls
  // that are not measured.
  std::shared_ptr<class WaitMeter> meter;
  bool is_pull = false;
  MonotonicTime begun{};
};

}  // namespace attune::ps
