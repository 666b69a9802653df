// The Kubernetes API as the controllers see it. Two implementations, one conformance suite (tests/operator/kube):
//   kube::RestApi     speaks to an API server over HTTP (cpprestsdk inside, nowhere else)
//   local::MemoryApi  in this process: the embedded platform and the fake for reconcile tests
//
// Every call blocks until its result or its deadline; errors are Status with the API server's own words:
//   404 NotFound · 409 reason AlreadyExists -> AlreadyExists, else Aborted · 422, 400 InvalidArgument · 403
//   PermissionDenied 401 Unauthenticated · 410 OutOfRange · 429, 5xx, no connection Unavailable · time DeadlineExceeded
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::kube {

struct CallOptions {
  Duration timeout = std::chrono::seconds(15);  // of the whole call
};

struct ListOptions {
  std::string name_space;      // "" = all namespaces
  std::string label_selector;  // "a=b,c in (d,e),!f"
  std::string field_selector;  // "metadata.name=x"
  size_t items_max = 0;        // so many at most, whichever; 0 = all
};

struct ListResult {
  std::vector<Json> items;       // apiVersion and kind filled in
  std::string resource_version;  // of the list: start a watch from here
};

struct WatchOptions {
  std::string name_space;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;                         // events after it
  Duration server_timeout = std::chrono::seconds(270);  // the server ends the watch cleanly then
  // Without a version: first all objects there are, as kAdded, then a bookmark that says so (EndsInitialEvents), then
  // what changes. InvalidArgument or Unimplemented where a server cannot.
  bool initial_events = false;
};

// One thing that a watch delivers. Sent in order, from one thread at a time; handlers must not block for long.
struct WatchSignal {
  enum class Kind {
    kAdded,
    kModified,
    kDeleted,
    kBookmark,  // `object` set
    kError,     // the server said no inside the stream; `status` (OutOfRange for an expired version)
    kEnded,     // normal end: watch again from the last version
    kBroken,    // connection lost or silent; `status`
  };
  Kind kind;
  Json object;
  Status status;
};

// A watch in progress. Destruction cancels it and returns when no further signal will come.
class Watch {
 public:
  virtual ~Watch() = default;
};

enum class PatchType { kMerge, kStrategicMerge, kJson };

struct ApplyOptions {
  std::string field_manager;
  bool force = true;
  std::string subresource;  // "" or "status"
};

struct DeleteOptions {
  std::string uid;                              // precondition; "" = none
  std::string resource_version;                 // likewise
  std::optional<int64_t> grace_period_seconds;  // of pods
  std::string propagation = "Background";
};

struct LogOptions {
  std::string container;  // "" = the first
  std::optional<int64_t> tail_lines;
  bool follow = false;
  bool previous = false;         // of the container's last run
  uint64_t bytes_max = 1 << 20;  // without follow
};

class Api {
 public:
  virtual ~Api() = default;

  virtual StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key, const CallOptions& call = {}) = 0;
  virtual StatusOr<ListResult> List(const ResourceType& type, const ListOptions& options,
                                    const CallOptions& call = {}) = 0;
  // `object` carries its own metadata.namespace and name.
  virtual StatusOr<Json> Create(const ResourceType& type, const Json& object, const CallOptions& call = {}) = 0;
  // Replaces; metadata.resourceVersion, when given, must be the current one (else Aborted). `subresource`: "",
  // "status", "scale".
  virtual StatusOr<Json> Update(const ResourceType& type, const Json& object, const std::string& subresource = "",
                                const CallOptions& call = {}) = 0;
  virtual StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type, const Json& patch,
                               const std::string& subresource = "", const CallOptions& call = {}) = 0;
  // Server-side apply: creates, or changes the fields this manager states and drops the ones it stated before and no
  // longer does.
  virtual StatusOr<Json> Apply(const ResourceType& type, const Json& object, const ApplyOptions& options,
                               const CallOptions& call = {}) = 0;
  // OK when the object is gone or going (finalizers, grace period).
  virtual Status Delete(const ResourceType& type, const ObjectKey& key, const DeleteOptions& options = {},
                        const CallOptions& call = {}) = 0;
  // Subresource reads ("scale").
  virtual StatusOr<Json> GetSubresource(const ResourceType& type, const ObjectKey& key, const std::string& subresource,
                                        const CallOptions& call = {}) = 0;

  // A document beside the objects, by its path: "/openid/v1/jwks". Unimplemented where there are none.
  virtual StatusOr<Json> GetDocument(const std::string& path, const CallOptions&) {
    return Error(StatusCode::kUnimplemented, "reading " + path + ": this API server has no documents");
  }

  // The API server's clock as the header Date of its answers says it, in whole seconds: seconds since 1970.
  // Unimplemented where there is no such header.
  virtual StatusOr<int64_t> ServerTime(const CallOptions&) {
    return Error(StatusCode::kUnimplemented, "this API server does not say what time it is");
  }

  // What a pod answers at one of its ports to GET "/<path>", by way of the API server (the right: get pods/proxy), at
  // most kPodPageMax bytes of it. Unimplemented where there is no such way.
  static constexpr uint64_t kPodPageMax = 1 << 20;
  virtual StatusOr<std::string> GetPodPage(const ObjectKey& pod, uint16_t, const std::string&, const CallOptions&) {
    return Error(StatusCode::kUnimplemented,
                 "reading a page of pod " + pod.ToString() + ": this API server leads to no pods");
  }

  // Starts a watch. Signals come after (or while) this returns; after kError, kEnded or kBroken none follows.
  virtual StatusOr<std::unique_ptr<Watch>> StartWatch(const ResourceType& type, const WatchOptions& options,
                                                      std::function<void(WatchSignal)> on_signal) = 0;

  // Text of a container's log. With `follow`, pieces go to `on_text` until the container ends, `on_text` returns false,
  // or the call's deadline; without, everything is returned through one call of it.
  virtual Status ReadLog(const ObjectKey& pod, const LogOptions& options,
                         const std::function<bool(std::string_view)>& on_text, const CallOptions& call = {}) = 0;
};

}  // namespace attune::kube
