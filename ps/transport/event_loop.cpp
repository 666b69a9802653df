#include "ps/transport/event_loop.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace attune::ps {
namespace {

namespace asio = boost::asio;

class AsioTimer final : public EventLoop::Timer {
 public:
  AsioTimer(asio::io_context& context, const TimeSource& time) : timer_(context), time_(time) {}

  void SetAt(MonotonicTime when, std::function<void()> fire) override {
    // An hour at most: a later time fires early, and whoever set it finds nothing due and sets it again.
    const Duration wait = std::clamp<Duration>(when - time_.Now(), Duration::zero(), std::chrono::hours(1));
    timer_.expires_after(wait);
    timer_.async_wait([fire = std::move(fire)](const boost::system::error_code& error) {
      if (!error) fire();
    });
  }
  void Cancel() override { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
  const TimeSource& time_;
};

class AsioLoop final : public EventLoop {
 public:
  AsioLoop(const std::string& thread_name, const TimeSource& time)
      : time_(time),
        guard_(asio::make_work_guard(context_)),
        thread_([this] { context_.run(); }),
        thread_id_(thread_.get_id()) {
    ::pthread_setname_np(thread_.native_handle(), thread_name.substr(0, 15).c_str());
  }
  ~AsioLoop() override { Stop(); }

  void Post(std::function<void()> task) override { asio::post(context_, std::move(task)); }
  bool InLoop() const override { return std::this_thread::get_id() == thread_id_; }
  void Stop() override {
    context_.stop();
    if (InLoop() || !thread_.joinable()) return;
    thread_.join();
    stopped_ = true;
  }
  bool stopped() const override { return stopped_; }
  std::unique_ptr<Timer> NewTimer() override { return std::make_unique<AsioTimer>(context_, time_); }
  const TimeSource& time() const override { return time_; }
  void* native() override { return &context_; }

 private:
  const TimeSource& time_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
  const std::thread::id thread_id_;  // kept, because joining empties the thread's own
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Start(const std::string& thread_name, const TimeSource& time) {
  return std::make_unique<AsioLoop>(thread_name, time);
}

}  // namespace attune::ps
