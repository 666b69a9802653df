// The sidecar's end of the Unix socket: listens, holds one connection, speaks frames of protobufs without ever
// blocking.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "sidecar/frame.h"

struct pollfd;

namespace attune::sidecar {

struct SocketEvent {
  enum class Kind { kConnected, kMessage, kGone } kind;
  int peer_pid = 0;            // kConnected: 0 when the peer's process namespace is not ours
  v1::ProcessMessage message;  // kMessage
  Status reason;               // kGone: OK when the peer closed
};

// Not thread-safe.
class ProcessSocket {
 public:
  // What waits to be written to a process that does not read; beyond it the process is let go.
  static constexpr size_t kUnsentBytesMax = 256 << 10;

  // The directory must exist. A socket file nobody listens on any more is replaced; one somebody listens on, or a file
  // that is no socket, is an error. Any user of the pod may connect: containers may run under different user ids.
  static StatusOr<std::unique_ptr<ProcessSocket>> Listen(const std::filesystem::path& path);
  ~ProcessSocket();  // removes the file
  ProcessSocket(const ProcessSocket&) = delete;
  ProcessSocket& operator=(const ProcessSocket&) = delete;

  // Adds what must be waited for.
  void AddTo(std::vector<pollfd>& waits) const;
  // Does what can be done now. A new connection replaces the old one, whose last messages come first.
  std::vector<SocketEvent> Handle();
  // No effect without a connection.
  void Send(const v1::ProcessDirective& directive);
  void CloseProcess();

 private:
  ProcessSocket(std::filesystem::path path, int listener) : path_(std::move(path)), listener_(listener) {}
  void Accept(std::vector<SocketEvent>& events);
  void Read(std::vector<SocketEvent>& events);
  void Decode(std::vector<SocketEvent>& events);
  void Write();
  void Lose(Status reason, std::vector<SocketEvent>& events);

  std::filesystem::path path_;
  int listener_;
  int process_ = -1;
  FrameDecoder decoder_;
  std::string unsent_;
  Status broken_;  // found while sending; told by the next Handle
};

}  // namespace attune::sidecar
