#include "operator/kube/client/api_error.h"

#include <charconv>

namespace attune::kube {
namespace {

constexpr char kRetryAfterUrl[] = "attune.dev/retry-after-seconds";
constexpr char kReasonUrl[] = "attune.dev/reason";
constexpr size_t kPlainTextMax = 300;  // of a body that is not JSON, shown in the message
constexpr auto kRetryAfterMax = std::chrono::minutes(10);

StatusCode CodeOf(int64_t http, std::string_view reason, bool is_apply) {
  switch (http) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return StatusCode::kInvalidArgument;
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? StatusCode::kAlreadyExists : StatusCode::kAborted;
    case 410:
      return StatusCode::kOutOfRange;
    case 429:
      return StatusCode::kUnavailable;
    case 500:
      return is_apply && reason.empty() ? StatusCode::kInvalidArgument : StatusCode::kUnavailable;
    default:
      break;
  }
  if (http >= 500 || http == 408) return StatusCode::kUnavailable;
  if (http >= 300 && http < 400) return StatusCode::kFailedPrecondition;
  return StatusCode::kInvalidArgument;
}

Status MakeStatus(int64_t http, std::string_view reason, std::string_view message, std::string_view doing,
                  bool is_apply) {
  std::string text(doing);
  if (!text.empty()) text += ": ";
  text += message.empty() ? "the API server answered " + std::to_string(http) : std::string(message);
  Status status = Error(CodeOf(http, reason, is_apply), text);
  if (!reason.empty()) status.SetPayload(kReasonUrl, absl::Cord(std::string(reason)));
  return status;
}

}  // namespace

Status StatusFromObject(const Json& object, std::string_view doing, bool is_apply) {
  // The server's message names all causes; they are not repeated.
  Status status = MakeStatus(IntegerAt(object, {"code"}), StringAt(object, {"reason"}), StringAt(object, {"message"}),
                             doing, is_apply);
  int64_t after = IntegerAt(object, {"details", "retryAfterSeconds"});
  if (after > 0) SetRetryAfter(status, std::chrono::seconds(std::min<int64_t>(after, 3600)));
  return status;
}

Status ToStatus(const HttpResponse& response, std::string_view doing, bool is_apply) {
  const HttpHead& head = response.head;
  if (head.status >= 200 && head.status < 300) return OkStatus();
  Status status;
  Json body = head.content_type.starts_with("application/json") ? Json::parse(response.body, nullptr, false) : Json();
  if (body.is_object() && StringAt(body, {"kind"}) == "Status") {
    body["code"] = head.status;
    status = StatusFromObject(body, doing, is_apply);
  } else if (head.status >= 300 && head.status < 400) {
    status = MakeStatus(head.status, "",
                        "the server redirects to " + head.redirect_location +
                            ", which is not followed because credentials would go there; use the final address",
                        doing, is_apply);
  } else {
    std::string text = response.body.substr(0, kPlainTextMax);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    text = "the API server answered " + std::to_string(head.status) + (text.empty() ? "" : " (" + text + ")");
    status = MakeStatus(head.status, "", text, doing, is_apply);
  }
  if (head.retry_after) SetRetryAfter(status, *head.retry_after);
  return status;
}

void SetRetryAfter(Status& status, Duration after) {
  auto seconds = std::chrono::ceil<std::chrono::seconds>(std::min<Duration>(after, kRetryAfterMax)).count();
  status.SetPayload(kRetryAfterUrl, absl::Cord(std::to_string(seconds)));
}

std::optional<Duration> RetryAfter(const Status& status) {
  auto payload = status.GetPayload(kRetryAfterUrl);
  if (!payload) return std::nullopt;
  std::string text(*payload);
  int64_t seconds = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), seconds).ec != std::errc()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

std::string Reason(const Status& status) {
  auto payload = status.GetPayload(kReasonUrl);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace attune::kube
