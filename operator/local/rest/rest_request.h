// The Kubernetes REST dialect without its transport: what a request means, and how answers and errors are written.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operator/kube/api.h"
#include "operator/local/api/rules/kinds.h"

namespace attune::local {

struct RestTarget {
  std::vector<std::string> segments;         // of the path, decoded
  std::map<std::string, std::string> query;  // decoded
};
// Bad escapes are InvalidArgument.
StatusOr<RestTarget> ParseTarget(std::string_view target);

struct ResourcePath {
  const KindInfo* kind = nullptr;
  kube::ObjectKey key;  // name "": the collection
  std::string subresource;
};
// /api/v1/..., /apis/<group>/<version>/...; NotFound for anything else.
StatusOr<ResourcePath> ParseResourcePath(const RestTarget& target, const std::vector<KindInfo>& kinds);

// Discovery documents: /version, /api, /apis, /api/v1, /apis/<group>[/<version>]. Absent when the path is none of
// these.
std::optional<kube::Json> Discovery(const RestTarget& target, const std::vector<KindInfo>& kinds);

// A metav1.Status for an error, and its HTTP code.
int HttpCode(const Status& status);
kube::Json StatusObject(const Status& status);

// A list, or a table of it for `kubectl get` (Accept: ...;as=Table).
kube::Json ListObject(const KindInfo& kind, kube::ListResult list);
kube::Json TableObject(const KindInfo& kind, const std::vector<kube::Json>& items, const std::string& resource_version,
                       WallTime now);
bool WantsTable(std::string_view accept);

// One line of a watch stream; "" for signals that end the stream without a line.
std::string WatchLine(const KindInfo& kind, const kube::WatchSignal& signal, bool as_table, WallTime now);

// JSON of bounded depth; InvalidArgument otherwise.
StatusOr<kube::Json> ParseBody(std::string_view body);

}  // namespace attune::local
