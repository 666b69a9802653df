// HTTP to one API server. cpprestsdk is used behind this and nowhere else; nothing is thrown out of here.
//
//   Send    one request, one bounded answer, within a deadline that covers everything (waiting for a slot included)
//   Stream  an answer without end (watch, log): bytes as they come
//
// HTTP status codes, 4xx and 5xx included, are answers, not errors. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/client/http_target.h"

namespace attune::kube {

struct HttpRequest {
  std::string method;  // GET, POST, PUT, PATCH, DELETE
  std::string path;    // "/api/v1/pods?limit=5", already percent-encoded
  std::string body;
  std::string content_type;
  std::string bearer_token;  // "" = none
  bool may_repeat = false;   // a second delivery does no harm: sent again when a pooled connection turns out dead
};

struct HttpHead {
  int status = 0;
  std::string content_type;
  std::string redirect_location;
  std::optional<Duration> retry_after;
  std::string date = {};  // of the server, as it writes it: "Fri, 15 Jan 2027 08:00:00 GMT"; "": it does not say
};

struct HttpResponse {
  HttpHead head;
  std::string body;
};

// Called from the transport's threads, one call at a time and in this order: on_head once, on_bytes any number of
// times, on_end once and last. None may block or throw. on_bytes returns false to abandon the stream.
struct HttpStreamHandlers {
  std::function<void(const HttpHead&)> on_head;
  std::function<bool(std::string_view)> on_bytes;
  std::function<void(const Status&)> on_end;  // OK: the server ended it
};

// Destruction cancels the stream and returns when on_end has been called. Not to be destroyed inside a handler.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
};

class HttpTransport {
 public:
  // InvalidArgument when the address or the credentials cannot be used.
  static StatusOr<std::unique_ptr<HttpTransport>> Make(const HttpTarget& target);
  virtual ~HttpTransport() = default;

  // ResourceExhausted when the answer is larger than `body_bytes_max`.
  virtual StatusOr<HttpResponse> Send(const HttpRequest& request, Duration timeout, uint64_t body_bytes_max) = 0;
  // `idle_timeout`: the stream is broken (DeadlineExceeded) when nothing comes for this long.
  virtual StatusOr<std::unique_ptr<HttpStream>> Stream(const HttpRequest& request, Duration idle_timeout,
                                                       HttpStreamHandlers handlers) = 0;
};

// Sets up the HTTP threads of this process; called by Make, and by InitializeHttp for programs that want it early.
void StartHttpThreads();

}  // namespace attune::kube
