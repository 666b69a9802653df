#include "operator/kube/client/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::kube::api_error_test {
namespace {

using ::testing::HasSubstr;

HttpResponse Answer(int status, const std::string& reason = "", const std::string& message = "it says why") {
  Json body = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"message", message}, {"code", status}};
  if (!reason.empty()) body["reason"] = reason;
  return {.head = {.status = status, .content_type = "application/json"}, .body = body.dump()};
}

TEST(ApiError, EveryAnswerHasItsStatus) {
  struct {
    int http;
    const char* reason;
    StatusCode want;
  } cases[] = {
      {200, "", StatusCode::kOk},
      {201, "", StatusCode::kOk},
      {400, "BadRequest", StatusCode::kInvalidArgument},
      {401, "Unauthorized", StatusCode::kUnauthenticated},
      {403, "Forbidden", StatusCode::kPermissionDenied},
      {404, "NotFound", StatusCode::kNotFound},
      {405, "MethodNotAllowed", StatusCode::kInvalidArgument},
      {409, "AlreadyExists", StatusCode::kAlreadyExists},
      {409, "Conflict", StatusCode::kAborted},
      {410, "Expired", StatusCode::kOutOfRange},
      {413, "RequestEntityTooLarge", StatusCode::kInvalidArgument},
      {415, "UnsupportedMediaType", StatusCode::kInvalidArgument},
      {422, "Invalid", StatusCode::kInvalidArgument},
      {429, "TooManyRequests", StatusCode::kUnavailable},
      {500, "InternalError", StatusCode::kUnavailable},
      {500, "", StatusCode::kUnavailable},
      {503, "ServiceUnavailable", StatusCode::kUnavailable},
      {504, "Timeout", StatusCode::kUnavailable},
  };
  for (const auto& c : cases) {
    Status status = ToStatus(Answer(c.http, c.reason), "reading Pod n/a");
    EXPECT_EQ(status.code(), c.want) << c.http << " " << c.reason;
    if (status.ok()) continue;
    EXPECT_EQ(Message(status), "reading Pod n/a: it says why");
    EXPECT_EQ(Reason(status), c.reason);
  }
}

TEST(ApiError, UnknownFieldInApplyIsNotWorthRepeating) {
  EXPECT_EQ(ToStatus(Answer(500), "applying", /*is_apply=*/true).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStatus(Answer(500, "InternalError"), "applying", /*is_apply=*/true).code(), StatusCode::kUnavailable);
}

TEST(ApiError, BodiesThatAreNotStatusObjectsAreShownInPart) {
  HttpResponse response{.head = {.status = 404, .content_type = "text/plain"}, .body = "404 page not found\n"};
  Status status = ToStatus(response, "listing things");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(ToString(status), HasSubstr("404 (404 page not found)"));
  response.body = std::string(100'000, 'x');
  EXPECT_LT(ToString(ToStatus(response, "listing")).size(), 600U);
  response.head.content_type = "application/json";
  response.body = "{not json";
  EXPECT_EQ(ToStatus(response, "listing").code(), StatusCode::kNotFound);
}

TEST(ApiError, RetryAfterComesFromHeaderOrDetails) {
  HttpResponse response = Answer(429, "TooManyRequests");
  EXPECT_EQ(RetryAfter(ToStatus(response, "x")), std::nullopt);
  response.head.retry_after = std::chrono::seconds(3);
  EXPECT_EQ(RetryAfter(ToStatus(response, "x")), std::chrono::seconds(3));
  Json object = {{"code", 504}, {"details", {{"retryAfterSeconds", 2}}}};
  EXPECT_EQ(RetryAfter(StatusFromObject(object, "x")), std::chrono::seconds(2));
  response.head.retry_after = std::chrono::hours(1000);
  EXPECT_LE(*RetryAfter(ToStatus(response, "x")), std::chrono::minutes(10));
}

TEST(ApiError, RedirectsAreRefusedWithTheirTarget) {
  HttpResponse response{.head = {.status = 302, .redirect_location = "https://other"}};
  Status status = ToStatus(response, "listing");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ToString(status), HasSubstr("https://other"));
}

}  // namespace
}  // namespace attune::kube::api_error_test
