#include "operator/local/nodes/own_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"

namespace attune::local {
namespace {

constexpr uint16_t kAnyPort = 9;  // nothing is sent to it

}  // namespace

Status CheckOwnAddresses() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return OkStatus();  // that is said where it is needed
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kAnyPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Of a datagram socket this only looks for a way.
  const int failed =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  if (failed != ENETUNREACH) return OkStatus();
  return Error(StatusCode::kFailedPrecondition,
               "processes of this machine cannot reach each other: 127.0.0.1: " + ErrnoText(failed) +
                   "; the loopback interface is down, `ip link set lo up` brings it up");
}

}  // namespace attune::local
