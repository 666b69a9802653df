#include "base/status.h"

namespace attune {

Status Error(StatusCode code, std::string_view message) {
  return Status(code, absl::string_view(message.data(), message.size()));
}

std::string_view Message(const Status& status) {
  const absl::string_view message = status.message();
  return {message.data(), message.size()};
}

Status Annotate(const Status& status, std::string_view doing) {
  if (status.ok()) return status;
  std::string message(doing);
  message += ": ";
  // What the caller was doing is said once, also where the function that failed has said it in the same words.
  if (Message(status).starts_with(message)) return status;
  message += Message(status);
  Status annotated = Error(status.code(), message);
  status.ForEachPayload([&](const auto& url, const auto& payload) { annotated.SetPayload(url, payload); });
  return annotated;
}

std::string ToString(const Status& status) { return status.ToString(); }

}  // namespace attune
