#include "operator/kube/client/http_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::kube::http_failure_test {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* cause;
  HttpFailure failure;
  StatusCode want;
  const char* want_text;
  bool repeat_if_harmless, repeat_always;
};

// Codes and texts as cpprestsdk 2.10.18 reports them.
const Case kCases[] = {
    {"refused",
     {113, "Failed to connect to any resolved endpoint"},
     StatusCode::kUnavailable,
     "no connection",
     false,
     false},
    {"a proxy that asks for a password",
     {0, "Expected a 200 response from proxy, received: 407"},
     StatusCode::kUnavailable,
     "its proxy does not lead there (Expected a 200 response from proxy, received: 407)",
     false,
     false},
    {"connect unanswered",
     {110, "Request canceled by user."},
     StatusCode::kUnavailable,
     "no answer to a new connection",
     false,
     false},
    {"silent in the TLS handshake",
     {110, "Error in SSL handshake"},
     StatusCode::kUnavailable,
     "no answer to a new connection",
     false,
     false},
    {"silent before the status",
     {110, "Failed to read HTTP status line"},
     StatusCode::kDeadlineExceeded,
     "outcome is open",
     false,
     false},
    {"silent in the body",
     {110, "Retrieving message chunk header", true},
     StatusCode::kDeadlineExceeded,
     "silent",
     false,
     false},
    {"unknown name", {2, "Error resolving address"}, StatusCode::kUnavailable, "cannot be resolved", false, false},
    {"end of file in a plain body",
     {2, "Failed to read response body", true},
     StatusCode::kUnavailable,
     "within the answer",
     false,
     false},
    {"end of file before the status",
     {2, "Failed to read HTTP status line"},
     StatusCode::kUnavailable,
     "closed the connection",
     true,
     false},
    {"end of file in a TLS body",
     {1, "Failed to read response body", true},
     StatusCode::kUnavailable,
     "within the answer",
     false,
     false},
    {"end of file in TLS before the status",
     {1, "Failed to read HTTP status line"},
     StatusCode::kUnavailable,
     "before the answer",
     true,
     false},
    {"reset before the status",
     {104, "Failed to read HTTP status line"},
     StatusCode::kUnavailable,
     "before the answer",
     true,
     false},
    {"reset in the body",
     {104, "Failed to read response body", true},
     StatusCode::kUnavailable,
     "within the answer",
     false,
     false},
    {"dead pooled connection",
     {32, "Failed to write request body"},
     StatusCode::kUnavailable,
     "before the answer",
     true,
     true},
    {"garbage", {0, "Success"}, StatusCode::kUnavailable, "not valid HTTP", false, false},
    {"cancelled", {125, "Operation canceled"}, StatusCode::kCancelled, "cancelled", false, false},
    {"wrong authority",
     {167772294, "Error in SSL handshake"},
     StatusCode::kFailedPrecondition,
     "certificate verify failed",
     false,
     false},
};

TEST(HttpFailure, EveryCauseHasItsStatus) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.cause);
    Status status = ToStatus(c.failure, "https://h:1");
    EXPECT_EQ(status.code(), c.want) << status;
    EXPECT_THAT(ToString(status), HasSubstr(c.want_text));
    EXPECT_THAT(ToString(status), HasSubstr("https://h:1"));
    EXPECT_EQ(IsWorthRepeating(c.failure, /*may_repeat=*/true), c.repeat_if_harmless);
    EXPECT_EQ(IsWorthRepeating(c.failure, /*may_repeat=*/false), c.repeat_always);
  }
}

}  // namespace
}  // namespace attune::kube::http_failure_test
