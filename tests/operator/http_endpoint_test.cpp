#include "operator/http_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attune {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class HttpEndpointTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpEndpoint::Start(
        "127.0.0.1", 0, {{"/readyz", [this] { return HttpPage{.code = ready_ ? 200 : 503, .body = "page\n"}; }}});
    ASSERT_TRUE(started.ok()) << started.status();
    endpoint_ = *std::move(started);
  }

  std::string Ask(const std::string& request) {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval limit{10, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
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

TEST_F(HttpEndpointTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Ask("GET /secret HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(Ask("GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\n"), "") << "a head above the bound is not answered";
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 ")) << "and does no harm";
}

TEST_F(HttpEndpointTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  const auto second = HttpEndpoint::Start("127.0.0.1", endpoint_->port(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(ToString(second.status()), HasSubstr(std::to_string(endpoint_->port())));
  EXPECT_FALSE(HttpEndpoint::Start("localhost", 0, {}).ok()) << "addresses only";
}

}  // namespace
}  // namespace attune
