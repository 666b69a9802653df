#include "ps/transport/loop/file_watches.h"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "base/check.h"

namespace attune::ps {
namespace {

constexpr uint64_t kBellId = 0;

}  // namespace

class FileWatches::LoopWatch final : public EventLoop::Watch {
 public:
  LoopWatch(FileWatches& files, int fd, EventLoop::Ready ready) : files_(files), fd_(fd), id_(++files.last_watch_) {
    files_.watches_.emplace(id_, std::make_shared<EventLoop::Ready>(std::move(ready)));
  }
  ~LoopWatch() override {
    Want(false, false);
    files_.watches_.erase(id_);
  }
  void Want(bool readable, bool writable) override {
    const uint32_t events = (readable ? EPOLLIN | EPOLLRDHUP : 0U) | (writable ? EPOLLOUT : 0U);
    if (events == events_) return;
    epoll_event event{.events = events, .data = {.u64 = id_}};
    const int operation = events_ == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    ATTUNE_CHECK(::epoll_ctl(files_.epoll_.get(), operation, fd_, &event) == 0) << "epoll_ctl of descriptor " << fd_;
    events_ = events;
  }

 private:
  FileWatches& files_;
  const int fd_;
  const uint64_t id_;
  uint32_t events_ = 0;
};

FileWatches::FileWatches(Bell& bell) : bell_(bell), epoll_(::epoll_create1(EPOLL_CLOEXEC)), last_watch_(kBellId) {
  ATTUNE_CHECK(epoll_.valid()) << "no file descriptors left for an event loop; raise the limit (ulimit -n)";
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kBellId}};
  ATTUNE_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, bell_.fd(), &event) == 0) << "epoll_ctl";
}

std::unique_ptr<EventLoop::Watch> FileWatches::New(int fd, EventLoop::Ready ready) {
  return std::make_unique<LoopWatch>(*this, fd, std::move(ready));
}

bool FileWatches::Handle(int timeout_ms, const std::atomic<bool>& stopping) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  bool any = false;
  for (int i = 0; i < count && !stopping; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.u64 == kBellId) {
      bell_.Clear();
      continue;
    }
    const auto it = watches_.find(event.data.u64);
    if (it == watches_.end()) continue;  // a handler before this one has ended it
    any = true;
    const std::shared_ptr<EventLoop::Ready> ready = it->second;
    const bool ended = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    (*ready)(ended || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0, ended || (event.events & EPOLLOUT) != 0);
  }
  return any;
}

}  // namespace attune::ps
