// Any bytes at the pages' port: an answer or the end of the connection, and the next probe is served.
#include "base/net/http_endpoint.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/http_client.h"

namespace {

attune::HttpEndpoint& Endpoint() {
  static const auto endpoint =
      attune::HttpEndpoint::Start({.host = "127.0.0.1"},
                                  {{"/healthz", [] { return attune::HttpPage{.body = "ok\n"}; }}})
          .value();
  return *endpoint;
}

}  // namespace

namespace attune::fuzz {

std::vector<uint8_t> Example(uint64_t seed) {
  constexpr std::string_view kRequests[] = {
      "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /healthz?x=%20 HTTP/1.0\r\n\r\n",
      "POST /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nContent-Length: 99999999999\r\n\r\n"};
  const std::string_view request = kRequests[seed % std::size(kRequests)];
  return {request.begin(), request.end()};
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint16_t port = Endpoint().port();
  attune::fuzz::Exchange(port, {reinterpret_cast<const char*>(data), size});
  const std::string probe = attune::fuzz::Exchange(port, "GET /healthz HTTP/1.1\r\n\r\n");
  ATTUNE_CHECK(probe.starts_with("HTTP/1.1 200 ")) << probe;
  return 0;
}
