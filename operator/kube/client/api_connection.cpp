#include "operator/kube/client/api_connection.h"

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "operator/kube/client/impersonation_headers.h"

namespace attune::kube {
namespace {

constexpr int kBusyAnswersMax = 10;                     // of one call
constexpr Duration kBusyMin = std::chrono::seconds(1);  // also when the server names no time
constexpr Duration kBusyMax = std::chrono::minutes(1);  // whatever a server or proxy says: jobs wait meanwhile
constexpr int kBusy = 429, kUnauthorized = 401;

#if defined(__x86_64__)
constexpr char kMachine[] = "linux/amd64";
#elif defined(__aarch64__)
constexpr char kMachine[] = "linux/arm64";
#else
constexpr char kMachine[] = "linux";
#endif

}  // namespace

std::optional<Duration> BusyFor(const HttpHead& head) {
  if (head.status != kBusy) return std::nullopt;
  return std::clamp<Duration>(head.retry_after.value_or(kBusyMin), kBusyMin, kBusyMax);
}

std::string UserAgent(const std::string& program) { return program + "/" + kVersion + " (" + kMachine + ")"; }

ApiConnection::ApiConnection(HttpTarget target, CallLimit limit, std::unique_ptr<CredentialSource> credentials,
                             const TimeSource& time)
    : time_(time), credentials_(std::move(credentials)), pacer_(limit, time), target_(std::move(target)) {}

StatusOr<std::unique_ptr<ApiConnection>> ApiConnection::Make(const ClientConfig& config, const TimeSource& time) {
  HttpTarget target{.server = config.server,
                    .ca_pem = config.ca_pem,
                    .client_certificate_pem = config.client_certificate_pem,
                    .client_key_pem = config.client_key_pem,
                    .tls_server_name = config.tls_server_name,
                    .proxy_url = config.proxy_url,
                    .user_agent = UserAgent(config.program),
                    .headers = ImpersonationHeaders(config.impersonation)};
  ASSIGN_OR_RETURN(std::shared_ptr<HttpTransport> transport, HttpTransport::Make(target));
  std::unique_ptr<ApiConnection> made(
      new ApiConnection(std::move(target), config.limit, MakeCredentialSource(config, time), time));
  const MutexLock lock(made->mutex_);
  made->transport_ = std::move(transport);
  return made;
}

StatusOr<HttpResponse> ApiConnection::Send(HttpRequest request, Duration timeout, uint64_t body_bytes_max) {
  const MonotonicTime deadline = time_.Now() + timeout;
  std::optional<CallLine::Ticket> ticket;
  bool is_refused = false;
  for (int busy_answers = 0;;) {
    ASSIGN_OR_RETURN(ticket, pacer_.Wait(deadline, ticket));
    ASSIGN_OR_RETURN(const Credentials credentials, credentials_->Get(deadline));
    ASSIGN_OR_RETURN(const std::shared_ptr<HttpTransport> transport, TransportFor(credentials));
    request.bearer_token = credentials.token;
    StatusOr<HttpResponse> response = transport->Send(request, deadline - time_.Now(), body_bytes_max);
    if (!response.ok()) return response;
    if (response->head.status == kUnauthorized) {
      const bool is_worth_repeating = credentials_->Refused(credentials.number);
      if (!is_worth_repeating || std::exchange(is_refused, true)) return response;
    } else if (const std::optional<Duration> busy = BusyFor(response->head)) {
      pacer_.CloseFor(*busy);
      if (++busy_answers > kBusyAnswersMax || time_.Now() + *busy > deadline) return response;
    } else {
      return response;
    }
  }
}

StatusOr<std::unique_ptr<HttpStream>> ApiConnection::Stream(HttpRequest request, Duration timeout,
                                                            Duration idle_timeout, HttpStreamHandlers handlers) {
  ASSIGN_OR_RETURN(const Credentials credentials, credentials_->Get(time_.Now() + timeout));
  ASSIGN_OR_RETURN(const std::shared_ptr<HttpTransport> transport, TransportFor(credentials));
  request.bearer_token = credentials.token;
  handlers.on_head = [this, number = credentials.number, next = std::move(handlers.on_head)](const HttpHead& head) {
    OnHead(head, number);
    next(head);
  };
  return transport->Stream(request, idle_timeout, std::move(handlers));
}

void ApiConnection::OnHead(const HttpHead& head, uint64_t credentials) {
  if (head.status == kUnauthorized) credentials_->Refused(credentials);
  if (const std::optional<Duration> busy = BusyFor(head)) pacer_.CloseFor(*busy);
}

StatusOr<std::shared_ptr<HttpTransport>> ApiConnection::TransportFor(const Credentials& credentials) {
  std::shared_ptr<HttpTransport> before;  // destroyed without the lock: it waits for calls that were given up
  const MutexLock lock(mutex_);
  if (credentials.certificate_pem == target_.client_certificate_pem && credentials.key_pem == target_.client_key_pem) {
    return transport_;
  }
  HttpTarget renewed = target_;
  renewed.client_certificate_pem = credentials.certificate_pem;
  renewed.client_key_pem = credentials.key_pem;
  ASSIGN_OR_RETURN(std::shared_ptr<HttpTransport> transport, HttpTransport::Make(renewed));
  target_ = std::move(renewed);
  before = std::exchange(transport_, std::move(transport));  // calls in flight keep it until they end
  return transport_;
}

}  // namespace attune::kube
