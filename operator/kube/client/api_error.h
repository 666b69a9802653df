// From the API server's answers to Status. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/client/http_transport.h"
#include "operator/kube/object.h"

namespace attune::kube {

// OK for 2xx. `doing` is put in front: "patching Pod n/a". `is_apply`: a 500 without a reason is the server's way to
// refuse a field it does not know, which no repetition heals.
Status ToStatus(const HttpResponse& response, std::string_view doing, bool is_apply = false);

// From a metav1.Status object (the body of an error answer, or of an ERROR watch event).
Status StatusFromObject(const Json& status, std::string_view doing, bool is_apply = false);

// How long the server asked to wait before the next attempt.
void SetRetryAfter(Status& status, Duration after);
std::optional<Duration> RetryAfter(const Status& status);

// The API server's machine-readable reason ("Expired", "Invalid", "AlreadyExists"); "" when it gave none.
std::string Reason(const Status& status);

}  // namespace attune::kube
