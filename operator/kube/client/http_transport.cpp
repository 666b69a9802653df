#include "operator/kube/client/http_transport.h"

// cpprestsdk defines macros U and others that collide with Eigen and fmt.
#define _TURN_OFF_PLATFORM_STRING  // NOLINT: the library's name
#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include <boost/asio/ssl.hpp>
#include <charconv>
#include <mutex>

#include "base/log.h"
#include "base/mutex.h"
#include "operator/kube/client/call_gate.h"
#include "operator/kube/client/http_failure.h"

namespace attune::kube {
namespace {

namespace http = web::http;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kHttpThreads = 4;                            // shared by all transports of the process
constexpr int kCallsInFlightMax = 8;                          // per transport; each is a connection at worst
constexpr int kRepeatsMax = 10;                               // more than the dead connections a pool can hold
constexpr auto kUnaryIdleTimeout = std::chrono::seconds(30);  // behind the deadline of each call
constexpr auto kShutdownTimeout = std::chrono::seconds(2);    // for calls given up at their deadline
constexpr uint64_t kEarlyBytesMax = 8 << 20;                  // of a stream's body, seen before its head

// cpprestsdk writes body bytes into this as they arrive; what it must never do is throw.
class Sink final : public Concurrency::streams::details::streambuf_state_manager<uint8_t> {
 public:
  using OnBytes = std::function<bool(std::string_view)>;
  explicit Sink(OnBytes on_bytes)
      : streambuf_state_manager<uint8_t>(std::ios_base::out), on_bytes_(std::move(on_bytes)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return static_cast<pos_type>(traits::eof());
  }
  bool acquire(uint8_t*& pointer, size_t& count) override {
    pointer = nullptr;
    count = 0;
    return false;
  }
  void release(uint8_t*, size_t) override {}

