// The one vocabulary of errors: absl::Status with canonical codes, which gRPC carries unchanged.
//
// A code says how a caller may react; the text says what happened, to what, and what to do next:
//   InvalidArgument     bad input from a user or a peer; the input has to change
//   NotFound, AlreadyExists
//   FailedPrecondition  the state forbids it (wrong job id, old map version); refresh, then try again
//   Aborted             lost a race (resourceVersion conflict); read again and retry
//   Unavailable         the other side is away; retry with backoff
//   ResourceExhausted   a named limit was reached
//   DeadlineExceeded    the outcome is open
//   DataLoss            a file is damaged or truncated
//   PermissionDenied, Unauthenticated, Unimplemented, Internal (exceptions of foreign libraries, nothing else)
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace attune {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() { return absl::OkStatus(); }

// Makes an error. `message` follows the rule above; it is shown to people.
Status Error(StatusCode code, std::string_view message);

// The message of `status` as a standard string view; valid as long as `status` lives.
std::string_view Message(const Status& status);

// The same error with what the caller was doing in front: Annotate(s, "reading job.yaml") -> "reading job.yaml:
// <message>".
Status Annotate(const Status& status, std::string_view doing);

// "UNAVAILABLE: message" for logs and command lines.
std::string ToString(const Status& status);

}  // namespace attune

#define ATTUNE_CONCAT_INNER(a, b) a##b
#define ATTUNE_CONCAT(a, b) ATTUNE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` (a Status) is an error.
#define RETURN_IF_ERROR(expression)                   \
  do {                                                \
    if (auto status_ = (expression); !status_.ok()) { \
      return status_;                                 \
    }                                                 \
  } while (false)

// ASSIGN_OR_RETURN(auto value, StatusOrExpression());
#define ASSIGN_OR_RETURN(target, expression) \
  ATTUNE_ASSIGN_OR_RETURN_IMPL(ATTUNE_CONCAT(status_or_, __LINE__), target, expression)
#define ATTUNE_ASSIGN_OR_RETURN_IMPL(temporary, target, expression) \
  auto temporary = (expression);                                    \
  if (!temporary.ok()) return temporary.status();                   \
  target = *std::move(temporary)
