#include "operator/api/pod_template.h"

#include "operator/api/fields.h"
#include "proto/contract.h"

namespace attune::api {
namespace {

constexpr char kReservedLabels[] = "attune.dev/";
constexpr char kReservedVolumes[] = "attune-";
constexpr size_t kFoundTextMax = 60;

struct PodTemplateChecker {
  std::string_view role;
  std::vector<FieldProblem>& problems;

  // The member if it is there and of the wanted type; a problem and null otherwise.
  const Json* Member(const Json& object, const char* key, const std::string& path, bool (Json::*is)() const noexcept,
                     const char* wanted) {
    const auto at = object.find(key);
    if (at == object.end()) return nullptr;
    if (((*at).*is)()) return &*at;
    problems.push_back({path + "." + key, FoundText(*at), wanted});
    return nullptr;
  }

  void Metadata(const Json& metadata, const std::string& path) {
    for (const char* kind : {"labels", "annotations"}) {
      const Json* map = Member(metadata, kind, path, &Json::is_object, "a mapping of names to strings");
      if (map == nullptr) continue;
      for (const auto& [name, value] : map->items()) {
        const std::string at = path + "." + kind + "." + name;
        if (!value.is_string()) problems.push_back({at, FoundText(value), "a string; quote the value"});
        if (name.starts_with(kReservedLabels)) {
          problems.push_back(
              NameProblem(at, "a name the operator sets", "any name outside " + std::string(kReservedLabels)));
        }
      }
    }
    for (const auto& [name, value] : metadata.items()) {
      if (name == "labels" || name == "annotations") continue;
      if (name == "creationTimestamp" && value.is_null()) continue;  // generated manifests carry it
      problems.push_back(NameProblem(path + "." + name, "an unknown field", "labels, annotations"));
    }
  }

  void Containers(const Json& containers, const std::string& path) {
    bool has_role = false;
    std::string names;
    for (size_t i = 0; i < containers.size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      const Json& container = containers[i];
      if (!container.is_object()) {
        problems.push_back({at, FoundText(container), "a container: a mapping with name, image, command ..."});
        continue;
      }
      const auto name = container.find("name");
      if (name == container.end() || !name->is_string()) {
        problems.push_back(
            {at + ".name", name == container.end() ? "nothing" : FoundText(*name),
             "a DNS label; the " + std::string(role) + "'s own container is named " + std::string(role)});
        continue;
      }
      const auto& text = name->get_ref<const std::string&>();
      names += (names.empty() ? "" : ", ") + text;
      has_role = has_role || text == role;
      if (const Json& command = kube::At(container, {"command"});
          command.is_array() && !command.empty() && command.front() == "") {
        problems.push_back(
            {at + ".command[0]", "\"\"", "the name or the path of a program; without command the image's own runs"});
      }
      if (text == contract::kSidecarContainer) {
        problems.push_back({at + ".name", text, "any other name; the operator adds this container itself"});
      }
    }
    if (!has_role) {
      problems.push_back({path, names.empty() ? "no container" : "containers named " + names,
                          "one container named " + std::string(role) + ", which is the " + std::string(role)});
    }
  }

  void Spec(const Json& spec, const std::string& path) {
    if (const Json* containers = Member(spec, "containers", path, &Json::is_array, "a list of containers")) {
      Containers(*containers, path + ".containers");
    } else if (!spec.contains("containers")) {
      problems.push_back({path + ".containers", "nothing", "a list with one container named " + std::string(role)});
    }
    if (const auto policy = spec.find("restartPolicy"); policy != spec.end() && *policy != "Never") {
      problems.push_back({path + ".restartPolicy", FoundText(*policy),
                          "Never, or leave it out; spec.runPolicy.backoffLimit governs restarts"});
    }
    const Json* volumes = Member(spec, "volumes", path, &Json::is_array, "a list of volumes");
    for (size_t i = 0; volumes != nullptr && i < volumes->size(); ++i) {
      const Json& volume = (*volumes)[i];
      const auto name = volume.is_object() ? volume.find("name") : volume.end();
      if (!volume.is_object() || name == volume.end() || !name->is_string()) continue;
      if (name->get_ref<const std::string&>().starts_with(kReservedVolumes)) {
        problems.push_back({path + ".volumes[" + std::to_string(i) + "].name", FoundText(*name),
                            "a name that does not begin with attune-; those volumes are the operator's"});
      }
    }
  }
};

}  // namespace

std::string FoundText(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_object()) return value.empty() ? "an empty mapping" : "a mapping";
  if (value.is_array()) return value.empty() ? "an empty list" : "a list";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kFoundTextMax) text = text.substr(0, kFoundTextMax) + "...";
  return text;
}

void CheckPodTemplate(const Json& value, const std::string& path, std::string_view role,
                      std::vector<FieldProblem>& problems) {
  PodTemplateChecker checker{role, problems};
  if (const Json* metadata = checker.Member(value, "metadata", path, &Json::is_object, "a mapping")) {
    checker.Metadata(*metadata, path + ".metadata");
  }
  if (const Json* spec =
          checker.Member(value, "spec", path, &Json::is_object, "a pod's spec: a mapping with containers")) {
    checker.Spec(*spec, path + ".spec");
  } else if (!value.contains("spec")) {
    problems.push_back({path + ".spec", "nothing", "a pod's spec with one container named " + std::string(role)});
  }
  for (const auto& [name, member] : value.items()) {
    if (name == "metadata" || name == "spec") continue;
    std::string allowed = "metadata, spec";
    if (const auto nearest = NearestName(name, {"metadata", "spec"}))
      allowed = *nearest + " (nearest); all: " + allowed;
    problems.push_back(NameProblem(path + "." + name, "an unknown field", allowed));
  }
}

}  // namespace attune::api
