#include "sidecar/files/file_reader.h"

#include <algorithm>
#include <atomic>
#include <string_view>

#include "base/files/file_pages.h"
#include "base/log.h"
#include "base/sha256.h"

namespace attune::sidecar {
namespace {

constexpr size_t kConnectionsMax = 8;                           // one client, and an answer of a megabyte for each
constexpr Duration kRequestTimeout = std::chrono::seconds(45);  // API servers wait a minute
constexpr Duration kLook = std::chrono::seconds(1);

int HttpCode(StatusCode code) {
  switch (code) {
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kAborted:
      return 409;
    case StatusCode::kOutOfRange:
      return 410;
    default:
      return 500;
  }
}

HttpPage NoPage() { return {.code = 404, .body = "no such page\n"}; }

class EndpointReader final : public FileReader {
 public:
  EndpointReader(const ReaderOptions& options, const TimeSource& time)
      : token_sha256_(options.token_sha256), time_(time), pages_(options.directory, time), asked_(Ticks()) {}

  // At addresses of both families where the machine has both.
  Status Listen(uint16_t port) { return ListenOn("::", port).ok() ? OkStatus() : ListenOn("0.0.0.0", port); }

  uint16_t port() const override { return endpoint_->port(); }
  Duration idle() const override { return Duration(Ticks() - asked_); }

 private:
  Status ListenOn(const char* host, uint16_t port) {
    const HttpEndpointOptions options{
        .host = host, .port = port, .request_timeout = kRequestTimeout, .connections_max = kConnectionsMax};
    ASSIGN_OR_RETURN(endpoint_, HttpEndpoint::StartWithHandler(options, [this](const HttpRequest& request) {
                       return AnswerWithToken(request, token_sha256_, [this](std::string_view asked) {
                         auto answer = pages_.Answer(asked);
                         asked_ = Ticks();
                         return answer;
                       });
                     }));
    return OkStatus();
  }
  Duration::rep Ticks() const { return time_.Now().time_since_epoch().count(); }

  const std::string token_sha256_;
  const TimeSource& time_;
  FilePages pages_;  // by the endpoint's thread
  std::atomic<Duration::rep> asked_;
  std::unique_ptr<HttpEndpoint> endpoint_;  // last: it calls into the others until it ends
};

}  // namespace

HttpPage AnswerWithToken(const HttpRequest& request, const std::string& token_sha256,
                         const std::function<StatusOr<std::string>(std::string_view request)>& answer) {
  const std::string_view path = request.path;
  const size_t slash = path.find('/', 1);
  if (!path.starts_with('/') || slash == std::string_view::npos || !request.query.empty()) return NoPage();
  if (!SameInConstantTime(Sha256Hex(path.substr(1, slash - 1)), token_sha256)) return NoPage();
  StatusOr<std::string> said = answer(path.substr(slash + 1));
  if (said.status().code() == StatusCode::kNotFound) return NoPage();
  if (!said.ok()) return {.code = HttpCode(said.status().code()), .body = std::string(Message(said.status())) + "\n"};
  // No browser takes a file for a page.
  return {.content_type = "application/octet-stream",
          .body = *std::move(said),
          .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}};
}

StatusOr<std::unique_ptr<FileReader>> FileReader::Start(const ReaderOptions& options, const TimeSource& time) {
  auto reader = std::make_unique<EndpointReader>(options, time);
  RETURN_IF_ERROR(reader->Listen(options.port));
  return reader;
}

int RunFileReader(const ReaderOptions& options, const TimeSource& time,
                  const std::function<bool(Duration wait)>& is_ending) {
  const auto reader = FileReader::Start(options, time);
  if (!reader.ok()) {
    log::Error("cannot show files", {{"reason", reader.status()}});
    return 1;
  }
  log::Info("showing files", {{"directory", options.directory}, {"port", (*reader)->port()}});
  while ((*reader)->idle() < options.idle) {
    if (is_ending(std::min(kLook, options.idle))) return 0;
  }
  log::Info("no more requests", {{"idle_seconds", Seconds(options.idle)}});
  return 0;
}

}  // namespace attune::sidecar
