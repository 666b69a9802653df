#include "operator/local/api/api_server.h"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <deque>
#include <map>
#include <thread>

#include "absl/strings/numbers.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/net/connection_limit.h"
#include "operator/local/api/core_events.h"
#include "operator/local/api/follower_threads.h"
#include "operator/local/api/rest_request.h"

namespace attune::local {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using kube::Json;
using kube::WatchSignal;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Request = http::request<http::string_body>;

constexpr int kThreads = 3;
constexpr size_t kHeaderBytesMax = 64 << 10;
constexpr std::chrono::seconds kIdleTimeout{120};  // for a request to come, and for an answer to be taken
constexpr size_t kUnprovenMax = 64;                // connections that have not shown the token yet
constexpr std::chrono::hours kFollowTimeout{24};
constexpr std::chrono::seconds kLinger{2};        // for a client to take its last answer
constexpr std::chrono::seconds kCloseTimeout{5};  // for connections to end when the server does
constexpr int kWatchSecondsMax = 3600;
constexpr std::chrono::milliseconds kAcceptPause{100};  // after a failed accept: descriptors may be short

std::string View(beast::string_view text) { return {text.data(), text.size()}; }

// Compares in constant time: the token must not leak through how long a refusal takes.
bool SameSecret(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 0 : b[i % b.size()]));
  return difference == 0;
}

struct Shared {
  Shared(ApiServerOptions server_options, kube::Api& served)
      : options(std::move(server_options)), api(served), followers(static_cast<size_t>(options.log_followers_max)) {}
  ApiServerOptions options;
  kube::Api& api;
  std::atomic<size_t> proven = 0;  // connections that have shown the token
  Mutex mutex;
  ConnectionLimit unproven ABSL_GUARDED_BY(mutex){kUnprovenMax};
  FollowerThreads followers;
  std::atomic<bool> stopping = false;
};

