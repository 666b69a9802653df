#include "operator/local/containers/container_launch.h"

#include <algorithm>

#include "absl/strings/str_split.h"

namespace attune::local {
namespace {

using kube::Json;

// metadata.labels['key'] -> key
std::string KeyInBrackets(std::string_view path) {
  const size_t open = path.find("['");
  const size_t close = path.rfind("']");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return "";
  return std::string(path.substr(open + 2, close - open - 2));
}

struct Reference {
  const char* path;
  std::string (*value)(const LaunchInput&);
};
constexpr Reference kReferences[] = {
    {"metadata.name", [](const LaunchInput& input) { return std::string(kube::Name(input.pod)); }},
    {"metadata.namespace", [](const LaunchInput& input) { return std::string(kube::Namespace(input.pod)); }},
    {"metadata.uid", [](const LaunchInput& input) { return std::string(kube::Uid(input.pod)); }},
    {"status.podIP", [](const LaunchInput& input) { return input.ip; }},
    {"status.podIPs", [](const LaunchInput& input) { return input.ip; }},
    {"status.hostIP", [](const LaunchInput&) { return std::string("127.0.0.1"); }},
    {"spec.nodeName",
     [](const LaunchInput& input) {
       return std::string(kube::StringAt(input.pod, {"spec", "nodeName"}));
     }},
    {"spec.serviceAccountName",
     [](const LaunchInput& input) {
       return std::string(kube::StringAt(input.pod, {"spec", "serviceAccountName"}));
     }},
};
constexpr std::string_view kLabels = "metadata.labels[", kAnnotations = "metadata.annotations[";

StatusOr<std::string> FieldReference(const LaunchInput& input, std::string_view path) {
  for (const Reference& reference : kReferences) {
    if (path == reference.path) return reference.value(input);
  }
  if (path.starts_with(kLabels)) return std::string(kube::Label(input.pod, KeyInBrackets(path)));
  if (path.starts_with(kAnnotations)) return std::string(kube::Annotation(input.pod, KeyInBrackets(path)));
  return Error(
      StatusCode::kInvalidArgument,
      "fieldPath \"" + std::string(path) + "\" is not supported on the local platform; it has " + FieldReferences());
}

StatusOr<std::map<std::string, std::filesystem::path>> MountsOf(const LaunchInput& input) {
  std::map<std::string, std::filesystem::path> mounts;
  for (const Json& mount : kube::At(input.container, {"volumeMounts"})) {
    const std::string name(kube::StringAt(mount, {"name"}));
    const auto volume = input.volumes.find(name);
    if (volume == input.volumes.end())
      return Error(StatusCode::kInvalidArgument, "volumeMount of volume \"" + name + "\", which the pod does not have");
    std::string path(kube::StringAt(mount, {"mountPath"}));
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    // A container with a read-only root is given a /tmp; here there is one, and a user's paths below it mean that.
    if (path == "/tmp" && name.starts_with("attune-")) continue;
    const std::string_view sub_path = kube::StringAt(mount, {"subPath"});
    if (sub_path.find("..") != std::string_view::npos)
      return Error(StatusCode::kInvalidArgument, "subPath must not contain \"..\"");
    mounts[path] = sub_path.empty() ? volume->second : volume->second / std::string(sub_path);
  }
  const std::string log(kube::StringAt(input.container, {"terminationMessagePath"}));
  if (!log.empty() && !input.termination_log.empty()) mounts[log] = input.termination_log;
  return mounts;
}

bool StartsWithPath(std::string_view text, std::string_view path) {
  return text.starts_with(path) && (text.size() == path.size() || text[path.size()] == '/' || text[path.size()] == ':');
}

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

}  // namespace

bool IsFieldReference(std::string_view path) {
  return path.starts_with(kLabels) || path.starts_with(kAnnotations) ||
         std::any_of(std::begin(kReferences), std::end(kReferences),
                     [&](const Reference& reference) { return path == reference.path; });
}

std::string FieldReferences() {
  std::string all;
  for (const Reference& reference : kReferences) all += std::string(reference.path) + ", ";
  return all + "metadata.labels['NAME'], metadata.annotations['NAME']";
}

std::string ExpandVariables(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && text.substr(i + 1).starts_with("$")) {
      result += '$';
      ++i;
      continue;
    }
    const size_t close =
        text[i] == '$' && text.substr(i + 1).starts_with("(") ? text.find(')', i) : std::string_view::npos;
    if (close != std::string_view::npos) {
      const auto found = values.find(std::string(text.substr(i + 2, close - i - 2)));
      if (found != values.end()) {
        result += found->second;
        i = close;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

std::string RewriteMounts(const std::string& text, const std::map<std::string, std::filesystem::path>& mounts) {
  size_t start = 0;
  if (text.starts_with("-")) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return text;
    start = equals + 1;
  }
  const std::string_view value = std::string_view(text).substr(start);
  const std::pair<const std::string, std::filesystem::path>* best = nullptr;
  for (const auto& mount : mounts) {
    if (StartsWithPath(value, mount.first) && (best == nullptr || mount.first.size() > best->first.size()))
      best = &mount;
  }
  if (best == nullptr) return text;
  return text.substr(0, start) + best->second.string() + std::string(value.substr(best->first.size()));
}

StatusOr<std::string> RewriteNames(const std::string& text,
                                   const std::function<StatusOr<std::string>(const kube::ObjectKey&)>& resolve) {
  constexpr std::string_view kSuffix = ".svc";
  constexpr std::string_view kClusterDomain = ".cluster.local";
  std::string result = text;
  size_t from = 0;
  while (true) {
    const size_t suffix = result.find(kSuffix, from);
    if (suffix == std::string::npos) return result;
    size_t start = suffix;
    while (start > 0 && IsNameCharacter(result[start - 1])) --start;
    size_t end = suffix + kSuffix.size();
    if (std::string_view(result).substr(end).starts_with(kClusterDomain)) end += kClusterDomain.size();
    const std::vector<std::string> labels = absl::StrSplit(result.substr(start, suffix - start), '.');
    if (labels.size() != 3 || labels[0].empty() || (end < result.size() && IsNameCharacter(result[end]))) {
      from = suffix + kSuffix.size();
      continue;
    }
    ASSIGN_OR_RETURN(const std::string address, resolve({labels[2], labels[0]}));
    result.replace(start, end - start, address);
    from = start + address.size();
  }
}

StatusOr<Launch> MakeLaunch(const LaunchInput& input) {
  ASSIGN_OR_RETURN(const auto mounts, MountsOf(input));
  const auto rewrite = [&](const std::string& text) {
    return RewriteNames(RewriteMounts(text, mounts), input.resolve);
  };
  Launch launch;
  std::map<std::string, std::string> values;
  for (const Json& variable : kube::At(input.container, {"env"})) {
    const std::string name(kube::StringAt(variable, {"name"}));
    std::string value = ExpandVariables(kube::StringAt(variable, {"value"}), values);
    if (variable.contains("valueFrom")) {
      const Json& from = variable["valueFrom"];
      if (!kube::At(from, {"fieldRef"}).is_object()) {
        return Error(StatusCode::kInvalidArgument,
                     "environment variable " + name + ": only fieldRef is supported on the local platform");
      }
      ASSIGN_OR_RETURN(value, FieldReference(input, kube::StringAt(from, {"fieldRef", "fieldPath"})));
    }
    ASSIGN_OR_RETURN(value, rewrite(value));
    if (name.empty() || name.find('=') != std::string::npos)
      return Error(StatusCode::kInvalidArgument, "an environment variable has no usable name");
    values[name] = value;
    launch.environment.emplace_back(name, std::move(value));
  }
  for (const auto& [field, words] : {std::pair{"command", &launch.command}, std::pair{"args", &launch.arguments}}) {
    for (const Json& word : kube::At(input.container, {field})) {
      if (!word.is_string())
        return Error(StatusCode::kInvalidArgument, std::string(field) + ": every word is a string; got " + word.dump());
      ASSIGN_OR_RETURN(std::string text, rewrite(ExpandVariables(word.get_ref<const std::string&>(), values)));
      words->push_back(std::move(text));
    }
  }
  launch.directory = RewriteMounts(std::string(kube::StringAt(input.container, {"workingDir"})), mounts);
  return launch;
}

}  // namespace attune::local
