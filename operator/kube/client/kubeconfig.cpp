#include "operator/kube/client/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdlib>

#include "base/os/file.h"

namespace attune::kube {
namespace {

constexpr uint64_t kKubeconfigBytesMax = 4 << 20;
constexpr uint64_t kCredentialBytesMax = 1 << 20;
constexpr char kServiceAccountDirectory[] = "/var/run/secrets/kubernetes.io/serviceaccount";
// A name in every API server's certificate; the injected IP address is not always one.
constexpr char kInClusterHost[] = "kubernetes.default.svc";

Status Bad(const std::filesystem::path& file, const std::string& what) {
  return Error(StatusCode::kInvalidArgument, "kubeconfig " + file.string() + ": " + what);
}

std::string Text(const YAML::Node& map, const char* field) {
  if (!map.IsMap()) return "";
  YAML::Node value = map[field];
  return value && value.IsScalar() ? value.Scalar() : "";
}

std::string NamesIn(const YAML::Node& list) {
  std::string names;
  for (const YAML::Node& entry : list) names += (names.empty() ? "" : ", ") + Text(entry, "name");
  return names.empty() ? "none" : names;
}

// The entry of `list` called `name`, and in it the map `field`.
StatusOr<YAML::Node> Find(const YAML::Node& root, const char* list, const char* field, const std::string& name,
                          const std::filesystem::path& file) {
  YAML::Node entries = root[list];
  if (entries && entries.IsSequence()) {
    for (const YAML::Node& entry : entries) {
      if (Text(entry, "name") == name && entry[field] && entry[field].IsMap()) return YAML::Node(entry[field]);
    }
  }
  std::string have = entries && entries.IsSequence() ? NamesIn(entries) : "none";
  return Bad(file, std::string(field) + " \"" + name + "\" does not exist; it has: " + have);
}

// Embedded as `<field>-data` (base64) or in the file that `<field>` names; "" when neither is there.
StatusOr<std::string> Credential(const YAML::Node& map, const std::string& field, const std::filesystem::path& file) {
  std::string data = Text(map, (field + "-data").c_str());
  if (!data.empty()) {
    StatusOr<std::string> decoded = Base64Decode(data);
    if (!decoded.ok()) return Bad(file, field + "-data is not base64");
    return decoded;
  }
  std::string path = Text(map, field.c_str());
  if (path.empty()) return std::string();
  StatusOr<std::string> content = ReadFile(file.parent_path() / path, kCredentialBytesMax);
  if (!content.ok()) return Annotate(content.status(), "kubeconfig " + file.string() + ": " + field);
  return content;
}

Status RefuseWhatIsNotUnderstood(const YAML::Node& cluster, const YAML::Node& user, const std::string& user_name,
                                 const std::filesystem::path& file) {
  for (const char* plugin : {"exec", "auth-provider"}) {
    if (user[plugin]) {
      return Error(StatusCode::kUnimplemented, "kubeconfig " + file.string() + ": user \"" + user_name +
                                                   "\" obtains credentials from a program (" + plugin +
                                                   "), which is not supported; use a token or a client certificate, "
                                                   "for example from `kubectl create token`");
    }
  }
  if (!Text(user, "username").empty()) {
    return Error(StatusCode::kUnimplemented, "kubeconfig " + file.string() + ": user \"" + user_name +
                                                 "\" has a user name and password, which API servers no longer accept");
  }
  if (Text(cluster, "insecure-skip-tls-verify") == "true") {
    return Bad(
        file,
        "insecure-skip-tls-verify is refused, it would send credentials to anyone; set certificate-authority-data");
  }
  if (!Text(cluster, "tls-server-name").empty() || !Text(cluster, "proxy-url").empty()) {
    return Error(StatusCode::kUnimplemented,
                 "kubeconfig " + file.string() + ": tls-server-name and proxy-url are not supported");
  }
  return OkStatus();
}

StatusOr<ClientConfig> FromYaml(const YAML::Node& root, const std::filesystem::path& file, const std::string& wanted) {
  if (!root.IsMap()) return Bad(file, "is not a kubeconfig (no YAML map)");
  ClientConfig config;
  config.context = wanted.empty() ? Text(root, "current-context") : wanted;
  if (config.context.empty()) return Bad(file, "has no current-context; name a context");
  ASSIGN_OR_RETURN(YAML::Node context, Find(root, "contexts", "context", config.context, file));
  ASSIGN_OR_RETURN(YAML::Node cluster, Find(root, "clusters", "cluster", Text(context, "cluster"), file));
  YAML::Node user(YAML::NodeType::Map);
  std::string user_name = Text(context, "user");
  if (!user_name.empty()) {
    ASSIGN_OR_RETURN(YAML::Node found, Find(root, "users", "user", user_name, file));
    user.reset(found);
  }
  RETURN_IF_ERROR(RefuseWhatIsNotUnderstood(cluster, user, user_name, file));
  config.server = Text(cluster, "server");
  if (config.server.empty())
    return Bad(file, "the cluster of context \"" + config.context + "\" has no server address");
  while (config.server.ends_with('/')) config.server.pop_back();
  ASSIGN_OR_RETURN(config.ca_pem, Credential(cluster, "certificate-authority", file));
  ASSIGN_OR_RETURN(config.client_certificate_pem, Credential(user, "client-certificate", file));
  ASSIGN_OR_RETURN(config.client_key_pem, Credential(user, "client-key", file));
  config.token = Text(user, "token");
  std::string token_file = Text(user, "tokenFile");
  if (!token_file.empty()) config.token_file = file.parent_path() / token_file;
  if (std::string name_space = Text(context, "namespace"); !name_space.empty()) config.name_space = name_space;
  return config;
}

}  // namespace

StatusOr<std::string> Base64Decode(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string decoded;
  uint32_t bits = 0;
  int count = 0, padding = 0;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    size_t value = c == '=' ? 0 : kAlphabet.find(c);
    if (value == std::string_view::npos || (padding > 0 && c != '=')) {
      return Error(StatusCode::kInvalidArgument, "not base64: a character outside its alphabet");
    }
    padding += c == '=' ? 1 : 0;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++count % 4 != 0) continue;
    for (int shift = 16; shift >= 0; shift -= 8) decoded += static_cast<char>(bits >> shift & 0xFF);
  }
  if (count % 4 != 0 || padding > 2) return Error(StatusCode::kInvalidArgument, "not base64: wrong length");
  decoded.resize(decoded.size() - static_cast<size_t>(padding));
  return decoded;
}

