#include "base/net/http_endpoint.h"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/net/connection_limit.h"

namespace attune {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr uint32_t kHeadBytesMax = 8 << 10;
constexpr std::chrono::milliseconds kAcceptPause{100};  // after a failed accept: descriptors may be short for a while

class Endpoint final : public HttpEndpoint {
 public:
  Endpoint(const HttpEndpointOptions& options, Handler handler)
      : options_(options), handler_(std::move(handler)), limit_(options.connections_max), acceptor_(context_) {}

  Status Listen() {
    const std::string where = options_.host + ":" + std::to_string(options_.port);
    ErrorCode error;
    const asio::ip::address address = asio::ip::make_address(options_.host, error);
    if (error) {
      return Error(StatusCode::kInvalidArgument,
                   "cannot listen on " + where + ": write an IP address, for example 0.0.0.0");
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      return Error(StatusCode::kUnavailable,
                   "cannot listen on " + where + ": " + error.message() + "; choose another port");
    }
    Accept();
    thread_ = std::thread([this] { context_.run(); });
    return OkStatus();
  }

  ~Endpoint() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  uint16_t port() const override { return port_; }

 private:
  // One client: a request, its answer, the end. Everything happens on the endpoint's thread.
  class Session : public std::enable_shared_from_this<Session> {
   public:
    Session(Endpoint& endpoint, uint64_t id, tcp::socket socket)
        : endpoint_(endpoint), id_(id), stream_(std::move(socket)) {}

    void Run() {
      stream_.expires_after(endpoint_.options_.request_timeout);  // set once: a client cannot earn more by a byte
      parser_.header_limit(kHeadBytesMax);
      parser_.body_limit(0);
      http::async_read(stream_, buffer_, parser_,
                       [self = shared_from_this()](ErrorCode error, size_t) { self->OnRequest(error); });
    }

    void Close() {
      ErrorCode ignored;
      stream_.socket().close(ignored);
    }

   private:
    void OnRequest(const ErrorCode& error) {
      const bool malformed = error && error.category() == http::make_error_code(http::error::bad_method).category() &&
                             error != http::error::end_of_stream && error != http::error::partial_message &&
                             error != http::error::header_limit;
      if (error && !malformed) return Leave();
      const HttpPage page = malformed ? HttpPage{.code = 400, .body = "not a request this port answers\n"}
                                      : endpoint_.Answer(parser_.get());
      response_.result(static_cast<unsigned>(page.code));
      response_.set(http::field::content_type, page.content_type);
      for (const auto& [name, value] : page.headers) response_.set(name, value);
      response_.keep_alive(false);
      response_.body() = page.body;
      response_.prepare_payload();
      http::async_write(stream_, response_, [self = shared_from_this()](ErrorCode, size_t) { self->Leave(); });
    }

    void Leave() {
      ErrorCode ignored;
      stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
      endpoint_.Left(id_);
    }

    Endpoint& endpoint_;
    const uint64_t id_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_{kHeadBytesMax};
    http::request_parser<http::string_body> parser_;
    http::response<http::string_body> response_;
  };

  void Accept() {
    acceptor_.async_accept([this](const ErrorCode& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        pause_.expires_after(kAcceptPause);
        return pause_.async_wait([this](const ErrorCode& stopped) {
          if (!stopped) Accept();
        });
      }
      Admit(std::move(socket));
      Accept();
    });
  }

  void Admit(tcp::socket socket) {
    ErrorCode gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (gone) return;
    const uint64_t id = ++last_id_;
    if (const std::optional<uint64_t> victim = limit_.Enter(id, peer.address().to_string())) {
      if (const auto found = sessions_.find(*victim); found != sessions_.end()) {
        if (const auto session = found->second.lock()) session->Close();
        sessions_.erase(found);
      }
    }
    const auto session = std::make_shared<Session>(*this, id, std::move(socket));
    sessions_[id] = session;
    session->Run();
  }

  void Left(uint64_t id) {
    limit_.Leave(id);
    sessions_.erase(id);
  }

  HttpPage Answer(const http::request<http::string_body>& request) const {
    if (request.method() != http::verb::get) return {.code = 405, .body = "only GET\n"};
    const std::string target(request.target().data(), request.target().size());
    const size_t mark = target.find('?');
    const auto header = [&](http::field name) { return std::string(request[name].data(), request[name].size()); };
    return handler_({.path = target.substr(0, mark),
                     .query = mark == std::string::npos ? "" : target.substr(mark + 1),
                     .host = header(http::field::host),
                     .authorization = header(http::field::authorization),
                     .cookie = header(http::field::cookie)});
  }

  const HttpEndpointOptions options_;
  const Handler handler_;
  uint16_t port_ = 0;
  // By the thread only, once it runs.
  uint64_t last_id_ = 0;
  ConnectionLimit limit_;
  std::unordered_map<uint64_t, std::weak_ptr<Session>> sessions_;

  asio::io_context context_{1};  // after what its handlers refer to: it destroys those that are left
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::StartWithHandler(const HttpEndpointOptions& options,
                                                                       Handler handler) {
  auto endpoint = std::make_unique<Endpoint>(options, std::move(handler));
  RETURN_IF_ERROR(endpoint->Listen());
  return endpoint;
}

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const HttpEndpointOptions& options, Pages pages) {
  return StartWithHandler(options, [pages = std::move(pages)](const HttpRequest& request) {
    const auto page = pages.find(request.path);
    return page == pages.end() ? HttpPage{.code = 404, .body = "no such page\n"} : page->second();
  });
}

}  // namespace attune
