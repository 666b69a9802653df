#include "operator/kube/credentials/exec_protocol.h"

#include <algorithm>
#include <cctype>

#include "absl/time/time.h"
#include "operator/kube/base64.h"
#include "operator/kube/credentials/token_source.h"

namespace attune::kube {
namespace {

constexpr size_t kShownBytesMax = 600;
constexpr size_t kSecretBytesMin = 24;   // of a word that is taken for one
constexpr size_t kVariableBytesMin = 4;  // a shorter value would be found in any text
constexpr char kHidden[] = "[...]";

Status Wrong(const std::string& what) {
  return Error(StatusCode::kUnauthenticated, "the program " + what + "; run it by hand to see what it says");
}

// Of the characters that tokens are made of.
bool IsTokenByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '=' || c == '_' || c == '-' || c == '.';
}

bool LooksSecret(std::string_view word) {
  const auto has = [&](int (*kind)(int)) {
    return std::any_of(word.begin(), word.end(), [&](unsigned char c) { return kind(c) != 0; });
  };
  return word.size() >= kSecretBytesMin && has(std::isupper) && has(std::islower) && has(std::isdigit);
}

bool NamesSecret(std::string_view variable) {
  std::string name(variable);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const char* part : {"SECRET", "TOKEN", "PASSWORD", "KEY"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

void Replace(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

StatusOr<std::optional<WallTime>> Expiration(const Json& status) {
  const Json& field = At(status, {"expirationTimestamp"});
  if (field.is_null()) return std::optional<WallTime>();
  absl::Time time;
  if (!field.is_string() || !absl::ParseTime(absl::RFC3339_full, field.get<std::string>(), &time, nullptr)) {
    return Wrong("gave an expirationTimestamp that is no RFC 3339 time");
  }
  // Beyond what a WallTime holds, some centuries, it is as good as never.
  if (time > absl::UnixEpoch() + absl::Hours(24 * 365 * 200)) return std::optional<WallTime>();
  return std::optional<WallTime>(WallTime(absl::ToChronoNanoseconds(time - absl::UnixEpoch())));
}

}  // namespace

std::string ExecInfo(const ClientConfig& config) {
  Json spec = {{"interactive", false}};
  if (config.exec.provide_cluster_info) {
    Json cluster = {{"server", config.server}};
    if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
    if (!config.ca_pem.empty()) cluster["certificate-authority-data"] = Base64Encode(config.ca_pem);
    if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
    if (!config.exec.cluster_config.is_null()) cluster["config"] = config.exec.cluster_config;
    spec["cluster"] = std::move(cluster);
  }
  const Json info = {{"apiVersion", config.exec.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}};
  return info.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusOr<ExecCredential> ParseExecCredential(std::string_view output, const ExecPlugin& plugin) {
  const Json object = Json::parse(output, nullptr, false);
  if (!object.is_object()) return Wrong("wrote no JSON object to its standard output");
  const std::string_view version = StringAt(object, {"apiVersion"});
  if (StringAt(object, {"kind"}) != "ExecCredential" || version != plugin.api_version) {
    return Wrong("gave " + std::string(version.empty() ? "something without a version" : version) +
                 " where the kubeconfig says ExecCredential of " + plugin.api_version);
  }
  const Json& status = At(object, {"status"});
  if (!status.is_object()) return Wrong("gave no status, which would hold the credentials");
  ExecCredential credential;
  StatusOr<std::string> token = CheckedToken(StringAt(status, {"token"}), "output");
  if (!token.ok()) return Wrong("gave a token with spaces, line breaks or other characters no token has");
  credential.token = *std::move(token);
  credential.certificate_pem = StringAt(status, {"clientCertificateData"});
  credential.key_pem = StringAt(status, {"clientKeyData"});
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return Wrong("gave a client certificate or its key, and not both");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return Wrong("gave neither a token nor a client certificate");
  }
  ASSIGN_OR_RETURN(credential.expires, Expiration(status));
  return credential;
}

Status StatusOfRun(const CommandResult& result, const ExecPlugin& plugin, Duration timeout) {
  std::string what;
  switch (result.end) {
    case CommandResult::End::kExited:
      if (result.code == 0) return OkStatus();
      what = "ended with exit code " + std::to_string(result.code);
      break;
    case CommandResult::End::kSignaled:
      what = "was ended by signal " + std::to_string(result.code);
      break;
    case CommandResult::End::kTimedOut:
      what = "had not ended after " + std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count()) +
             " s and was killed (it has no terminal to ask for anything)";
      break;
    case CommandResult::End::kTooMuchOutput:
      what = "wrote more than any credential has and was killed";
      break;
    case CommandResult::End::kCancelled:
      what = "was killed because this process ends";
      break;
  }
  const std::string shown = ShownErrors(result.errors, plugin);
  return Wrong(what + (shown.empty() ? "" : ": " + shown));
}

std::string ShownErrors(std::string_view errors, const ExecPlugin& plugin) {
  std::string text(errors);
  for (const std::string& variable : plugin.environment) {
    const size_t end = variable.find('=');
    if (end == std::string::npos || variable.size() - end - 1 < kVariableBytesMin) continue;
    if (NamesSecret(variable.substr(0, end))) Replace(text, variable.substr(end + 1), kHidden);
  }
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsTokenByte(text[end])) ++end;
    if (end > at) {
      const std::string word = text.substr(at, end - at);
      shown += LooksSecret(word) ? kHidden : word;
      at = end;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at++]);
    const bool is_space = byte <= ' ' || byte == 127;
    if (!is_space || (!shown.empty() && shown.back() != ' ')) shown += is_space ? ' ' : static_cast<char>(byte);
  }
  while (!shown.empty() && shown.back() == ' ') shown.pop_back();
  if (shown.size() > kShownBytesMax) shown = shown.substr(0, kShownBytesMax) + "...";
  return shown;
}

}  // namespace attune::kube
