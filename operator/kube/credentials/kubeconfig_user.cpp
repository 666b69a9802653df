#include "operator/kube/credentials/kubeconfig_user.h"

namespace attune::kube {
namespace {

Status Bad(const std::string& what) { return Error(StatusCode::kInvalidArgument, what); }

// A list of texts; absent is empty.
StatusOr<std::vector<std::string>> Texts(const Json& list, const std::string& what) {
  std::vector<std::string> texts;
  if (list.is_null()) return texts;
  if (!list.is_array()) return Bad(what + " is not a list");
  for (const Json& item : list) {
    if (!item.is_string()) return Bad(what + " holds something that is not a text");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

StatusOr<std::vector<std::string>> Environment(const Json& list) {
  std::vector<std::string> variables;
  if (list.is_null()) return variables;
  if (!list.is_array()) return Bad("exec.env is not a list");
  for (const Json& item : list) {
    const std::string name(StringAt(item, {"name"}));
    if (name.empty() || name.find('=') != std::string::npos) {
      return Bad("exec.env holds a variable without a name, or with a '=' in it");
    }
    variables.push_back(name + "=" + std::string(StringAt(item, {"value"})));
  }
  return variables;
}

// v1 has to say whether it needs a terminal, which there is none of here.
Status CheckInteractive(const Json& exec, const ExecPlugin& plugin) {
  const std::string_view mode = StringAt(exec, {"interactiveMode"});
  if (mode == "Never" || mode == "IfAvailable") return OkStatus();
  if (mode == "Always") {
    return Error(StatusCode::kUnimplemented,
                 "exec.interactiveMode is Always: '" + plugin.command +
                     "' wants to ask at a terminal, which is not passed on; log in with it first and say IfAvailable, "
                     "or use a token, for example from `kubectl create token`");
  }
  if (mode.empty() && plugin.api_version.ends_with("/v1beta1")) return OkStatus();
  return Bad("exec.interactiveMode must be Never, IfAvailable or Always");
}

// The extension "exec" of a cluster is for the program alone.
Json ClusterConfig(const Json& cluster) {
  const Json& extensions = At(cluster, {"extensions"});
  if (!extensions.is_array()) return Json();
  for (const Json& entry : extensions) {
    if (StringAt(entry, {"name"}) == "exec") return At(entry, {"extension"});
  }
  return Json();
}

}  // namespace

StatusOr<ExecPlugin> ExecPluginOf(const Json& user, const Json& cluster, const std::filesystem::path& directory) {
  ExecPlugin plugin;
  const Json& exec = At(user, {"exec"});
  if (exec.is_null()) return plugin;
  plugin.api_version = StringAt(exec, {"apiVersion"});
  plugin.command = StringAt(exec, {"command"});
  if (plugin.command.empty()) return Bad("exec has no command");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return Error(StatusCode::kUnimplemented,
                 "exec.apiVersion \"" + plugin.api_version +
                     "\" is not supported; client.authentication.k8s.io/v1 and v1beta1 are, with a newer '" +
                     plugin.command + "'");
  }
  RETURN_IF_ERROR(CheckInteractive(exec, plugin));
  const std::filesystem::path command = plugin.command;
  if (command.is_relative() && command.has_parent_path())
    plugin.command = std::filesystem::absolute(directory / command);
  ASSIGN_OR_RETURN(plugin.arguments, Texts(At(exec, {"args"}), "exec.args"));
  ASSIGN_OR_RETURN(plugin.environment, Environment(At(exec, {"env"})));
  plugin.install_hint = StringAt(exec, {"installHint"});
  plugin.provide_cluster_info = StringAt(exec, {"provideClusterInfo"}) == "true";
  if (plugin.provide_cluster_info) plugin.cluster_config = ClusterConfig(cluster);
  return plugin;
}

StatusOr<Impersonation> ImpersonationOf(const Json& user) {
  Impersonation who;
  who.user = StringAt(user, {"as"});
  who.uid = StringAt(user, {"as-uid"});
  ASSIGN_OR_RETURN(who.groups, Texts(At(user, {"as-groups"}), "as-groups"));
  const Json& extra = At(user, {"as-user-extra"});
  if (!extra.is_null() && !extra.is_object()) return Bad("as-user-extra is not a map");
  if (extra.is_object()) {
    for (const auto& [key, values] : extra.items()) {
      ASSIGN_OR_RETURN(who.extra[key], Texts(values, "as-user-extra." + key));
    }
  }
  if (who.user.empty() && (!who.uid.empty() || !who.groups.empty() || !who.extra.empty())) {
    return Bad("as-uid, as-groups and as-user-extra need `as`, the user to act as");
  }
  return who;
}

}  // namespace attune::kube
