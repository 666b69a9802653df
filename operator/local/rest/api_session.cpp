#include "operator/local/rest/api_session.h"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "operator/local/rest/access_token.h"

namespace attune::local {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using kube::WatchSignal;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Request = http::request<http::string_body>;

constexpr size_t kHeaderBytesMax = 64 << 10;
constexpr std::chrono::seconds kIdleTimeout{120};  // for a request to come, and for an answer to be taken
constexpr size_t kUnprovenMax = 64;                // connections that have not shown the token yet
constexpr std::chrono::hours kFollowTimeout{24};
constexpr std::chrono::seconds kLinger{2};  // for a client to take its last answer

std::string View(beast::string_view text) { return {text.data(), text.size()}; }

RestMethod MethodOf(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return RestMethod::kGet;
    case http::verb::post:
      return RestMethod::kPost;
    case http::verb::put:
      return RestMethod::kPut;
    case http::verb::patch:
      return RestMethod::kPatch;
    case http::verb::delete_:
      return RestMethod::kDelete;
    default:
      return RestMethod::kOther;
  }
}

class Session final : public ApiSession, public std::enable_shared_from_this<Session> {
 public:
  Session(uint64_t id, tcp::socket socket, std::shared_ptr<SharedByConnections> shared)
      : id_(id), stream_(std::move(socket)), shared_(std::move(shared)) {}
  ~Session() override {
    if (proven_) --shared_->proven;
    const MutexLock lock(shared_->mutex);
    shared_->unproven.Leave(id_);
  }

