// Where objects live on an API server: paths and queries, percent-encoded. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::kube {

// Everything but unreserved characters (RFC 3986) becomes %XX.
std::string PercentEncode(std::string_view text);

using Query = std::vector<std::pair<std::string_view, std::string>>;
// "?a=b&c=d"; values that are empty are left out; "" when nothing is left.
std::string ToString(const Query& query);

// "/apis/attune.dev/v1alpha1/namespaces/n/trainingjobs"; all namespaces with an empty name_space.
std::string CollectionPath(const ResourceType& type, std::string_view name_space);
// Adds "/name" and "/subresource". InvalidArgument without a name, or without a namespace where the kind has one.
StatusOr<std::string> ObjectPath(const ResourceType& type, const ObjectKey& key, std::string_view subresource = "");

}  // namespace attune::kube
