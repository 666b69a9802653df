// A few read-only pages over HTTP/1.1 for probes and Prometheus: GET, one request per connection, nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"

namespace attune {

struct HttpPage {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpEndpoint {
 public:
  // Pages by path ("/healthz"); called from the endpoint's thread.
  using Pages = std::map<std::string, std::function<HttpPage()>>;

  // Listens on `host`:`port` (IPv4 address; port 0: any). An occupied port is an error that names it.
  static StatusOr<std::unique_ptr<HttpEndpoint>> Start(const std::string& host, uint16_t port, Pages pages);
  virtual ~HttpEndpoint() = default;  // returns within a second or two
  virtual uint16_t port() const = 0;
};

}  // namespace attune
