#include "base/net/http_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <vector>

namespace attune::http_endpoint_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class HttpEndpointTest : public testing::Test {
 protected:
  void SetUp() override { Start({.host = "127.0.0.1"}); }
  void Start(const HttpEndpointOptions& options) {
    auto started = HttpEndpoint::Start(
        options, {{"/readyz", [this] { return HttpPage{.code = ready_ ? 200 : 503, .body = "page\n"}; }}});
    ASSERT_TRUE(started.ok()) << started.status();
    endpoint_ = *std::move(started);
  }

  // A connection with a bound on every wait, which only a failing test reaches.
  int Connect() {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval limit{10, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return client;
  }

  std::string Ask(const std::string& request) {
    const int client = Connect();
    send(client, request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer;
    char buffer[1024];
    for (ssize_t got = 0; (got = recv(client, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<size_t>(got));
    close(client);
    return answer;
  }

  bool ready_ = true;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpEndpointTest, AnswersPagesAndTheirCodes) {
  const std::string answer = Ask("GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\npage\n"));
  ready_ = false;
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpEndpointTest, AHandlerIsToldWhatWasAskedAndMayAddHeaders) {
  auto started = HttpEndpoint::StartWithHandler({.host = "127.0.0.1"}, [](const HttpRequest& request) {
    return HttpPage{.body = request.path + "|" + request.query + "|" + request.host + "|" + request.authorization +
                            "|" + request.cookie,
                    .headers = {{"X-Made-By", "handler"}}};
  });
  ASSERT_TRUE(started.ok()) << started.status();
  endpoint_ = *std::move(started);
  const std::string answer =
      Ask("GET /a/b?c=d?e HTTP/1.1\r\nHost: h:1\r\nauthorization: Bearer t\r\nCookie: x=y\r\n\r\n");
  EXPECT_THAT(answer, EndsWith("\r\n\r\n/a/b|c=d?e|h:1|Bearer t|x=y"));
  EXPECT_THAT(answer, HasSubstr("X-Made-By: handler\r\n"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n/||||"));
  EXPECT_THAT(Ask("HEAD / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpEndpointTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Ask("GET /secret HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(Ask("GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\n"), "") << "a head above the bound is not answered";
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 ")) << "and does no harm";
}

TEST_F(HttpEndpointTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  const auto second = HttpEndpoint::Start({.host = "127.0.0.1", .port = endpoint_->port()}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(ToString(second.status()), HasSubstr(std::to_string(endpoint_->port())));
  EXPECT_FALSE(HttpEndpoint::Start({.host = "localhost"}, {}).ok()) << "addresses only";
}

TEST_F(HttpEndpointTest, AHundredSlowClientsDoNotDisturbAProbe) {
  std::vector<int> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(Connect());
    send(slow.back(), "GET /rea", 8, MSG_NOSIGNAL);
  }
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2)) << "no slow client was waited for";
  for (const int client : slow) close(client);
}

TEST_F(HttpEndpointTest, AByteNowAndThenBuysNoMoreTime) {
  endpoint_.reset();
  Start({.host = "127.0.0.1", .request_timeout = std::chrono::milliseconds(100)});
  const int client = Connect();
  ssize_t sent = 1;
  // Ends when the endpoint has closed: a limit per byte would last until the head's bound.
  int bytes = 0;
  for (; bytes < 100 && sent > 0; ++bytes) {
    sent = send(client, "x", 1, MSG_NOSIGNAL);
    pollfd wait{client, POLLIN, 0};
    if (poll(&wait, 1, 20) > 0) break;
  }
  char byte = 0;
  EXPECT_LE(recv(client, &byte, 1, 0), 0) << "closed without an answer";
  EXPECT_LT(bytes, 100);
  close(client);
}

TEST_F(HttpEndpointTest, MoreClientsThanItHoldsPushEachOtherOutAndNotAProbe) {
  endpoint_.reset();
  Start({.host = "127.0.0.1", .connections_max = 8});
  std::vector<int> slow;
  for (int i = 0; i < 50; ++i) slow.push_back(Connect());
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  char byte = 0;
  EXPECT_LE(recv(slow.front(), &byte, 1, 0), 0) << "the oldest was closed";
  for (const int client : slow) close(client);
}

TEST_F(HttpEndpointTest, ItsEndClosesClientsThatWait) {
  const int client = Connect();
  send(client, "GET", 3, MSG_NOSIGNAL);
  Ask("GET /readyz HTTP/1.1\r\n\r\n");
  endpoint_.reset();
  char byte = 0;
  EXPECT_LE(recv(client, &byte, 1, 0), 0);
  close(client);
}

}  // namespace
}  // namespace attune::http_endpoint_test
