// Requests in the Kubernetes REST dialect become calls of a kube::Api, and their results answers: what api_server.h
// serves, without sockets. A watch or a log that is followed is an answer that does not end; the caller streams it.
//
// Thread-safe when the API is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/api/rules/kinds.h"
#include "operator/local/rest/rest_request.h"

namespace attune::local {

enum class RestMethod { kGet, kPost, kPut, kPatch, kDelete, kOther };

struct RestRequest {
  RestMethod method = RestMethod::kOther;
  RestTarget target;  // without a token
  std::string body;
  std::string content_type;  // of the body
  std::string accept;        // what the client takes
};

struct RestAnswer {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
};
RestAnswer ErrorAnswer(const Status& status);

// Answers that do not end.
struct WatchRequest {
  const KindInfo* kind = nullptr;
  kube::WatchOptions options;
  bool as_table = false;
  bool bookmarks = false;  // whether the client takes them
};
struct FollowRequest {
  kube::ObjectKey pod;
  kube::LogOptions options;
};
using RestReply = std::variant<RestAnswer, WatchRequest, FollowRequest>;

class RestCalls {
 public:
  // Both outlive this.
  RestCalls(kube::Api& api, const std::vector<KindInfo>& kinds) : api_(api), kinds_(kinds) {}

  // `now`: of ages shown to people.
  RestReply Handle(const RestRequest& request, WallTime now) const;

 private:
  RestAnswer ListCoreEvents(const RestTarget& target, const std::string& name_space) const;
  RestReply Get(const RestRequest& request, const ResourcePath& path, WallTime now) const;
  RestReply ReadLog(const RestTarget& target, const ResourcePath& path) const;
  RestAnswer Post(const RestRequest& request, const ResourcePath& path) const;
  RestAnswer Put(const RestRequest& request, const ResourcePath& path) const;
  RestAnswer Patch(const RestRequest& request, const ResourcePath& path) const;
  RestAnswer Apply(const RestRequest& request, const ResourcePath& path) const;
  RestAnswer Delete(const RestRequest& request, const ResourcePath& path) const;
  RestAnswer DeleteAll(const RestTarget& target, const ResourcePath& path, const kube::DeleteOptions& options) const;
  RestAnswer DeleteOne(const kube::ResourceType& type, const kube::ObjectKey& key,
                       const kube::DeleteOptions& options) const;

  kube::Api& api_;
  const std::vector<KindInfo>& kinds_;
};

}  // namespace attune::local
