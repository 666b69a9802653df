// core/v1 Events, as `kubectl describe` reads them: a view of the events.k8s.io/v1 ones that this system writes. Only
// lists; not in discovery, so that `kubectl get events` goes to the real ones. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/api.h"
#include "operator/local/rest/rest_request.h"

namespace attune::local {

// The namespace of /api/v1[/namespaces/<name>]/events ("" for all); absent for any other path.
std::optional<std::string> CoreEventsNamespace(const RestTarget& target);
// "involvedObject.name=a,type=Warning" -> "regarding.name=a,type=Warning".
std::string ToRegardingSelector(const std::string& field_selector);
// An EventList of core/v1.
kube::Json CoreEventList(const kube::ListResult& events);

}  // namespace attune::local