// One connection. Everything runs on its strand; watches and log followers post to it from their threads.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(uint64_t id, tcp::socket socket, std::shared_ptr<Shared> shared)
      : id_(id), stream_(std::move(socket)), shared_(std::move(shared)) {}
  ~Session() {
    if (proven_) --shared_->proven;
    const MutexLock lock(shared_->mutex);
    shared_->unproven.Leave(id_);
  }

  void Run() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->ReadRequest(); });
  }
  void Close() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->End(); });
  }

 private:
  struct Answer {
    int code = 200;
    std::string content_type = "application/json";
    std::string body;
  };

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
    if (!(target.ok() && TakeTokenFromPath(*target)) && !Authorized(parser_->get())) {
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

  static Answer ErrorAnswer(const Status& status) {
    return {HttpCode(status), "application/json",
            StatusObject(status).dump(-1, ' ', false, Json::error_handler_t::replace)};
  }
  static Answer JsonAnswer(const Json& json, int code = 200) {
    return {code, "application/json", json.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }
  static Answer ObjectAnswer(const StatusOr<Json>& object, int code = 200) {
    return object.ok() ? JsonAnswer(*object, code) : ErrorAnswer(object.status());
  }

  void OnRequest(Request request) {
    const bool keep_alive = request.keep_alive();
    std::optional<Answer> answer = Handle(request);
    if (answer.has_value()) Send(std::move(*answer), keep_alive);
  }

  template <typename Head>
  bool Authorized(const Head& request) const {
    const std::string header = View(request[http::field::authorization]);
    constexpr std::string_view kBearer = "Bearer ";
    return header.starts_with(kBearer) &&
           SameSecret(std::string_view(header).substr(kBearer.size()), shared_->options.token);
  }

  // "/token/<token>/..." authorizes too: kubectl sends no bearer token without TLS, but keeps the path of its server.
  bool TakeTokenFromPath(RestTarget& target) const {
    if (target.segments.size() < 2 || target.segments[0] != "token" ||
        !SameSecret(target.segments[1], shared_->options.token))
      return false;
    target.segments.erase(target.segments.begin(), target.segments.begin() + 2);
    return true;
  }

  // Nothing when the answer is a stream that has begun.
  std::optional<Answer> Handle(const Request& request) {
    StatusOr<RestTarget> target = ParseTarget(View(request.target()));
    if (!target.ok()) return ErrorAnswer(target.status());
    TakeTokenFromPath(*target);
    if (!target->segments.empty() &&
        (target->segments[0] == "healthz" || target->segments[0] == "readyz" || target->segments[0] == "livez")) {
      return Answer{200, "text/plain", "ok"};
    }
    if (request.method() == http::verb::get) {
      if (const auto name_space = CoreEventsNamespace(*target)) return HandleCoreEvents(*target, *name_space);
      if (const std::optional<Json> document = Discovery(*target, shared_->options.kinds)) return JsonAnswer(*document);
    }
    const StatusOr<ResourcePath> path = ParseResourcePath(*target, shared_->options.kinds);
    if (!path.ok()) return ErrorAnswer(path.status());
    switch (request.method()) {
      case http::verb::get:
        return HandleGet(request, *target, *path);
      case http::verb::post:
        return HandlePost(request, *path);
      case http::verb::put:
        return HandlePut(request, *path);
      case http::verb::patch:
        return HandlePatch(request, *target, *path);
      case http::verb::delete_:
        return HandleDelete(request, *target, *path);
      default:
        return ErrorAnswer(
            Error(StatusCode::kUnimplemented, "the server does not allow this method on the requested resource"));
    }
  }

  static std::string Query(const RestTarget& target, const char* name) {
    const auto found = target.query.find(name);
    return found == target.query.end() ? "" : found->second;
  }
  static bool Flag(const RestTarget& target, const char* name) {
    const std::string value = Query(target, name);
    return value == "true" || value == "1";
  }
  static std::optional<int64_t> Number(const RestTarget& target, const char* name) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(Query(target, name), &value) || value < 0) return std::nullopt;
    return value;
  }

  Answer HandleCoreEvents(const RestTarget& target, const std::string& name_space) {
    if (Flag(target, "watch")) {
      return ErrorAnswer(Error(StatusCode::kUnimplemented, "core/v1 events are listed only; watch events.k8s.io/v1"));
    }
    const StatusOr<kube::ListResult> list = shared_->api.List(
        kube::kEvents,
        {name_space, Query(target, "labelSelector"), ToRegardingSelector(Query(target, "fieldSelector"))});
    return list.ok() ? JsonAnswer(CoreEventList(*list)) : ErrorAnswer(list.status());
  }

  std::optional<Answer> HandleGet(const Request& request, const RestTarget& target, const ResourcePath& path) {
    const KindInfo& kind = *path.kind;
    const bool as_table = WantsTable(View(request[http::field::accept]));
    if (path.key.name.empty()) {
      if (Flag(target, "watch")) return StartWatch(target, path, as_table);
      StatusOr<kube::ListResult> list = shared_->api.List(
          kind.type, {path.key.name_space, Query(target, "labelSelector"), Query(target, "fieldSelector")});
      if (!list.ok()) return ErrorAnswer(list.status());
      if (as_table) return JsonAnswer(TableObject(kind, list->items, list->resource_version, WallNow()));
      return JsonAnswer(ListObject(kind, std::move(*list)));
    }
    if (path.subresource == "log" && kind.type == kube::kPods) return HandleLog(target, path);
    if (!path.subresource.empty())
      return ObjectAnswer(shared_->api.GetSubresource(kind.type, path.key, path.subresource));
    const StatusOr<Json> object = shared_->api.Get(kind.type, path.key);
    if (object.ok() && as_table)
      return JsonAnswer(TableObject(kind, {*object}, std::string(kube::ResourceVersion(*object)), WallNow()));
    return ObjectAnswer(object);
  }

  // The object of a request, with the namespace and name of the path where it leaves them out.
  static StatusOr<Json> ObjectFor(const Request& request, const ResourcePath& path) {
    ASSIGN_OR_RETURN(Json object, ParseBody(request.body()));
    if (!object.is_object()) return Error(StatusCode::kInvalidArgument, "the body is not an object");
    Json& metadata = object["metadata"];
    if (metadata.is_null()) metadata = Json::object();
    if (!metadata.is_object()) return Error(StatusCode::kInvalidArgument, "metadata: Invalid value: must be a map");
    for (const auto& [field, value] : {std::pair{"namespace", path.key.name_space}, std::pair{"name", path.key.name}}) {
      if (value.empty()) continue;
      if (!metadata.contains(field)) metadata[field] = value;
      if (metadata[field] != value) {
        return Error(
            StatusCode::kInvalidArgument,
            std::string("the ") + field + " of the object does not match the one of the request (" + value + ")");
      }
    }
    return object;
  }

  std::optional<Answer> HandlePost(const Request& request, const ResourcePath& path) {
    if (!path.key.name.empty())
      return ErrorAnswer(
          Error(StatusCode::kUnimplemented, "the server does not allow this method on the requested resource"));
    const StatusOr<Json> object = ObjectFor(request, path);
    return object.ok() ? ObjectAnswer(shared_->api.Create(path.kind->type, *object), 201)
                       : ErrorAnswer(object.status());
  }

  std::optional<Answer> HandlePut(const Request& request, const ResourcePath& path) {
    const StatusOr<Json> object = ObjectFor(request, path);
    return object.ok() ? ObjectAnswer(shared_->api.Update(path.kind->type, *object, path.subresource))
                       : ErrorAnswer(object.status());
  }

  std::optional<Answer> HandlePatch(const Request& request, const RestTarget& target, const ResourcePath& path) {
    std::string content_type = View(request[http::field::content_type]);
    content_type = content_type.substr(0, content_type.find(';'));
    if (content_type == "application/apply-patch+yaml" || content_type == "application/apply-patch+cbor") {
      const StatusOr<Json> object = ObjectFor(request, path);
      if (!object.ok()) return ErrorAnswer(object.status());
      return ObjectAnswer(shared_->api.Apply(path.kind->type, *object,
                                             {Query(target, "fieldManager"), Flag(target, "force"), path.subresource}));
    }
    const StatusOr<Json> patch = ParseBody(request.body());
    if (!patch.ok()) return ErrorAnswer(patch.status());
    kube::PatchType type;
    if (content_type == "application/merge-patch+json") {
      type = kube::PatchType::kMerge;
    } else if (content_type == "application/json-patch+json") {
      type = kube::PatchType::kJson;
    } else if (content_type == "application/strategic-merge-patch+json") {
      type = kube::PatchType::kStrategicMerge;
    } else {
      return ErrorAnswer(
          Error(StatusCode::kInvalidArgument,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
    }
    return ObjectAnswer(shared_->api.Patch(path.kind->type, path.key, type, *patch, path.subresource));
  }

  std::optional<Answer> HandleDelete(const Request& request, const RestTarget& target, const ResourcePath& path) {
    const StatusOr<Json> body = ParseBody(request.body());
    if (!body.ok()) return ErrorAnswer(body.status());
    kube::DeleteOptions options;
    options.uid = kube::StringAt(*body, {"preconditions", "uid"});
    options.resource_version = kube::StringAt(*body, {"preconditions", "resourceVersion"});
    options.grace_period_seconds = Number(target, "gracePeriodSeconds");
    if (kube::At(*body, {"gracePeriodSeconds"}).is_number_integer())
      options.grace_period_seconds = kube::IntegerAt(*body, {"gracePeriodSeconds"});
    std::string propagation(kube::StringAt(*body, {"propagationPolicy"}));
    if (propagation.empty()) propagation = Query(target, "propagationPolicy");
    if (!propagation.empty()) options.propagation = propagation;
    if (!path.key.name.empty()) return DeleteOne(path.kind->type, path.key, options);
    StatusOr<kube::ListResult> list = shared_->api.List(
        path.kind->type, {path.key.name_space, Query(target, "labelSelector"), Query(target, "fieldSelector")});
    if (!list.ok()) return ErrorAnswer(list.status());
    for (const Json& item : list->items) {
      const Status deleted = shared_->api.Delete(path.kind->type, kube::KeyOf(item), options);
      if (!deleted.ok() && deleted.code() != StatusCode::kNotFound) return ErrorAnswer(deleted);
    }
    return JsonAnswer(ListObject(*path.kind, std::move(*list)));
  }

  Answer DeleteOne(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options) {
    if (const Status deleted = shared_->api.Delete(type, key, options); !deleted.ok()) return ErrorAnswer(deleted);
    // An object on its way out is the answer; of one that is gone there is only the word.
    if (const StatusOr<Json> left = shared_->api.Get(type, key); left.ok()) return JsonAnswer(*left);
    return JsonAnswer(StatusObject(OkStatus()));
  }

  // --- streams ---

  std::optional<Answer> StartWatch(const RestTarget& target, const ResourcePath& path, bool as_table) {
    kube::WatchOptions options;
    options.name_space = path.key.name_space;
    options.label_selector = Query(target, "labelSelector");
    options.field_selector = Query(target, "fieldSelector");
    options.resource_version = Query(target, "resourceVersion");
    if (const auto seconds = Number(target, "timeoutSeconds"); seconds.has_value() && *seconds > 0) {
      options.server_timeout = std::chrono::seconds(std::min<int64_t>(*seconds, kWatchSecondsMax));
    }
    const bool bookmarks = Flag(target, "allowWatchBookmarks");
    std::weak_ptr<Session> weak = weak_from_this();
    auto watch = shared_->api.StartWatch(
        path.kind->type, options, [weak, kind = path.kind, as_table, bookmarks](const WatchSignal& signal) {
          if (signal.kind == WatchSignal::Kind::kBookmark && !bookmarks) return;
          const std::shared_ptr<Session> self = weak.lock();
          if (self == nullptr) return;
          const bool last = signal.kind == WatchSignal::Kind::kError || signal.kind == WatchSignal::Kind::kEnded ||
                            signal.kind == WatchSignal::Kind::kBroken;
          self->PostPiece(WatchLine(*kind, signal, as_table, WallNow()), last);
        });
    if (!watch.ok()) return ErrorAnswer(watch.status());
    watch_ = std::move(watch).value();
    BeginStream("application/json");
    return std::nullopt;
  }

  std::optional<Answer> HandleLog(const RestTarget& target, const ResourcePath& path) {
    kube::LogOptions options;
    options.container = Query(target, "container");
    options.tail_lines = Number(target, "tailLines");
    options.previous = Flag(target, "previous");
    options.follow = Flag(target, "follow");
    if (const auto bytes = Number(target, "limitBytes"))
      options.bytes_max = std::min<uint64_t>(static_cast<uint64_t>(*bytes), options.bytes_max);
    if (!options.follow) {
      Answer answer{200, "text/plain", ""};
      const Status read = shared_->api.ReadLog(path.key, options, [&](std::string_view text) {
        answer.body += text;
        return true;
      });
      return read.ok() ? answer : ErrorAnswer(read);
    }
    // Reading follows the file and blocks, so each follower has a thread; it ends with the connection.
    if (!shared_->followers.Start(
            [self = shared_from_this(), options, pod = path.key] { self->Follow(options, pod); })) {
      return ErrorAnswer(
          Error(StatusCode::kUnavailable, "too many logs are followed at once; close one and try again"));
    }
    return std::nullopt;
  }

  void Follow(const kube::LogOptions& options, const kube::ObjectKey& pod) {
    const std::shared_ptr<Shared> shared = shared_;
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

  void Send(Answer answer, bool keep_alive) {
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
  const std::shared_ptr<Shared> shared_;
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

class Server final : public ApiServer {
 public:
  Server(const ApiServerOptions& options, kube::Api& api)
      : shared_(std::make_shared<Shared>(options, api)), acceptor_(context_) {}

  Status Listen() {
    const std::string& listen = shared_->options.listen;
    const size_t colon = listen.rfind(':');
    int port = 0;
    ErrorCode error;
    const asio::ip::address address = asio::ip::make_address(listen.substr(0, colon), error);
    if (colon == std::string::npos || error || !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port < 0 ||
        port > 65535) {
      return Error(StatusCode::kInvalidArgument,
                   "\"" + listen + "\" is no address to listen at; write it like 127.0.0.1:8001");
    }
    if (!address.is_loopback()) {
      return Error(StatusCode::kFailedPrecondition,
                   "not listening at " + listen +
                       ": other machines can reach it, and this API carries its token and Secrets in the clear; listen "
                       "at a loopback address such as 127.0.0.1:8001");
    }
    const tcp::endpoint endpoint(address, static_cast<uint16_t>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error(StatusCode::kUnavailable,
                   "cannot listen at " + listen + ": " + error.message() + "; choose another port");
    Accept();
    const MutexLock lock(mutex_);
    threads_running_ = kThreads;
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
    return OkStatus();
  }

  ~Server() override {
    shared_->stopping = true;
    asio::post(context_, [this] {
      ErrorCode ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
    {
      const MutexLock lock(mutex_);
      for (const auto& [id, weak] : sessions_) {
        if (const auto session = weak.lock()) session->Close();
      }
    }
    shared_->followers.Join();  // each asks between two looks at its log whether the server stops
    // The threads end when the last connection has; should one not end in time, they end after what they do now.
    work_.reset();
    {
      const MutexLock lock(mutex_);
      const bool ended = thread_ended_.WaitFor(
          mutex_, kCloseTimeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_running_ == 0; });
      if (!ended) log::Warn("connections to the local API did not close in time; they are cut", {});
    }
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  std::string url() const override {
    ErrorCode error;
    const tcp::endpoint endpoint = acceptor_.local_endpoint(error);
    return "http://" + endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
  }

 private:
  void Run() {
    context_.run();
    const MutexLock lock(mutex_);
    --threads_running_;
    thread_ended_.NotifyAll();
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](ErrorCode error, tcp::socket socket) {
      if (shared_->stopping || error == asio::error::operation_aborted) return;
      if (!error) {
        Admit(std::move(socket));
        return Accept();
      }
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](ErrorCode stopped) {
        if (!stopped && !shared_->stopping) Accept();
      });
    });
  }

  void Admit(tcp::socket socket) {
    ErrorCode gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (gone) return;
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const uint64_t id = ++last_id_;
    const auto session = std::make_shared<Session>(id, std::move(socket), shared_);
    std::optional<uint64_t> victim;
    {
      const MutexLock lock(shared_->mutex);
      victim = shared_->unproven.Enter(id, peer.address().to_string());
    }
    std::shared_ptr<Session> closed;  // outlives the lock: its end takes locks as well
    {
      const MutexLock lock(mutex_);
      std::erase_if(sessions_, [](const auto& entry) { return entry.second.expired(); });
      if (victim.has_value() && sessions_.contains(*victim)) closed = sessions_[*victim].lock();
      sessions_[id] = session;
    }
    if (closed != nullptr) closed->Close();
    session->Run();
    if (shared_->stopping) session->Close();
  }

  const std::shared_ptr<Shared> shared_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  uint64_t last_id_ = 0;  // by the accepting handler
  Mutex mutex_;
  CondVar thread_ended_;
  std::map<uint64_t, std::weak_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  int threads_running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(const ApiServerOptions& options, kube::Api& api) {
  if (options.token.empty()) return Error(StatusCode::kInvalidArgument, "the API is only served with a token; set one");
  auto server = std::make_unique<Server>(options, api);
  RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace attune::local