  void Run() override {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->ReadRequest(); });
  }
  void Close() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->End(); });
  }

 private:
  // The head first: nothing of a body is taken from a client that does not show the token.
  void ReadRequest() {
    parser_.emplace();
    parser_->header_limit(kHeaderBytesMax);
    parser_->body_limit(shared_->options.body_bytes_max);
    stream_.expires_after(proven_ ? kIdleTimeout : shared_->options.proof_timeout);
    http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](ErrorCode error, size_t) {
      if (error && error != http::error::body_limit) return self->End();
      if (!self->CheckToken()) return;
      if (error) return self->RefuseBody();
      self->ReadBody();
    });
  }

  // True when the request may be served; otherwise it has been answered.
  bool CheckToken() {
    StatusOr<RestTarget> target = ParseTarget(View(parser_->get().target()));
    const std::string& token = shared_->options.token;
    if (!(target.ok() && TakeTokenFromPath(*target, token)) &&
        !IsBearer(View(parser_->get()[http::field::authorization]), token)) {
      Send(ErrorAnswer(Error(StatusCode::kUnauthenticated, "Unauthorized")), false);
      return false;
    }
    if (proven_) return true;
    if (++shared_->proven > shared_->options.connections_max) {
      --shared_->proven;
      Send(ErrorAnswer(Error(StatusCode::kUnavailable, "too many connections; close one and try again")), false);
      return false;
    }
    proven_ = true;
    const MutexLock lock(shared_->mutex);
    shared_->unproven.Leave(id_);
    return true;
  }

  void ReadBody() {
    stream_.expires_after(kIdleTimeout);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](ErrorCode error, size_t) {
      if (error == http::error::body_limit) return self->RefuseBody();
      if (error) return self->End();
      self->OnRequest(self->parser_->release());
    });
  }

  void RefuseBody() {
    Send(ErrorAnswer(Error(StatusCode::kInvalidArgument,
                           "Request entity too large: limit is " + std::to_string(shared_->options.body_bytes_max))),
         false);
  }

  void OnRequest(Request request) {
    const bool keep_alive = request.keep_alive();
    StatusOr<RestTarget> target = ParseTarget(View(request.target()));
    if (!target.ok()) return Send(ErrorAnswer(target.status()), keep_alive);
    TakeTokenFromPath(*target, shared_->options.token);
    RestReply reply = shared_->calls.Handle({.method = MethodOf(request.method()),
                                             .target = std::move(*target),
                                             .body = std::move(request.body()),
                                             .content_type = View(request[http::field::content_type]),
                                             .accept = View(request[http::field::accept])},
                                            WallNow());
    if (auto* watch = std::get_if<WatchRequest>(&reply)) return StartWatch(*watch, keep_alive);
    if (auto* follow = std::get_if<FollowRequest>(&reply)) return StartFollowing(*follow, keep_alive);
    Send(std::get<RestAnswer>(std::move(reply)), keep_alive);
  }

  // --- streams ---

  void StartWatch(const WatchRequest& request, bool keep_alive) {
    std::weak_ptr<Session> weak = weak_from_this();
    auto watch =
        shared_->api.StartWatch(request.kind->type, request.options, [weak, request](const WatchSignal& signal) {
          if (signal.kind == WatchSignal::Kind::kBookmark && !request.bookmarks) return;
          const std::shared_ptr<Session> self = weak.lock();
          if (self == nullptr) return;
          const bool last = signal.kind == WatchSignal::Kind::kError || signal.kind == WatchSignal::Kind::kEnded ||
                            signal.kind == WatchSignal::Kind::kBroken;
          self->PostPiece(WatchLine(*request.kind, signal, request.as_table, WallNow()), last);
        });
    if (!watch.ok()) return Send(ErrorAnswer(watch.status()), keep_alive);
    watch_ = std::move(watch).value();
    BeginStream("application/json");
  }

  // Reading follows the file and blocks, so each follower has a thread; it ends with the connection.
  void StartFollowing(const FollowRequest& request, bool keep_alive) {
    if (shared_->followers.Start([self = shared_from_this(), request] { self->Follow(request.options, request.pod); }))
      return;
    Send(ErrorAnswer(Error(StatusCode::kUnavailable, "too many logs are followed at once; close one and try again")),
         keep_alive);
  }

  void Follow(const kube::LogOptions& options, const kube::ObjectKey& pod) {
    const std::shared_ptr<SharedByConnections> shared = shared_;
    bool begun = false;
    const Status read = shared->api.ReadLog(
        pod, options,
        [&](std::string_view text) {
          if (ended_ || shared->stopping) return false;
          if (!std::exchange(begun, true))
            asio::post(stream_.get_executor(), [self = shared_from_this()] { self->BeginStream("text/plain"); });
          if (!text.empty()) PostPiece(std::string(text), false);
          return true;
        },
        {.timeout = kFollowTimeout});
    if (!read.ok() && !begun) {
      asio::post(stream_.get_executor(), [self = shared_from_this(), read] { self->Send(ErrorAnswer(read), false); });
    } else {
      if (!begun) asio::post(stream_.get_executor(), [self = shared_from_this()] { self->BeginStream("text/plain"); });
      PostPiece("", true);
    }
  }

  void BeginStream(const char* content_type) {
    if (ended_) return;
    stream_.expires_never();
    streaming_ = true;
    QueuePiece(std::string("HTTP/1.1 200 OK\r\nContent-Type: ") + content_type +
               "\r\nTransfer-Encoding: chunked\r\nCache-Control: no-cache\r\n\r\n");
    WatchForClose();
  }

  // A stream's client says nothing more; what comes is its end.
  void WatchForClose() {
    stream_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](ErrorCode error, size_t) {
      if (error) return self->End();
      self->WatchForClose();
    });
  }

  void PostPiece(std::string text, bool last) {
    asio::post(stream_.get_executor(), [self = shared_from_this(), text = std::move(text), last] {
      if (self->ended_) return;
      if (!text.empty()) {
        std::array<char, 24> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
        self->QueuePiece(size.data() + text + "\r\n");
      }
      if (!last) return;
      self->last_queued_ = true;
      self->QueuePiece("0\r\n\r\n");
    });
  }

  void QueuePiece(std::string piece) {
    backlog_bytes_ += piece.size();
    if (backlog_bytes_ > shared_->options.backlog_bytes_max) {
      log::Warn("a watch or log is closed because its reader is too slow", {{"bytes", backlog_bytes_}});
      return End();
    }
    pieces_.push_back(std::move(piece));
    if (pieces_.size() == 1) WritePiece();
  }

  void WritePiece() {
    stream_.expires_after(kIdleTimeout);
    asio::async_write(stream_, asio::buffer(pieces_.front()), [self = shared_from_this()](ErrorCode error, size_t) {
      if (error) return self->End();
      self->backlog_bytes_ -= self->pieces_.front().size();
      self->pieces_.pop_front();
      if (!self->pieces_.empty()) return self->WritePiece();
      self->stream_.expires_never();
      if (self->last_queued_) self->End();  // the connection is not used again after a stream
    });
  }

  void Send(RestAnswer answer, bool keep_alive) {
    auto response = std::make_shared<http::response<http::string_body>>(static_cast<http::status>(answer.code), 11);
    response->set(http::field::content_type, answer.content_type);
    if (answer.code == 429 || answer.code == 503) response->set(http::field::retry_after, "1");
    response->keep_alive(keep_alive);
    response->body() = std::move(answer.body);
    response->prepare_payload();
    stream_.expires_after(kIdleTimeout);
    http::async_write(stream_, *response, [self = shared_from_this(), response, keep_alive](ErrorCode error, size_t) {
      if (error || self->shared_->stopping) return self->End();
      if (!keep_alive) return self->Linger();
      self->ReadRequest();
    });
  }

  // Takes what the client still sends for a moment: closing on unread bytes would reset the connection, and with it the
  // answer that is on its way.
  void Linger() {
    ErrorCode ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    WatchForClose();
  }

  void End() {
    if (ended_.exchange(true)) return;
    ErrorCode ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    // Cancelling a watch waits for a signal in progress, which never waits for this strand.
    watch_.reset();
  }

  static WallTime WallNow() { return SystemTime().WallNow(); }  // of ages shown to people

  const uint64_t id_;
  bool proven_ = false;  // it has shown the token
  beast::tcp_stream stream_;
  const std::shared_ptr<SharedByConnections> shared_;
  beast::flat_buffer buffer_{kHeaderBytesMax + (16 << 20)};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::unique_ptr<kube::Watch> watch_;
  std::deque<std::string> pieces_;
  size_t backlog_bytes_ = 0;
  bool streaming_ = false;
  bool last_queued_ = false;
  std::atomic<bool> ended_ = false;
  std::array<char, 512> ignored_{};
};

}  // namespace

SharedByConnections::SharedByConnections(const ApiServerOptions& server_options, kube::Api& served)
    : options(server_options),
      api(served),
      calls(served, options.kinds),
      unproven(kUnprovenMax),
      followers(static_cast<size_t>(options.log_followers_max)) {}

std::shared_ptr<ApiSession> ApiSession::Open(uint64_t id, FileDescriptor socket, bool ipv6, asio::io_context& context,
                                             std::shared_ptr<SharedByConnections> shared) {
  tcp::socket taken(asio::make_strand(context));
  ErrorCode error;
  taken.assign(ipv6 ? tcp::v6() : tcp::v4(), socket.get(), error);
  if (error) return nullptr;
  (void)socket.Release();
  return std::make_shared<Session>(id, std::move(taken), std::move(shared));
}

}  // namespace attune::local
