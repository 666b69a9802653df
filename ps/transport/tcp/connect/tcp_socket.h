// TCP sockets as this transport wants them: their options, addresses as text, listening.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/status.h"
#include "ps/transport/stream.h"

namespace attune::ps {

// "host:port", "[v6]:port"; false when it is neither.
bool SplitAddress(const std::string& address, std::string& host, std::string& port);
// "1.2.3.4" or "1.2.3.4:5", "[::1]:5".
std::string TextOf(const sockaddr_storage& address, bool with_port);

// Options of every connection: no delay, large buffers, and a peer whose machine is gone is noticed within about ten
// seconds.
void Tune(int fd);
// Of these only the first: for connections of which nothing is known yet.
void NoDelay(int fd);

// A listening socket that does not block. InvalidArgument: `bind_address` is no IP address; ResourceExhausted: the port
// is in use, and named in the text.
struct ListeningSocket {
  FileDescriptor fd;
  std::string address;  // host:port really bound
};
StatusOr<ListeningSocket> ListenAt(const std::string& bind_address, uint16_t port);

}  // namespace attune::ps
