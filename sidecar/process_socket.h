// The sidecar's end of the Unix socket: listens, speaks frames of protobufs without ever blocking, and holds the one
// connection of the training process.
//
// Anything in the pod may connect. A connection is a stranger until its first message is admitted: only then it takes
// the place of the connection before. What strangers send, or do not send, costs the process nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/framing.h"
#include "base/os/file_descriptor.h"
#include "base/status.h"

struct pollfd;

namespace attune::sidecar {

struct SocketEvent {
  enum class Kind { kConnected, kMessage, kGone, kRefused } kind;
  uint64_t connection = 0;     // 1, 2, ...; 0 with kRefused
  int peer_pid = 0;            // kConnected: 0 when the peer's process namespace is not ours
  v1::ProcessMessage message;  // kMessage
  Status reason;               // kGone: OK when the peer closed. kRefused: why
};

// Not thread-safe.
class ProcessSocket {
 public:
  // What waits to be written to a process that does not read; beyond it its connection is closed.
  static constexpr size_t kUnsentBytesMax = 256 << 10;
  // Strangers whose first message is not whole yet; with more, the oldest is closed.
  static constexpr size_t kStrangersMax = 8;

  // Why the sender of this first message is no process of this pod; "" when it is.
  using Admission = std::function<std::string(const v1::ProcessMessage&)>;

  // The directory must exist. A socket file that no process listens on any more is replaced; one that a process listens
  // on, or a file that is no socket, is an error. Any user of the pod may connect: containers may run under different
  // user ids.
  static StatusOr<std::unique_ptr<ProcessSocket>> Listen(const std::filesystem::path& path, Admission why_refused);
  ~ProcessSocket();  // removes the file
  ProcessSocket(const ProcessSocket&) = delete;
  ProcessSocket& operator=(const ProcessSocket&) = delete;

  // Adds what must be waited for.
  void AddTo(std::vector<pollfd>& waits) const;
  // Does what can be done now. A new process replaces the old one, whose last messages come first.
  std::vector<SocketEvent> Handle();
  // To the process of that connection; no effect when it is another one by now.
  void Send(uint64_t connection, const v1::ProcessDirective& directive);
  void Close(uint64_t connection);

 private:
  struct Peer {
    FileDescriptor fd;
    FrameDecoder decoder;
  };

  ProcessSocket(std::filesystem::path path, FileDescriptor listener, Admission why_refused)
      : path_(std::move(path)), listener_(std::move(listener)), why_refused_(std::move(why_refused)) {}
  void Accept(std::vector<SocketEvent>& events);
  void HearStrangers(std::vector<SocketEvent>& events);
  // The first whole message of a stranger, nullopt while there is none; an error when it can never come.
  static StatusOr<std::optional<v1::ProcessMessage>> FirstMessage(Peer& stranger);
  void Admit(Peer stranger, v1::ProcessMessage hello, std::vector<SocketEvent>& events);
  static void Refuse(const Peer& stranger, const std::string& reason);
  void Read(std::vector<SocketEvent>& events);
  void Decode(std::vector<SocketEvent>& events);
  void Write();
  void Lose(Status reason, std::vector<SocketEvent>& events);
  void CloseProcess();

  std::filesystem::path path_;
  FileDescriptor listener_;
  const Admission why_refused_;
  std::vector<Peer> strangers_;  // oldest first
  Peer process_;
  uint64_t connection_ = 0;  // of the process
  std::string unsent_;
  Status broken_;  // found while sending; reported by the next Handle
};

}  // namespace attune::sidecar
