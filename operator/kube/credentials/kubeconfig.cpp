#include "operator/kube/credentials/kubeconfig.h"

#include <cstdlib>

#include "base/os/file.h"
#include "operator/kube/base64.h"
#include "operator/kube/credentials/kubeconfig_user.h"
#include "operator/kube/credentials/proxy.h"
#include "operator/kube/credentials/yaml_json.h"

namespace attune::kube {
namespace {

constexpr uint64_t kKubeconfigBytesMax = 4 << 20;

std::string Named(const std::filesystem::path& file) { return "kubeconfig " + file.string(); }

Status Bad(const std::filesystem::path& file, const std::string& what) {
  return Error(StatusCode::kInvalidArgument, Named(file) + ": " + what);
}

Status Unsupported(const std::filesystem::path& file, const std::string& what) {
  return Error(StatusCode::kUnimplemented, Named(file) + ": " + what);
}

struct Document {
  std::filesystem::path file;
  Json root;
};

// An entry of one of the lists, and the file that it stands in.
struct Entry {
  Json value = Json::object();
  std::filesystem::path file;
};

std::string Text(const Json& map, const std::string& field) { return std::string(StringAt(map, {field})); }

// All files, in the order in which they count.
class Documents {
 public:
  explicit Documents(std::vector<Document> documents) : documents_(std::move(documents)) {}

  std::string CurrentContext() const {
    for (const Document& document : documents_) {
      if (std::string name = Text(document.root, "current-context"); !name.empty()) return name;
    }
    return "";
  }

  // The entry of `list` called `name`, and in it the map `field`.
  StatusOr<Entry> Find(const char* list, const char* field, const std::string& name) const {
    std::string have;
    for (const Document& document : documents_) {
      const Json& entries = At(document.root, {list});
      if (!entries.is_array()) continue;
      for (const Json& entry : entries) {
        const std::string entry_name = Text(entry, "name");
        if (entry_name == name && At(entry, {field}).is_object()) return Entry{At(entry, {field}), document.file};
        have += (have.empty() ? "" : ", ") + entry_name;
      }
    }
    return Error(StatusCode::kInvalidArgument, AllFiles() + ": " + field + " \"" + name +
                                                   "\" does not exist; it has: " + (have.empty() ? "none" : have));
  }

  std::string AllFiles() const {
    std::string text;
    for (const Document& document : documents_) text += (text.empty() ? "" : ":") + document.file.string();
    return "kubeconfig " + text;
  }

