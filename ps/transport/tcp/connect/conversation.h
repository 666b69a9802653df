// Fixed messages over a connection that is being made, one step after the other, with a deadline for the whole. On the
// loop only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/stream.h"

namespace attune::ps {

// Asks what names stand for, which blocks, on a thread of its own.
class NameResolver {
 public:
  struct Answer;
  // Waits for the pending question.
  ~NameResolver();
  // `answer` is filled and its bell rung.
  void Ask(std::shared_ptr<Answer> answer);

 private:
  void Run();
  Mutex mutex_;
  CondVar asked_;
  std::deque<std::shared_ptr<Answer>> questions_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  using Then = std::function<void()>;
  using Failed = std::function<void(const Status& status)>;

  // `failed` is called once, never after Take or Cancel. What `then` and `failed` hold is released at the end.
  static std::shared_ptr<Conversation> Start(EventLoop& loop, Duration timeout, Failed failed);
  ~Conversation();

  // Each is the next step; `then` begins the one after. Memory must live until then.
  void Connect(const std::string& host, const std::string& port, NameResolver& names, Then then);
  void Use(std::unique_ptr<Stream> stream);
  // The first bytes, without taking them: as much of `size` as must come.
  void Peek(FileDescriptor fd, void* to, size_t size, std::function<void(FileDescriptor fd)> then);
  void ShakeHands(Then then);
  void Read(void* to, size_t size, const Then& then);
  void Write(const void* from, size_t size, const Then& then);

  // Something else continues meanwhile; a peer that closes is noticed at the next step.
  void Rest();
  void Fail(const Status& status);
  // The connection, for its owner to be; ends the conversation.
  std::unique_ptr<Stream> Take();
  FileDescriptor TakeDescriptor() { return std::move(connecting_); }
  void Cancel();
  bool ended() const { return ended_; }
  const std::string& peer_address() const { return peer_address_; }
  void set_peer_address(std::string address) { peer_address_ = std::move(address); }

 private:
  Conversation(EventLoop& loop, Failed failed) : loop_(loop), failed_(std::move(failed)) {}
  void ConnectNext(const std::shared_ptr<NameResolver::Answer>& endpoints, const Then& then,
                   const std::string& last_error);
  void Watch(int fd, bool readable, bool writable, std::function<void()> ready);
  void ReadMore(std::byte* to, size_t left, const Then& then);
  void WriteMore(const std::byte* from, size_t left, const Then& then);
  void End();

  EventLoop& loop_;
  Failed failed_;
  bool ended_ = false;
  std::unique_ptr<EventLoop::Timer> timer_;
  FileDescriptor connecting_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<EventLoop::Watch> watch_;
  std::string peer_address_;
};

}  // namespace attune::ps
