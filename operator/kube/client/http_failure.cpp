#include "operator/kube/client/http_failure.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>

namespace attune::kube {
namespace {

// asio's "misc" and "netdb" categories share small numbers with errno.
constexpr int kEndOfFile = 2;     // plain connections; an unknown host name too
constexpr int kTruncatedTls = 1;  // end of stream without TLS's goodbye
constexpr int kOpenSslCodeMin = 1 << 23;

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Status AtServer(StatusCode code, std::string_view server, std::string_view what, std::string_view next) {
  return Error(code, "API server " + std::string(server) + ": " + std::string(what) + "; " + std::string(next));
}

Status TlsStatus(const HttpFailure& failure, std::string_view server) {
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);                                // once per process
  const char* reason = ERR_reason_error_string(static_cast<unsigned long>(failure.code));  // NOLINT: OpenSSL's type
  return AtServer(StatusCode::kFailedPrecondition, server,
                  std::string("TLS handshake failed: ") + (reason != nullptr ? reason : failure.what),
                  "check the certificate authority, the client certificate and the server's host name");
}

Status ConnectStatus(const HttpFailure& failure, std::string_view server) {
  if (Contains(failure.what, "resolving") || failure.code == kEndOfFile) {
    return AtServer(StatusCode::kUnavailable, server, "its host name cannot be resolved, or it closed the connection",
                    "check the address and DNS");
  }
  return AtServer(StatusCode::kUnavailable, server, "no connection (" + failure.what + ")",
                  "check that it runs and is reachable");
}

}  // namespace

Status ToStatus(const HttpFailure& failure, std::string_view server) {
  if (failure.code >= kOpenSslCodeMin) return TlsStatus(failure, server);
  if (Contains(failure.what, "proxy")) {
    return AtServer(StatusCode::kUnavailable, server, "its proxy does not lead there (" + failure.what + ")",
                    "check proxy-url of the kubeconfig, else HTTPS_PROXY and NO_PROXY");
  }
  switch (failure.code) {
    case ECANCELED:
      return Error(StatusCode::kCancelled,
                   "API server " + std::string(server) + ": the call was cancelled by its caller");
    case ETIMEDOUT:
      // Nothing was sent when the connection or the TLS handshake stood still; later the outcome is open.
      if (Contains(failure.what, "canceled by user") || Contains(failure.what, "SSL handshake")) {
        return AtServer(StatusCode::kUnavailable, server, "no answer to a new connection",
                        "check the network path to it");
      }
      return AtServer(StatusCode::kDeadlineExceeded, server, "silent in the middle of a call (" + failure.what + ")",
                      "the outcome is open; read the object before repeating a change");
    case 0:
      return AtServer(StatusCode::kUnavailable, server, "the answer is not valid HTTP",
                      "check that the address is that of a Kubernetes API server");
    default:
      break;
  }
  if (failure.headers_seen) {
    return AtServer(StatusCode::kUnavailable, server, "connection lost within the answer (" + failure.what + ")",
                    "try again");
  }
  if (failure.code == kTruncatedTls || failure.code == ECONNRESET || failure.code == EPIPE) {
    return AtServer(StatusCode::kUnavailable, server, "connection lost before the answer (" + failure.what + ")",
                    "try again");
  }
  return ConnectStatus(failure, server);
}

bool IsWorthRepeating(const HttpFailure& failure, bool may_repeat) {
  if (failure.headers_seen) return false;
  if (failure.code == EPIPE) return true;
  if (!may_repeat) return false;
  bool reading_status = Contains(failure.what, "status line");
  return failure.code == ECONNRESET ||
         ((failure.code == kTruncatedTls || failure.code == kEndOfFile) && reading_status);
}

}  // namespace attune::kube
