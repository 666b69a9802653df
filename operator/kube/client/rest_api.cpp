#include "operator/kube/client/rest_api.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/check.h"
#include "operator/kube/client/api_connection.h"
#include "operator/kube/client/api_error.h"
#include "operator/kube/client/piece_queue.h"
#include "operator/kube/client/resource_path.h"
#include "operator/kube/client/watch_stream.h"

namespace attune::kube {
namespace {

constexpr uint64_t kObjectBytesMax = 16 << 20;  // an answer with one object; etcd keeps at most 1.5 MB
constexpr uint64_t kPageBytesMax = 64 << 20;    // one page of a list
constexpr uint64_t kListBytesMax = 1ULL << 30;  // all pages
constexpr int kPageItems = 500;
constexpr size_t kWatchLineBytesMax = 4 << 20;
constexpr auto kWatchIdle = std::chrono::seconds(90);  // bookmarks come every 60 s; only a frozen server is quieter

// What a stream's answer is when its status is not 200: collected instead of handed on.
struct StreamAnswer {
  HttpResponse response;
  bool ok() const { return response.head.status == 200; }
  bool Keep(std::string_view bytes) {
    if (response.body.size() + bytes.size() > kObjectBytesMax) return false;
    response.body.append(bytes);
    return true;
  }
};

class RestWatch final : public Watch {
 public:
  RestWatch(const ResourceType& type, std::function<void(WatchSignal)> on_signal)
      : type_(type), on_signal_(std::move(on_signal)), splitter_(kWatchLineBytesMax) {}

  ~RestWatch() override {
    ATTUNE_CHECK(std::this_thread::get_id() != thread_.get_id()) << "a watch cannot be destroyed by its own handler";
    queue_.Close();
    stream_.reset();
    if (thread_.joinable()) thread_.join();
  }

  Status Start(ApiConnection& connection, HttpRequest request) {
    HttpStreamHandlers handlers;
    handlers.on_head = [this](const HttpHead& head) { answer_.response.head = head; };
    handlers.on_bytes = [this](std::string_view bytes) { return OnBytes(bytes); };
    handlers.on_end = [this](const Status& status) { OnEnd(status); };
    ASSIGN_OR_RETURN(stream_,
                     connection.Stream(std::move(request), CallOptions().timeout, kWatchIdle, std::move(handlers)));
    thread_ = std::thread([this] { Deliver(); });
    return OkStatus();
  }

 private:
  // On the transport's threads, one at a time.
  bool OnBytes(std::string_view bytes) {
    if (!answer_.ok()) return answer_.Keep(bytes);
    return splitter_.Feed(bytes, [this](std::string line) {
      if (queue_.Push(std::move(line))) return true;
      overflowed_ = true;
      return false;
    });
  }
  void OnEnd(const Status& status) {
    if (splitter_.too_long()) {
      queue_.End(Error(StatusCode::kResourceExhausted, "watching " + type_.plural + ": an event is larger than " +
                                                           std::to_string(kWatchLineBytesMax) + " bytes"));
    } else if (overflowed_) {
      queue_.End(Error(StatusCode::kResourceExhausted,
                       "watching " + type_.plural + ": events come faster than they are handled; watch again"));
    } else if (answer_.response.head.status != 0 && !answer_.ok()) {
      refused_ = true;
      queue_.End(ToStatus(answer_.response, "watching " + type_.plural));
    } else {
      queue_.End(status.ok() ? status : Annotate(status, "watching " + type_.plural));
    }
  }

  void Deliver() {
    using Kind = WatchSignal::Kind;
    while (std::optional<std::string> line = queue_.Pop()) {
      WatchSignal signal = ParseWatchLine(*line, type_);
      bool last = signal.kind == Kind::kError || signal.kind == Kind::kBroken;
      on_signal_(std::move(signal));
      if (last) return queue_.Close();
    }
    std::optional<Status> end = queue_.end();
    if (queue_.closed() || !end) return;
    if (end->ok()) return on_signal_({Kind::kEnded, {}, OkStatus()});
    on_signal_({refused_ ? Kind::kError : Kind::kBroken, {}, *end});
  }

