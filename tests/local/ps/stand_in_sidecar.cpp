#include "tests/local/ps/stand_in_sidecar.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "attune/v1/telemetry.pb.h"

namespace attune {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

bool AwaitInput(int descriptor, Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd polled{descriptor, POLLIN, 0};
  return left.count() > 0 && ::poll(&polled, 1, static_cast<int>(left.count())) == 1;
}

}  // namespace

StandInSidecar::StandInSidecar() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 1) != 0) {
    throw std::runtime_error("cannot listen at " + path());
  }
}

StandInSidecar::~StandInSidecar() {
  if (process_ >= 0) ::close(process_);
  ::close(listener_);
}

bool StandInSidecar::Read(char* to, size_t size, Deadline deadline) const {
  while (size > 0) {
    if (!AwaitInput(process_, deadline)) return false;
    const ssize_t n = ::read(process_, to, size);
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

std::optional<v1::DirectiveResult> StandInSidecar::Ask(const v1::Directive& directive, std::chrono::seconds timeout) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  if (process_ < 0) {
    if (!AwaitInput(listener_, deadline)) return std::nullopt;
    process_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (process_ < 0) return std::nullopt;
  }
  v1::ProcessDirective down;
  *down.mutable_directive() = directive;
  const std::string body = down.SerializeAsString();
  const auto length = static_cast<uint32_t>(body.size());  // little-endian, as this machine is
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  frame += body;
  if (::write(process_, frame.data(), frame.size()) != static_cast<ssize_t>(frame.size())) return std::nullopt;
  for (;;) {
    uint32_t size = 0;
    constexpr uint32_t kMost = 1 << 20;
    if (!Read(reinterpret_cast<char*>(&size), sizeof size, deadline) || size > kMost) return std::nullopt;
    std::string text(size, '\0');
    v1::ProcessMessage message;
    if (!Read(text.data(), size, deadline) || !message.ParseFromString(text)) return std::nullopt;
    if (message.has_directive_result() && message.directive_result().id() == directive.id()) {
      return message.directive_result();
    }
  }
}

}  // namespace attune
