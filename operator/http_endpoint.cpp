#include "operator/http_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file.h"

namespace attune {
namespace {

constexpr size_t kRequestBytesMax = 8 << 10;
constexpr int kPollMs = 200;          // how soon the end is noticed
constexpr int kSocketSeconds = 2;     // a client that sends or takes nothing is left after this
constexpr int kBacklog = 32;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

const char* Phrase(int code) {
  switch (code) {
    case 200: return "OK";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 503: return "Service Unavailable";
    default: return "Bad Request";
  }
}

// The head of a request; "" when it does not come in time or is too large.
std::string ReadHead(int client) {
  std::string head;
  char buffer[2048];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(client, buffer, sizeof buffer, 0);
    if (got <= 0 || head.size() + static_cast<size_t>(got) > kRequestBytesMax) return "";
    head.append(buffer, static_cast<size_t>(got));
  }
  return head;
}

void SendAll(int client, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

class Endpoint final : public HttpEndpoint {
 public:
  Endpoint(int listener, uint16_t port, Pages pages)
      : listener_(listener), port_(port), pages_(std::move(pages)), thread_([this] { Run(); }) {}
  ~Endpoint() override {
    stopping_ = true;
    thread_.join();
  }
  uint16_t port() const override { return port_; }

 private:
  void Run() {
    pollfd waiting{listener_.get(), POLLIN, 0};
    while (!stopping_) {
      if (poll(&waiting, 1, kPollMs) <= 0) continue;
      const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.get() >= 0) Serve(client.get());
    }
  }

  void Serve(int client) {
    const timeval limit{kSocketSeconds, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::string head = ReadHead(client);
    if (head.empty()) return;
    const HttpPage page = Answer(head);
    SendAll(client, "HTTP/1.1 " + std::to_string(page.code) + " " + Phrase(page.code) + "\r\nContent-Type: " + page.content_type +
                        "\r\nContent-Length: " + std::to_string(page.body.size()) + "\r\nConnection: close\r\n\r\n" + page.body);
    shutdown(client, SHUT_WR);
  }

  HttpPage Answer(const std::string& head) const {
    const size_t method_end = head.find(' ');
    const size_t path_end = method_end == std::string::npos ? method_end : head.find_first_of(" ?\r", method_end + 1);
    if (path_end == std::string::npos) return {.code = 400, .body = "not an HTTP request\n"};
    if (head.compare(0, method_end, "GET") != 0) return {.code = 405, .body = "only GET\n"};
    const auto page = pages_.find(head.substr(method_end + 1, path_end - method_end - 1));
    return page == pages_.end() ? HttpPage{.code = 404, .body = "no such page\n"} : page->second();
  }

  const Descriptor listener_;
  const uint16_t port_;
  const Pages pages_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const std::string& host, uint16_t port, Pages pages) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const std::string where = host + ":" + std::to_string(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return Error(StatusCode::kInvalidArgument, "cannot listen on " + where + ": write an IPv4 address, for example 0.0.0.0");
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, kBacklog) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    const std::string why = ErrnoText(errno);
    if (listener >= 0) close(listener);
    return Error(StatusCode::kUnavailable, "cannot listen on " + where + ": " + why + "; choose another port");
  }
  return std::make_unique<Endpoint>(listener, ntohs(address.sin_port), std::move(pages));
}

}  // namespace attune
