#include "tests/operator/kube/tunnel_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace attune::kube {
namespace {

sockaddr_in Loopback(int port) {
  return {.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

// Passes on what one side has; false at its end.
bool Pass(int from, int to) {
  char piece[16384];
  const ssize_t count = recv(from, piece, sizeof piece, 0);
  return count > 0 && send(to, piece, static_cast<size_t>(count), MSG_NOSIGNAL) == count;
}

}  // namespace

TunnelProxy::TunnelProxy(int port) : target_port_(port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place = Loopback(0);
  socklen_t size = sizeof place;
  ATTUNE_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&place), size) == 0);
  ATTUNE_CHECK(listen(listener_, 16) == 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
  port_ = ntohs(place.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TunnelProxy::~TunnelProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int open : sockets_) shutdown(open, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  for (const int open : sockets_) close(open);
  close(listener_);
}

std::vector<std::string> TunnelProxy::Requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TunnelProxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(client);
    if (stopping_) return;
    threads_.emplace_back([this, client] { Serve(client); });
  }
}

void TunnelProxy::Serve(int client) {
  std::string request;
  char byte = 0;
  while (!request.ends_with("\r\n\r\n") && recv(client, &byte, 1, 0) == 1) request += byte;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in place = Loopback(target_port_);
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    sockets_.push_back(server);
    if (stopping_) return;
  }
  if (connect(server, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) return;
  const std::string answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
  pollfd files[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  while (poll(files, 2, -1) > 0) {
    if (files[0].revents != 0 && !Pass(client, server)) break;
    if (files[1].revents != 0 && !Pass(server, client)) break;
  }
  shutdown(client, SHUT_RDWR);
  shutdown(server, SHUT_RDWR);
}

}  // namespace attune::kube
