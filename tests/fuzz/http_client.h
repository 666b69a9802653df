// For fuzz targets behind a port: opens a connection on loopback, sends the input, says no more, and takes what comes
// until the other side closes, which must happen in time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/check.h"

namespace attune::fuzz {

inline std::string Exchange(uint16_t port, std::string_view request) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ATTUNE_CHECK(client >= 0) << errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{30, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ATTUNE_CHECK(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) << errno;
  send(client, request.data(), request.size(), MSG_NOSIGNAL);
  shutdown(client, SHUT_WR);
  std::string answer;
  char piece[4096];
  ssize_t got = 0;
  while ((got = recv(client, piece, sizeof piece, 0)) > 0) answer.append(piece, static_cast<size_t>(got));
  ATTUNE_CHECK(got == 0 || errno == ECONNRESET) << "the server neither answered nor closed";
  close(client);
  return answer;
}

}  // namespace attune::fuzz
