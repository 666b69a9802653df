// A few read-only pages over HTTP/1.1 for probes and Prometheus: GET, one request per connection, nothing else. Clients
// are served side by side; each has a deadline for its whole request and answer, and beyond `connections_max` the
// client that has waited longest at the source with the most gives way, so slow clients never keep a probe out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"

namespace attune {

// What a page may be made from; a header that was not sent is "".
struct HttpRequest {
  std::string path;   // as it was sent, up to a '?'
  std::string query;  // after the '?'; "" without one
  std::string host, authorization, cookie;
};

struct HttpPage {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};  // more of them
};

struct HttpEndpointOptions {
  std::string host;                                    // an IP address, not a name
  uint16_t port = 0;                                   // 0: any
  Duration request_timeout = std::chrono::seconds(5);  // from accepting a client to the end of its answer
  size_t connections_max = 256;
};

class HttpEndpoint {
 public:
  // Pages by path ("/healthz"); called from the endpoint's thread, one at a time, so they should be quick.
  using Pages = std::map<std::string, std::function<HttpPage()>>;
  // Answers every GET, where a page depends on more than its path; called as pages are.
  using Handler = std::function<HttpPage(const HttpRequest&)>;

  // An occupied port or an address that is none is an error that names it.
  static StatusOr<std::unique_ptr<HttpEndpoint>> StartWithHandler(const HttpEndpointOptions& options, Handler handler);
  static StatusOr<std::unique_ptr<HttpEndpoint>> Start(const HttpEndpointOptions& options, Pages pages);
  virtual ~HttpEndpoint() = default;  // closes all connections; pages are not called afterwards
  virtual uint16_t port() const = 0;
};

}  // namespace attune