  const ResourceType type_;
  const std::function<void(WatchSignal)> on_signal_;
  PieceQueue queue_;
  // Used by the transport's calls, which come one at a time; refused_ is read after the queue's end was seen.
  LineSplitter splitter_;
  StreamAnswer answer_;
  bool overflowed_ = false, refused_ = false;
  std::unique_ptr<HttpStream> stream_;
  std::thread thread_;
};

const char* ContentType(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
  }
  return "";
}

constexpr char kJsonType[] = "application/json";

class RestApi final : public Api {
 public:
  static StatusOr<std::unique_ptr<Api>> Make(const ClientConfig& config) {
    auto api = std::make_unique<RestApi>();
    ASSIGN_OR_RETURN(api->connection_, ApiConnection::Make(config, api->time_));
    return api;
  }

  StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key, const CallOptions& call) override {
    return GetSubresource(type, key, "", call);
  }

  StatusOr<Json> GetSubresource(const ResourceType& type, const ObjectKey& key, const std::string& subresource,
                                const CallOptions& call) override {
    ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key, subresource));
    return SendForObject({.method = "GET", .path = path, .may_repeat = true}, Doing("reading", type, key, subresource),
                         call);
  }

  StatusOr<Json> GetDocument(const std::string& path, const CallOptions& call) override {
    return SendForObject({.method = "GET", .path = path, .may_repeat = true}, "reading " + path, call);
  }

  StatusOr<int64_t> ServerTime(const CallOptions& call) override {
    const std::string doing = "asking the API server for its time";
    ASSIGN_OR_RETURN(const HttpResponse response, Send({.method = "GET", .path = "/version", .may_repeat = true},
                                                       call.timeout, kObjectBytesMax, doing));
    std::tm parts{};
    if (strptime(response.head.date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) {
      RETURN_IF_ERROR(ToStatus(response, doing));  // a refusal carries the time as well, as a rule
      return Error(StatusCode::kUnimplemented, doing + ": its answer carries no Date");
    }
    return static_cast<int64_t>(timegm(&parts));
  }

  StatusOr<std::string> GetPodPage(const ObjectKey& pod, uint16_t port, const std::string& path,
                                   const CallOptions& call) override {
    const std::string doing = Doing("reading a page of", kPods, pod);
    ObjectKey target = pod;
    target.name += ":" + std::to_string(port);
    ASSIGN_OR_RETURN(const std::string base, ObjectPath(kPods, target, "proxy"));
    ASSIGN_OR_RETURN(HttpResponse response, Send({.method = "GET", .path = base + "/" + path, .may_repeat = true},
                                                 call.timeout, kPodPageMax, doing));
    RETURN_IF_ERROR(ToStatus(response, doing));
    return std::move(response.body);
  }

  StatusOr<ListResult> List(const ResourceType& type, const ListOptions& options, const CallOptions& call) override {
    MonotonicTime deadline = time_.Now() + call.timeout;
    StatusOr<ListResult> list = ListPages(type, options, deadline);
    // The version a list is paged at can expire between two pages; the second attempt starts with the newest.
    if (list.status().code() == StatusCode::kOutOfRange) list = ListPages(type, options, deadline);
    return list;
  }

  StatusOr<Json> Create(const ResourceType& type, const Json& object, const CallOptions& call) override {
    ObjectKey key = KeyOf(object);
    if (type.namespaced && key.name_space.empty()) return ObjectPath(type, key).status();
    return SendForObject({.method = "POST",
                          .path = CollectionPath(type, key.name_space),
                          .body = object.dump(),
                          .content_type = kJsonType},
                         Doing("creating", type, key), call);
  }

  StatusOr<Json> Update(const ResourceType& type, const Json& object, const std::string& subresource,
                        const CallOptions& call) override {
    ObjectKey key = KeyOf(object);
    ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key, subresource));
    return SendForObject(
        {.method = "PUT", .path = path, .body = object.dump(), .content_type = kJsonType, .may_repeat = true},
        Doing("updating", type, key, subresource), call);
  }

  StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type, const Json& patch,
                       const std::string& subresource, const CallOptions& call) override {
    ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key, subresource));
    // A JSON patch can append or test: a second delivery may differ from the first.
    return SendForObject({.method = "PATCH",
                          .path = path,
                          .body = patch.dump(),
                          .content_type = ContentType(patch_type),
                          .may_repeat = patch_type != PatchType::kJson},
                         Doing("patching", type, key, subresource), call);
  }

  StatusOr<Json> Apply(const ResourceType& type, const Json& object, const ApplyOptions& options,
                       const CallOptions& call) override {
    ObjectKey key = KeyOf(object);
    ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key, options.subresource));
    if (options.field_manager.empty()) {
      return Error(StatusCode::kInvalidArgument,
                   "applying " + type.kind + " " + key.ToString() + ": a field manager is required");
    }
    path += ToString(Query{{"fieldManager", options.field_manager}, {"force", options.force ? "true" : ""}});
    return SendForObject({.method = "PATCH",
                          .path = path,
                          .body = object.dump(),
                          .content_type = "application/apply-patch+yaml",
                          .may_repeat = true},
                         Doing("applying", type, key, options.subresource), call, /*is_apply=*/true);
  }

  Status Delete(const ResourceType& type, const ObjectKey& key, const DeleteOptions& options,
                const CallOptions& call) override {
    ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key));
    Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
    if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
    if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
    if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
    if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
    HttpRequest request{.method = "DELETE", .path = path, .body = body.dump(), .content_type = kJsonType};
    std::string doing = Doing("deleting", type, key);
    ASSIGN_OR_RETURN(HttpResponse response, Send(std::move(request), call.timeout, kObjectBytesMax, doing));
    return ToStatus(response, doing);
  }

  StatusOr<std::unique_ptr<Watch>> StartWatch(const ResourceType& type, const WatchOptions& options,
                                              std::function<void(WatchSignal)> on_signal) override {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.server_timeout).count();
    HttpRequest request{.method = "GET", .path = CollectionPath(type, options.name_space)};
    request.path += ToString(Query{{"watch", "true"},
                                   {"allowWatchBookmarks", "true"},
                                   {"resourceVersion", options.resource_version},
                                   {"sendInitialEvents", options.initial_events ? "true" : ""},
                                   {"resourceVersionMatch", options.initial_events ? "NotOlderThan" : ""},
                                   {"labelSelector", options.label_selector},
                                   {"fieldSelector", options.field_selector},
                                   {"timeoutSeconds", std::to_string(std::max<int64_t>(seconds, 1))}});
    auto watch = std::make_unique<RestWatch>(type, std::move(on_signal));
    RETURN_IF_ERROR(watch->Start(*connection_, std::move(request)));
    return watch;
  }

  Status ReadLog(const ObjectKey& pod, const LogOptions& options, const std::function<bool(std::string_view)>& on_text,
                 const CallOptions& call) override {
    ASSIGN_OR_RETURN(std::string path, ObjectPath(kPods, pod, "log"));
    path += ToString(Query{{"container", options.container},
                           {"tailLines", options.tail_lines ? std::to_string(*options.tail_lines) : ""},
                           {"previous", options.previous ? "true" : ""},
                           {"follow", options.follow ? "true" : ""},
                           {"limitBytes", options.follow ? "" : std::to_string(options.bytes_max)}});
    HttpRequest request{.method = "GET", .path = path, .may_repeat = true};
    std::string doing = Doing("reading the log of", kPods, pod);
    if (options.follow) return FollowLog(std::move(request), doing, on_text, call);
    // The server counts bytes loosely when it cuts in the middle of a line.
    ASSIGN_OR_RETURN(HttpResponse response, Send(std::move(request), call.timeout, options.bytes_max + 4096, doing));
    RETURN_IF_ERROR(ToStatus(response, doing));
    if (!response.body.empty()) on_text(response.body);
    return OkStatus();
  }

 private:
  static std::string Doing(std::string_view verb, const ResourceType& type, const ObjectKey& key,
                           std::string_view subresource = "") {
    std::string text = std::string(verb) + " " + type.kind + " " + key.ToString();
    if (!subresource.empty()) text += " (" + std::string(subresource) + ")";
    return text;
  }

  StatusOr<HttpResponse> Send(HttpRequest request, Duration timeout, uint64_t bytes_max, std::string_view doing) {
    StatusOr<HttpResponse> response = connection_->Send(std::move(request), timeout, bytes_max);
    if (!response.ok()) return Annotate(response.status(), doing);
    return response;
  }

  StatusOr<Json> SendForObject(HttpRequest request, const std::string& doing, const CallOptions& call,
                               bool is_apply = false) {
    ASSIGN_OR_RETURN(HttpResponse response, Send(std::move(request), call.timeout, kObjectBytesMax, doing));
    RETURN_IF_ERROR(ToStatus(response, doing, is_apply));
    return ParseObject(response.body, doing);
  }

  static StatusOr<Json> ParseObject(const std::string& body, std::string_view doing) {
    Json object = Json::parse(body, nullptr, false);
    if (!object.is_object()) {
      return Error(StatusCode::kUnavailable, std::string(doing) +
                                                 ": the API server's answer is not a JSON object; check that the "
                                                 "address is that of a Kubernetes API server");
    }
    return object;
  }

  StatusOr<ListResult> ListPages(const ResourceType& type, const ListOptions& options, MonotonicTime deadline) {
    ListResult list;
    std::string next, doing = "listing " + type.plural;
    uint64_t bytes = 0;
    do {
      HttpRequest request{.method = "GET", .path = CollectionPath(type, options.name_space), .may_repeat = true};
      const size_t page_items = options.items_max == 0
                                    ? size_t{kPageItems}
                                    : std::min<size_t>(kPageItems, options.items_max - list.items.size());
      request.path += ToString(Query{{"limit", std::to_string(page_items)},
                                     {"continue", next},
                                     {"labelSelector", options.label_selector},
                                     {"fieldSelector", options.field_selector}});
      ASSIGN_OR_RETURN(HttpResponse response, Send(std::move(request), deadline - time_.Now(), kPageBytesMax, doing));
      RETURN_IF_ERROR(ToStatus(response, doing));
      bytes += response.body.size();
      if (bytes > kListBytesMax) {
        return Error(StatusCode::kResourceExhausted, doing + ": more than " + std::to_string(kListBytesMax) +
                                                         " bytes; narrow the list by namespace or label");
      }
      ASSIGN_OR_RETURN(Json page, ParseObject(response.body, doing));
      list.resource_version = ResourceVersion(page);
      next = StringAt(page, {"metadata", "continue"});
      for (Json& item : page["items"]) {
        if (!item.is_object()) continue;
        if (options.items_max > 0 && list.items.size() >= options.items_max) return list;
        item["apiVersion"] = type.api_version();
        item["kind"] = type.kind;
        list.items.push_back(std::move(item));
      }
    } while (!next.empty() && (options.items_max == 0 || list.items.size() < options.items_max));
    return list;
  }

  Status FollowLog(HttpRequest request, const std::string& doing, const std::function<bool(std::string_view)>& on_text,
                   const CallOptions& call) {
    MonotonicTime deadline = time_.Now() + call.timeout;
    PieceQueue queue;
    StreamAnswer answer;
    HttpStreamHandlers handlers;
    handlers.on_head = [&](const HttpHead& head) { answer.response.head = head; };
    handlers.on_bytes = [&](std::string_view bytes) {
      return answer.ok() ? queue.Push(std::string(bytes)) : answer.Keep(bytes);
    };
    handlers.on_end = [&](const Status& status) {
      bool refused = answer.response.head.status != 0 && !answer.ok();
      queue.End(refused ? ToStatus(answer.response, doing) : status);
    };
    // A container may be silent for as long as the caller is willing to wait.
    ASSIGN_OR_RETURN(auto stream, connection_->Stream(std::move(request), call.timeout, call.timeout + kWatchIdle,
                                                      std::move(handlers)));
    while (std::optional<std::string> text = queue.Pop(deadline)) {
      if (!on_text(*text)) return OkStatus();
    }
    std::optional<Status> end = queue.end();
    if (end) return end->ok() ? *end : Annotate(*end, doing);
    return Error(StatusCode::kDeadlineExceeded, doing + ": the deadline passed while the container was still running");
  }

  SystemTime time_;
  std::unique_ptr<ApiConnection> connection_;  // set by Make
};

}  // namespace

void InitializeHttp() { StartHttpThreads(); }

StatusOr<std::unique_ptr<Api>> MakeRestApi(const ClientConfig& config) { return RestApi::Make(config); }

}  // namespace attune::kube