 private:
  const std::vector<Document> documents_;
};

// Embedded as `<field>-data` (base64) or in the file that `<field>` names; "" when neither is there.
StatusOr<std::string> Credential(const Entry& entry, const std::string& field) {
  const std::string data = Text(entry.value, field + "-data");
  if (!data.empty()) {
    StatusOr<std::string> decoded = Base64Decode(data);
    if (!decoded.ok()) return Bad(entry.file, field + "-data is not base64");
    return decoded;
  }
  const std::string path = Text(entry.value, field);
  if (path.empty()) return std::string();
  StatusOr<std::string> content = ReadFile(entry.file.parent_path() / path, kCredentialBytesMax);
  if (!content.ok()) return Annotate(content.status(), Named(entry.file) + ": " + field);
  return content;
}

Status RefuseWhatIsNotUnderstood(const Entry& cluster, const Entry& user, const std::string& user_name) {
  if (!At(user.value, {"auth-provider"}).is_null()) {
    return Unsupported(user.file, "user \"" + user_name +
                                      "\" obtains credentials by an auth-provider, which Kubernetes has given up; use "
                                      "exec, a token or a client certificate, for example from `kubectl create token`");
  }
  if (!Text(user.value, "username").empty()) {
    return Unsupported(user.file,
                       "user \"" + user_name + "\" has a user name and password, which API servers no longer accept");
  }
  if (Text(cluster.value, "insecure-skip-tls-verify") == "true") {
    return Bad(
        cluster.file,
        "insecure-skip-tls-verify is refused, it would send credentials to anyone; set certificate-authority-data");
  }
  return OkStatus();
}

Status ReadCluster(const Entry& cluster, ClientConfig& config) {
  config.server = Text(cluster.value, "server");
  if (config.server.empty()) {
    return Bad(cluster.file, "the cluster of context \"" + config.context + "\" has no server address");
  }
  while (config.server.ends_with('/')) config.server.pop_back();
  ASSIGN_OR_RETURN(config.ca_pem, Credential(cluster, "certificate-authority"));
  config.tls_server_name = Text(cluster.value, "tls-server-name");
  config.proxy_url = Text(cluster.value, "proxy-url");
  const Status proxy = CheckProxy(config.proxy_url);
  return proxy.ok() ? proxy : Annotate(proxy, Named(cluster.file) + ": proxy-url");
}

Status ReadUser(const Entry& user, const std::string& name, const Entry& cluster, ClientConfig& config) {
  ASSIGN_OR_RETURN(config.client_certificate_pem, Credential(user, "client-certificate"));
  ASSIGN_OR_RETURN(config.client_key_pem, Credential(user, "client-key"));
  config.token = Text(user.value, "token");
  const std::string token_file = Text(user.value, "tokenFile");
  if (!token_file.empty()) config.token_file = user.file.parent_path() / token_file;
  const std::string place = Named(user.file) + ": user \"" + name + "\"";
  StatusOr<ExecPlugin> exec = ExecPluginOf(user.value, cluster.value, user.file.parent_path());
  if (!exec.ok()) return Annotate(exec.status(), place);
  config.exec = *std::move(exec);
  StatusOr<Impersonation> impersonation = ImpersonationOf(user.value);
  if (!impersonation.ok()) return Annotate(impersonation.status(), place);
  config.impersonation = *std::move(impersonation);
  return OkStatus();
}

std::vector<std::filesystem::path> DefaultKubeconfigs() {
  if (const char* listed = std::getenv("KUBECONFIG"); listed != nullptr && *listed != '\0') {
    return ListedKubeconfigs(listed);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr) return {};
  return {std::filesystem::path(home) / ".kube" / "config"};
}

}  // namespace

StatusOr<ClientConfig> ParseKubeconfigs(const std::vector<KubeconfigFile>& files, const std::string& wanted) {
  std::vector<Document> parsed;
  for (const KubeconfigFile& file : files) {
    StatusOr<Json> root = JsonFromYaml(file.text);
    if (!root.ok()) return Annotate(root.status(), Named(file.path));
    // Of several files one may be empty, as kubectl leaves it when its last context is deleted.
    if (!root->is_object() && !(root->is_null() && files.size() > 1)) {
      return Bad(file.path, "is not a kubeconfig (no YAML map)");
    }
    parsed.push_back({file.path, *std::move(root)});
  }
  const Documents documents(std::move(parsed));
  ClientConfig config;
  config.limit = kClusterCallLimit;
  config.context = wanted.empty() ? documents.CurrentContext() : wanted;
  if (config.context.empty()) {
    return Error(StatusCode::kInvalidArgument, documents.AllFiles() + ": has no current-context; name a context");
  }
  ASSIGN_OR_RETURN(const Entry context, documents.Find("contexts", "context", config.context));
  ASSIGN_OR_RETURN(const Entry cluster, documents.Find("clusters", "cluster", Text(context.value, "cluster")));
  Entry user;
  const std::string user_name = Text(context.value, "user");
  if (!user_name.empty()) {
    ASSIGN_OR_RETURN(user, documents.Find("users", "user", user_name));
  }
  RETURN_IF_ERROR(RefuseWhatIsNotUnderstood(cluster, user, user_name));
  RETURN_IF_ERROR(ReadCluster(cluster, config));
  RETURN_IF_ERROR(ReadUser(user, user_name, cluster, config));
  if (std::string name_space = Text(context.value, "namespace"); !name_space.empty()) config.name_space = name_space;
  return config;
}

std::vector<std::filesystem::path> ListedKubeconfigs(std::string_view listed) {
  std::vector<std::filesystem::path> files;
  while (!listed.empty()) {
    const std::string_view file = listed.substr(0, listed.find(':'));
    listed.remove_prefix(std::min(listed.size(), file.size() + 1));
    if (!file.empty()) files.emplace_back(file);
  }
  return files;
}

StatusOr<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context) {
  std::vector<KubeconfigFile> files;
  Status missing = Error(StatusCode::kNotFound, "neither $KUBECONFIG nor $HOME names a file");
  const std::vector<std::filesystem::path> paths =
      path.empty() ? DefaultKubeconfigs() : std::vector<std::filesystem::path>{path};
  for (const std::filesystem::path& file : paths) {
    StatusOr<std::string> text = ReadFile(file, kKubeconfigBytesMax);
    if (text.ok()) {
      files.push_back({file, *std::move(text)});
      continue;
    }
    missing = text.status();
    // kubectl leaves out those of several that do not exist; one that cannot be read is a mistake.
    if (missing.code() != StatusCode::kNotFound) files.clear();
    if (missing.code() != StatusCode::kNotFound) break;
  }
  if (files.empty()) return Annotate(missing, "no usable kubeconfig; name one with --kubeconfig or $KUBECONFIG");
  ASSIGN_OR_RETURN(ClientConfig config, ParseKubeconfigs(files, context));
  if (config.proxy_url.empty()) {
    ASSIGN_OR_RETURN(config.proxy_url, ProxyOfEnvironment(config.server, [](const char* name) {
                       const char* value = std::getenv(name);
                       return std::string(value != nullptr ? value : "");
                     }));
  }
  return config;
}

}  // namespace attune::kube
