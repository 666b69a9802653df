// A training process's end of the sidecar's socket, for tests. Blocking, with a deadline of five seconds.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/framing.h"

namespace attune::sidecar {

class TestProcess {
 public:
  explicit TestProcess(const std::filesystem::path& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << std::strerror(errno);
    const timeval deadline{.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
  }
  ~TestProcess() { Close(); }
  TestProcess(const TestProcess&) = delete;

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  void SendBytes(const std::string& bytes) {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void Send(const v1::ProcessMessage& message) { SendBytes(EncodeFrame(message.SerializeAsString())); }
  void Hello(const std::string& job_uid, const std::string& role, uint32_t index) {
    v1::ProcessMessage message;
    message.mutable_hello()->set_protocol_version(1);
    message.mutable_hello()->set_job_uid(job_uid);
    message.mutable_hello()->set_role(role);
    message.mutable_hello()->set_index(index);
    Send(message);
  }
  // nullopt when the sidecar closed the connection or said nothing in time.
  std::optional<v1::ProcessDirective> Receive() {
    while (true) {
      const auto payload = decoder_.Next();
      if (!payload.ok()) return std::nullopt;
      if (*payload) {
        v1::ProcessDirective directive;
        if (!directive.ParseFromString(**payload)) return std::nullopt;
        return directive;
      }
      char piece[4096];
      const ssize_t count = recv(socket_, piece, sizeof(piece), 0);
      if (count <= 0) return std::nullopt;
      decoder_.Feed({piece, static_cast<size_t>(count)});
    }
  }

 private:
  int socket_;
  FrameDecoder decoder_;
};

}  // namespace attune::sidecar