 private:
  pplx::task<size_t> _putn(const uint8_t* bytes, size_t count) override {
    bool go_on = false;
    try {
      go_on = on_bytes_(std::string_view(reinterpret_cast<const char*>(bytes), count));
    } catch (...) {  // out of memory: end this transfer, not the process
    }
    if (go_on) return pplx::task_from_result<size_t>(count);
    return pplx::task_from_exception<size_t>(std::runtime_error("abandoned by the receiver"));
  }
  pplx::task<int_type> _putc(uint8_t byte) override {
    return _putn(&byte, 1).then([byte](size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<int_type> _bumpc() override { return EndOfFile(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return EndOfFile(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return EndOfFile(); }
  pplx::task<int_type> _ungetc() override { return EndOfFile(); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return pplx::task_from_result<size_t>(0); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}
  static pplx::task<int_type> EndOfFile() { return pplx::task_from_result<int_type>(traits::eof()); }

  OnBytes on_bytes_;
};

Concurrency::streams::ostream MakeSinkStream(Sink::OnBytes on_bytes) {
  return Concurrency::streams::ostream(
      Concurrency::streams::streambuf<uint8_t>(std::make_shared<Sink>(std::move(on_bytes))));
}

// Through a proxy cpprestsdk would ask for port 0 where the address has none.
web::uri BaseOf(const HttpTarget& target) {
  web::uri uri(target.server);
  if (target.proxy_url.empty() || uri.port() > 0) return uri;
  return web::uri_builder(uri).set_port(uri.scheme() == "https" ? 443 : 80).to_uri();
}

web::web_proxy ProxyOf(const std::string& url) {
  const web::uri uri(url);
  const int port = uri.port() > 0 ? uri.port() : 80;
  web::web_proxy proxy(web::uri_builder().set_scheme("http").set_host(uri.host()).set_port(port).to_uri());
  const std::string& user = uri.user_info();
  if (user.empty()) return proxy;
  const size_t colon = std::min(user.find(':'), user.size());
  proxy.set_credentials(web::credentials(web::uri::decode(user.substr(0, colon)),
                                         web::uri::decode(user.substr(std::min(colon + 1, user.size())))));
  return proxy;
}

http::client::http_client_config MakeConfig(const HttpTarget& target, Duration idle_timeout) {
  http::client::http_client_config config;
  config.set_max_redirects(0);  // a redirect would carry the credentials to another server
  config.set_timeout(std::chrono::duration_cast<std::chrono::microseconds>(idle_timeout));
  if (target.server.starts_with("https://")) {
    // Where another name is asked for than that of the address, ConfigureTls sees to it.
    if (!target.tls_server_name.empty()) config.set_tlsext_sni_enabled(false);
    config.set_ssl_context_callback([target](boost::asio::ssl::context& context) { ConfigureTls(context, target); });
  }
  if (!target.proxy_url.empty()) config.set_proxy(ProxyOf(target.proxy_url));
  return config;
}

// cpprestsdk keeps one value per name and would join several with commas, which changes what they mean: a group called
// "a, b" instead of two. Values are written as they are, so that the next line can stand within one; this is why
// CheckTarget refuses line breaks in them.
void AddHeaders(const HttpTarget& target, http::http_headers& headers) {
  for (const auto& [name, value] : target.headers) {
    std::string& lines = headers[name];
    lines += (lines.empty() ? "" : "\r\n" + name + ": ") + value;
  }
}

http::http_request BuildRequest(const HttpRequest& request, const HttpTarget& target) {
  http::http_request built(request.method);
  built.set_request_uri(web::uri(request.path));
  built.headers().add("User-Agent", target.user_agent);
  built.headers().add("Accept", "application/json, */*");
  AddHeaders(target, built.headers());
  if (!request.bearer_token.empty()) built.headers().add("Authorization", "Bearer " + request.bearer_token);
  if (!request.content_type.empty()) built.set_body(request.body, request.content_type);
  return built;
}

HttpHead HeadOf(const http::http_response& response) {
  HttpHead head{.status = response.status_code()};
  auto find = [&](const char* name) {
    auto found = response.headers().find(name);
    return found == response.headers().end() ? std::string() : found->second;
  };
  head.content_type = find("Content-Type");
  head.redirect_location = find("Location");
  head.date = find("Date");
  std::string after = find("Retry-After");
  int seconds = 0;
  if (std::from_chars(after.data(), after.data() + after.size(), seconds).ec == std::errc() && seconds >= 0) {
    head.retry_after = std::chrono::seconds(seconds);
  }
  return head;
}

HttpFailure FailureOf(const pplx::task<http::http_response>& task, bool headers_seen, bool& failed) {
  failed = true;
  try {
    task.get();
    failed = false;
    return {};
  } catch (const http::http_exception& e) {
    return {e.error_code().value(), e.what(), headers_seen};
  } catch (const pplx::task_canceled&) {
    return {ECANCELED, "cancelled", headers_seen};
  } catch (const std::exception& e) {
    return {EPROTO, e.what(), headers_seen};
  } catch (...) {
    return {EPROTO, "unknown exception", headers_seen};
  }
}

// One unary exchange. Owned by its continuations as well as by the caller, who may leave at the deadline.
struct Exchange {
  Mutex mutex;
  CondVar changed;
  HttpResponse response ABSL_GUARDED_BY(mutex);
  bool headers_seen ABSL_GUARDED_BY(mutex) = false;
  bool too_large ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;
  bool failed ABSL_GUARDED_BY(mutex) = false;
  HttpFailure failure ABSL_GUARDED_BY(mutex);
};

// One stream in flight.
struct StreamState {
  HttpStreamHandlers handlers;
  std::string server;
  pplx::cancellation_token_source cancel;
  Mutex mutex;  // held while a handler runs: orders head before bytes before end
  CondVar changed;
  std::string early ABSL_GUARDED_BY(mutex);  // body bytes that overtook the head
  bool head_seen ABSL_GUARDED_BY(mutex) = false;
  bool abandoned ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;

  bool OnBytes(std::string_view bytes) {
    const MutexLock lock(mutex);
    if (abandoned) return false;
    if (!head_seen) {
      if (early.size() + bytes.size() > kEarlyBytesMax) return false;
      early.append(bytes);
      return true;
    }
    if (!handlers.on_bytes(bytes)) abandoned = true;
    return !abandoned;
  }
  bool SawHead() {
    const MutexLock lock(mutex);
    return head_seen;
  }
  void OnHead(const HttpHead& head) {
    const MutexLock lock(mutex);
    head_seen = true;
    handlers.on_head(head);
    if (!early.empty() && !handlers.on_bytes(early)) abandoned = true;
    early = {};
  }
  void OnEnd(const Status& status) {
    const MutexLock lock(mutex);
    handlers.on_end(abandoned
                        ? Error(StatusCode::kCancelled, "API server " + server + ": stream abandoned by its receiver")
                        : status);
    ended = true;
    changed.NotifyAll();
  }
};

class CpprestStream final : public HttpStream {
 public:
  explicit CpprestStream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
  ~CpprestStream() override {
    state_->cancel.cancel();
    const MutexLock lock(state_->mutex);
    while (!state_->ended) state_->changed.Wait(state_->mutex);
  }

 private:
  std::shared_ptr<StreamState> state_;
};

class CpprestTransport final : public HttpTransport {
 public:
  explicit CpprestTransport(const HttpTarget& target)
      : target_(target),
        gate_(std::make_shared<CallGate>(kCallsInFlightMax)),
        unary_(BaseOf(target), MakeConfig(target, kUnaryIdleTimeout)) {}

  ~CpprestTransport() override {
    if (!gate_->WaitEmpty(kShutdownTimeout)) {
      log::Warn("HTTP calls still in flight at shutdown", {{"server", target_.server}});
    }
  }

  StatusOr<HttpResponse> Send(const HttpRequest& request, Duration timeout, uint64_t body_bytes_max) override {
    auto deadline = SteadyClock::now() + timeout;
    for (int attempt = 0;; ++attempt) {
      std::shared_ptr<Exchange> exchange;
      try {
        exchange = Exchanged(request, deadline, body_bytes_max);
      } catch (const std::exception& e) {
        return Error(StatusCode::kInvalidArgument,
                     request.method + " " + request.path + ": request cannot be built: " + e.what());
      }
      if (exchange == nullptr) {
        return Error(StatusCode::kDeadlineExceeded, "API server " + target_.server + ": " + request.method + " " +
                                                        request.path +
                                                        " had no answer within its deadline; the outcome is open");
      }
      const MutexLock lock(exchange->mutex);
      if (exchange->too_large) {
        return Error(StatusCode::kResourceExhausted, "API server " + target_.server + ": answer to " + request.path +
                                                         " is larger than " + std::to_string(body_bytes_max) +
                                                         " bytes");
      }
      if (!exchange->failed) return std::move(exchange->response);
      if (attempt < kRepeatsMax && IsWorthRepeating(exchange->failure, request.may_repeat)) continue;
      return ToStatus(exchange->failure, target_.server);
    }
  }

  StatusOr<std::unique_ptr<HttpStream>> Stream(const HttpRequest& request, Duration idle_timeout,
                                               HttpStreamHandlers handlers) override {
    auto state = std::make_shared<StreamState>();
    state->handlers = std::move(handlers);
    state->server = target_.server;
    try {
      // A client of its own per stream: the idle timeout is a property of the client, and streams do not share
      // connections.
      http::client::http_client client(BaseOf(target_), MakeConfig(target_, idle_timeout));
      http::http_request built = BuildRequest(request, target_);
      built.set_response_stream(MakeSinkStream([state](std::string_view bytes) { return state->OnBytes(bytes); }));
      client.request(built, state->cancel.get_token())
          .then([state](http::http_response response) {  // NOLINT: a handle, as pplx passes it
            state->OnHead(HeadOf(response));
            return response.content_ready();
          })
          .then([state](const pplx::task<http::http_response>& task) {
            bool failed = false;
            HttpFailure failure = FailureOf(task, state->SawHead(), failed);
            state->OnEnd(failed ? ToStatus(failure, state->server) : OkStatus());
          });
    } catch (const std::exception& e) {
      return Error(StatusCode::kInvalidArgument,
                   request.method + " " + request.path + ": stream cannot be started: " + e.what());
    }
    return std::make_unique<CpprestStream>(state);
  }

 private:
  // Runs one exchange; null when the deadline passed first.
  std::shared_ptr<Exchange> Exchanged(const HttpRequest& request, SteadyClock::time_point deadline,
                                      uint64_t body_bytes_max) {
    auto exchange = std::make_shared<Exchange>();
    http::http_request built = BuildRequest(request, target_);
    built.set_response_stream(MakeSinkStream([exchange, body_bytes_max](std::string_view bytes) {
      const MutexLock lock(exchange->mutex);
      std::string& body = exchange->response.body;
      exchange->too_large = body.size() + bytes.size() > body_bytes_max;
      if (!exchange->too_large) body.append(bytes);
      return !exchange->too_large;
    }));
    if (!gate_->Enter(deadline)) return nullptr;
    pplx::cancellation_token_source cancel;
    unary_.request(built, cancel.get_token())
        .then([exchange](http::http_response response) {  // NOLINT: a handle, as pplx passes it
          {
            const MutexLock lock(exchange->mutex);
            exchange->response.head = HeadOf(response);
            exchange->headers_seen = true;
          }
          return response.content_ready();
        })
        .then([exchange, gate = gate_](const pplx::task<http::http_response>& task) {
          gate->Leave();
          const MutexLock lock(exchange->mutex);
          exchange->failure = FailureOf(task, exchange->headers_seen, exchange->failed);
          exchange->ended = true;
          exchange->changed.NotifyAll();
        });
    const auto ended = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(exchange->mutex) { return exchange->ended; };
    {
      const MutexLock lock(exchange->mutex);
      if (exchange->changed.WaitUntil(exchange->mutex, deadline, ended)) return exchange;
    }
    cancel.cancel();
    return nullptr;
  }

  const HttpTarget target_;
  const std::shared_ptr<CallGate> gate_;
  http::client::http_client unary_;
};

}  // namespace

void StartHttpThreads() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      crossplat::threadpool::initialize_with_threads(kHttpThreads);
    } catch (const std::exception& e) {
      log::Warn("HTTP threads were set up by another component", {{"reason", e.what()}});
    }
  });
}

StatusOr<std::unique_ptr<HttpTransport>> HttpTransport::Make(const HttpTarget& target) {
  RETURN_IF_ERROR(CheckTarget(target));
  StartHttpThreads();
  try {
    return std::make_unique<CpprestTransport>(target);
  } catch (const std::exception& e) {
    return Error(StatusCode::kInvalidArgument, "API server " + target.server + ": address cannot be used: " + e.what());
  }
}

}  // namespace attune::kube
