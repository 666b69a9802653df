#include "operator/kube/credentials/token_source.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/file.h"

namespace attune::kube {
namespace {

constexpr auto kReadEvery = std::chrono::seconds(60);
constexpr uint64_t kTokenBytesMax = 64 << 10;

}  // namespace

StatusOr<std::string> CheckedToken(std::string_view text, std::string_view where) {
  constexpr char kSpace[] = " \t\r\n";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return std::string();
  text = text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c >= 127; })) {
    return Error(
        StatusCode::kInvalidArgument,
        std::string(where) + ": the bearer token contains spaces, line breaks or other characters no token has");
  }
  return std::string(text);
}

TokenSource::TokenSource(std::string token, std::string token_file, const TimeSource& time)
    : token_file_(std::move(token_file)), time_(time), token_(std::move(token)) {}

StatusOr<std::string> TokenSource::Get() {
  const MutexLock lock(mutex_);
  if (token_file_.empty()) return CheckedToken(token_, "credentials");
  MonotonicTime now = time_.Now();
  if (is_fresh_ && now - read_at_ < kReadEvery) return token_;
  StatusOr<std::string> text = ReadFile(token_file_, kTokenBytesMax);
  if (text.ok()) text = CheckedToken(*text, token_file_);
  if (text.ok() && text->empty()) text = Error(StatusCode::kNotFound, "token file " + token_file_ + " is empty");
  if (!text.ok()) {
    if (token_.empty()) return Annotate(text.status(), "reading the service-account token");
    log::Warn("token file cannot be read, the previous token is used",
              {{"file", token_file_}, {"reason", text.status()}});
  } else {
    token_ = *std::move(text);
  }
  read_at_ = now;
  is_fresh_ = true;
  return token_;
}

bool TokenSource::Invalidate() {
  const MutexLock lock(mutex_);
  is_fresh_ = false;
  return !token_file_.empty();
}

}  // namespace attune::kube
