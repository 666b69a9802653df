#include "ps/transport/tcp/connect/conversation.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/os/file.h"

namespace attune::ps {

struct NameResolver::Answer {
  ~Answer() {
    if (all != nullptr) ::freeaddrinfo(all);
  }
  std::string host, port;
  addrinfo* all = nullptr;
  addrinfo* next = nullptr;
  FileDescriptor bell;  // rung when the rest is there
  std::string error;
  std::atomic<bool> done = false;
};

NameResolver::~NameResolver() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  asked_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void NameResolver::Ask(std::shared_ptr<Answer> answer) {
  const MutexLock lock(mutex_);
  questions_.push_back(std::move(answer));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  asked_.NotifyAll();
}

void NameResolver::Run() {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    while (!ending_ && questions_.empty()) asked_.Wait(mutex_);
    if (ending_) return;
    const std::shared_ptr<Answer> answer = std::move(questions_.front());
    questions_.pop_front();
    lock.Release();
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    const int error = ::getaddrinfo(answer->host.c_str(), answer->port.c_str(), &wanted, &answer->all);
    answer->error = error == 0 ? "" : ::gai_strerror(error);
    answer->next = answer->all;
    answer->done = true;
    const uint64_t one = 1;
    (void)!::write(answer->bell.get(), &one, sizeof one);
    lock.Acquire();
  }
}

std::shared_ptr<Conversation> Conversation::Start(EventLoop& loop, Duration timeout, Failed failed) {
  std::shared_ptr<Conversation> conversation(new Conversation(loop, std::move(failed)));
  conversation->timer_ = loop.NewTimer();
  conversation->timer_->SetAt(loop.time().Now() + timeout, [weak = std::weak_ptr(conversation)] {
    if (const auto self = weak.lock()) self->Fail(Error(StatusCode::kUnavailable, "no answer in time"));
  });
  return conversation;
}

Conversation::~Conversation() { watch_.reset(); }

void Conversation::End() {
  ended_ = true;
  watch_.reset();
  timer_.reset();
}

void Conversation::Fail(const Status& status) {
  if (ended_) return;
  End();
  stream_.reset();
  connecting_.Close();
  if (const Failed failed = std::exchange(failed_, nullptr)) failed(status);
}

void Conversation::Cancel() {
  failed_ = nullptr;
  Fail(Error(StatusCode::kCancelled, "ended by this side"));
}

std::unique_ptr<Stream> Conversation::Take() {
  End();
  failed_ = nullptr;
  return std::move(stream_);
}

void Conversation::Use(std::unique_ptr<Stream> stream) {
  watch_.reset();
  stream_ = std::move(stream);
}

void Conversation::Rest() { watch_.reset(); }

void Conversation::Watch(int fd, bool readable, bool writable, std::function<void()> ready) {
  watch_.reset();
  watch_ = loop_.WatchFile(fd, [self = weak_from_this(), ready = std::move(ready)](bool, bool) {
    const auto alive = self.lock();
    if (alive == nullptr || alive->ended_) return;
    alive->watch_.reset();
    ready();
  });
  watch_->Want(readable, writable);
}

// --- connecting

void Conversation::Connect(const std::string& host, const std::string& port, NameResolver& names, Then then) {
  auto endpoints = std::make_shared<NameResolver::Answer>();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &endpoints->all) == 0) {
    endpoints->next = endpoints->all;
    return ConnectNext(endpoints, then, "");
  }
  endpoints->host = host;
  endpoints->port = port;
  endpoints->bell = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!endpoints->bell.valid()) return Fail(Error(StatusCode::kUnavailable, "no file descriptors left"));
  Watch(endpoints->bell.get(), true, false, [this, endpoints, then = std::move(then)] {
    if (endpoints->done) ConnectNext(endpoints, then, endpoints->error);
  });
  names.Ask(endpoints);
}

void Conversation::ConnectNext(const std::shared_ptr<NameResolver::Answer>& endpoints, const Then& then,
                               const std::string& last_error) {
  const addrinfo* const endpoint = endpoints->next;
  if (endpoint == nullptr) return Fail(Error(StatusCode::kUnavailable, "cannot connect: " + last_error));
  endpoints->next = endpoint->ai_next;
  connecting_ =
      FileDescriptor(::socket(endpoint->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, endpoint->ai_protocol));
  if (!connecting_.valid()) return ConnectNext(endpoints, then, ErrnoText(errno));
  const int fd = connecting_.get();
  if (::connect(fd, endpoint->ai_addr, endpoint->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return ConnectNext(endpoints, then, ErrnoText(errno));
  }
  Watch(fd, false, true, [this, fd, endpoints, then] {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return ConnectNext(endpoints, then, ErrnoText(error));
    then();
  });
}

// --- bytes

void Conversation::Peek(FileDescriptor fd, void* to, size_t size, std::function<void(FileDescriptor fd)> then) {
  connecting_ = std::move(fd);
  const int raw = connecting_.get();
  Watch(raw, true, false, [this, raw, to, size, then = std::move(then)]() mutable {
    const ssize_t n = ::recv(raw, to, size, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0) return Fail(Error(StatusCode::kUnavailable, "the peer closed the connection"));
    then(std::move(connecting_));
  });
}

void Conversation::ShakeHands(Then then) {
  if (ended_) return;
  const IoResult result = stream_->ShakeHands();
  if (result.outcome == IoResult::kEnded) return Fail(result.error);
  if (result.outcome == IoResult::kDone) return then();
  Watch(stream_->fd(), true, stream_->wants_write(), [this, then = std::move(then)]() mutable { ShakeHands(then); });
}

void Conversation::Read(void* to, size_t size, const Then& then) { ReadMore(static_cast<std::byte*>(to), size, then); }

void Conversation::ReadMore(std::byte* to, size_t left, const Then& then) {
  if (ended_) return;
  while (left > 0) {
    iovec part{to, left};
    const IoResult result = stream_->Read(std::span(&part, 1));
    to += result.bytes;
    left -= result.bytes;
    if (left == 0) break;
    if (result.outcome == IoResult::kEnded) return Fail(result.error);
    if (result.outcome == IoResult::kAgain) {
      return Watch(stream_->fd(), true, false, [this, to, left, then] { ReadMore(to, left, then); });
    }
  }
  then();
}

void Conversation::Write(const void* from, size_t size, const Then& then) {
  WriteMore(static_cast<const std::byte*>(from), size, then);
}

void Conversation::WriteMore(const std::byte* from, size_t left, const Then& then) {
  if (ended_) return;
  while (left > 0 || stream_->wants_write()) {
    iovec part{const_cast<std::byte*>(from), left};
    const IoResult result = stream_->Write(std::span(&part, left > 0 ? 1 : 0));
    from += result.bytes;
    left -= result.bytes;
    if (result.outcome == IoResult::kEnded) return Fail(result.error);
    if (result.outcome == IoResult::kAgain && (left > 0 || stream_->wants_write())) {
      return Watch(stream_->fd(), false, true, [this, from, left, then] { WriteMore(from, left, then); });
    }
  }
  then();
}

}  // namespace attune::ps
