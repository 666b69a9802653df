// Hands pieces of a stream from the transport's threads, which must not block, to one that may. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace attune::kube {

class PieceQueue {
 public:
  static constexpr size_t kQueuedBytesMax = 16 << 20;  // received but not yet handled, per watch or followed log

  // False when it is full or closed.
  bool Push(std::string piece) {
    const MutexLock lock(mutex_);
    if (closed_ || bytes_ + piece.size() > kQueuedBytesMax) return false;
    bytes_ += piece.size();
    pieces_.push_back(std::move(piece));
    changed_.NotifyOne();
    return true;
  }
  // No more pieces; those queued are still handed out.
  void End(Status status) {
    const MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    status_ = std::move(status);
    changed_.NotifyAll();
  }
  // Drops what is queued and wakes the reader.
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  // The next piece; nullopt at the end, when closed, or at the deadline.
  std::optional<std::string> Pop(
      std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) {
    const MutexLock lock(mutex_);
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || ended_ || !pieces_.empty(); };
    if (deadline == std::chrono::steady_clock::time_point::max()) {
      changed_.Wait(mutex_, ready);
    } else if (!changed_.WaitUntil(mutex_, deadline, ready)) {
      return std::nullopt;
    }
    if (closed_ || pieces_.empty()) return std::nullopt;
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    bytes_ -= piece.size();
    return piece;
  }
  bool closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }
  // Whether the stream has ended, and how.
  std::optional<Status> end() const {
    const MutexLock lock(mutex_);
    return ended_ ? std::optional<Status>(status_) : std::nullopt;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::kube
