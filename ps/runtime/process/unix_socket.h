// A non-blocking Unix stream socket with messages in frames of base/framing.h. One thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/framing.h"
#include "base/os/file_descriptor.h"
#include "base/status.h"

namespace attune::ps {

class UnixSocket {
 public:
  static constexpr size_t kUnsentBytesMax = 256 << 10;  // what a slow reader may keep waiting

  UnixSocket() = default;

  Status Connect(const std::string& path);
  void Close();
  bool connected() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  bool has_unsent() const { return !unsent_.empty(); }

  // Queues a message and writes what the socket takes. ResourceExhausted when too much waits already: the message is
  // dropped. Any other error closes the socket.
  Status Send(std::string_view message);
  Status WriteSome();
  // Hands every whole message that has arrived to `take`. Closes the socket on error or end of stream.
  Status ReadSome(const std::function<void(std::string_view)>& take);

 private:
  FileDescriptor fd_;
  std::string unsent_;
  FrameDecoder received_;
};

}  // namespace attune::ps