StatusOr<ClientConfig> ParseKubeconfig(const std::string& text, const std::filesystem::path& file,
                                       const std::string& context) {
  try {
    return FromYaml(YAML::Load(text), file, context);
  } catch (const YAML::Exception& e) {
    return Bad(file, "line " + std::to_string(e.mark.line + 1) + ": " + e.msg);
  }
}

StatusOr<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context) {
  std::filesystem::path file = path;
  if (file.empty()) {
    if (const char* listed = std::getenv("KUBECONFIG"); listed != nullptr && *listed != '\0') {
      std::string_view first(listed);
      file = first.substr(0, first.find(':'));
    } else if (const char* home = std::getenv("HOME"); home != nullptr) {
      file = std::filesystem::path(home) / ".kube" / "config";
    }
  }
  StatusOr<std::string> text = ReadFile(file, kKubeconfigBytesMax);
  if (!text.ok()) {
    return Annotate(text.status(), "no usable kubeconfig; name one with --kubeconfig or $KUBECONFIG");
  }
  return ParseKubeconfig(*text, file, context);
}

StatusOr<ClientConfig> ServiceAccountConfig(const std::filesystem::path& directory, const std::string& port) {
  ClientConfig config;
  config.server = std::string("https://") + kInClusterHost + (port.empty() ? "" : ":" + port);
  config.token_file = directory / "token";
  config.context = "in-cluster";
  ASSIGN_OR_RETURN(config.ca_pem, ReadFile(directory / "ca.crt", kCredentialBytesMax));
  ASSIGN_OR_RETURN(config.name_space, ReadFile(directory / "namespace", 1024));
  while (!config.name_space.empty() && config.name_space.back() <= ' ') config.name_space.pop_back();
  if (config.name_space.empty() || config.ca_pem.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "service account in " + directory.string() + ": namespace or ca.crt is empty");
  }
  return config;
}

StatusOr<ClientConfig> InClusterConfig() {
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT_HTTPS");
  if (port == nullptr) port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (port == nullptr) {
    return Error(StatusCode::kFailedPrecondition,
                 "this process does not run in a pod (KUBERNETES_SERVICE_PORT is not set); use a kubeconfig");
  }
  StatusOr<ClientConfig> config = ServiceAccountConfig(kServiceAccountDirectory, port);
  if (!config.ok()) return Annotate(config.status(), "reading the pod's service account");
  return config;
}

}  // namespace attune::kube
