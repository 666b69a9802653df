// A connected socket as a stream of bytes that never blocks; plain, or inside TLS (ps/transport/security/tls.h).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>

#include "base/os/file_descriptor.h"
#include "base/status.h"

namespace attune::ps {

struct IoResult {
  enum Outcome {
    kDone,   // some bytes went; there may be more room
    kAgain,  // `bytes` went, nothing more now: wait for the file to be ready
    kEnded,  // the peer has closed, or `error` says why nothing will go any more
  };
  Outcome outcome = kDone;
  size_t bytes = 0;
  Status error;
};

class Stream {
 public:
  explicit Stream(FileDescriptor fd) : fd_(std::move(fd)) {}
  virtual ~Stream() = default;

  // Reading and writing may happen on two threads; each by one at a time.
  virtual IoResult Read(std::span<iovec> parts) = 0;
  virtual IoResult Write(std::span<iovec> parts) = 0;
  // What is needed before bytes can go: done, again (wait for `wants_write` or for reading), or ended.
  virtual IoResult ShakeHands() { return {}; }
  virtual bool encrypted() const { return false; }
  // Bytes that Write took and the socket has not.
  virtual bool wants_write() { return false; }
  // Ends both directions at once, from any thread; the other side and this one's reader find out.
  void Shut();
  int fd() const { return fd_.get(); }

  static std::unique_ptr<Stream> Plain(FileDescriptor fd);

 private:
  const FileDescriptor fd_;
};

}  // namespace attune::ps
