#include "operator/api/pod/pod_object_rules.h"

#include <algorithm>
#include <set>

#include "operator/api/names.h"
#include "operator/api/pod/pod_field_text.h"
#include "operator/api/pod/pod_rules.h"
#include "operator/kube/object.h"

namespace attune::api {
namespace {

void Unique(const Json& value, const std::string& path, const char* list, const char* key,
            std::vector<FieldProblem>& problems) {
  std::set<std::string> seen;
  const Json& items = kube::At(value, {list});
  if (!items.is_array()) return;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string text(items[i].is_object() ? kube::StringAt(items[i], {key}) : "");
    if (!text.empty() && !seen.insert(text).second)
      problems.push_back({path + "." + list + "[" + std::to_string(i) + "]." + key, "\"" + text + "\" again",
                          "one that no other of the " + std::string(list) + " has"});
  }
}

void UniqueContainers(const Json& value, const std::string& path, std::vector<FieldProblem>& problems) {
  std::set<std::string> seen;
  for (const char* list : {"initContainers", "containers"}) {
    const Json& items = kube::At(value, {list});
    for (size_t i = 0; items.is_array() && i < items.size(); ++i) {
      const std::string name(items[i].is_object() ? kube::StringAt(items[i], {"name"}) : "");
      if (!name.empty() && !seen.insert(name).second)
        problems.push_back({path + "." + list + "[" + std::to_string(i) + "].name", "\"" + name + "\" again",
                            "a name that no other container of the pod has"});
    }
  }
}

}  // namespace

void CheckChoice(const SchemaType& type, const Json& value, const std::string& path,
                 std::vector<FieldProblem>& problems) {
  for (const ChoiceRule& rule : ChoiceRules()) {
    if (rule.type != type.name) continue;
    std::vector<std::string> members(rule.members.begin(), rule.members.end());
    if (members.empty()) members = NamesOf(type);
    std::erase(members, "name");
    std::vector<std::string> found;
    bool unknown = false;  // perhaps the one that is missing, misspelled, which is a problem already
    for (const auto& [name, member] : value.items()) {
      unknown = unknown || FindSchemaField(type, name) == nullptr;
      if (!member.is_null() && std::find(members.begin(), members.end(), name) != members.end()) found.push_back(name);
    }
    if (found.size() > 1) problems.push_back({path, JoinNames(found), "one of them"});
    if (!found.empty() || rule.may_be_none || unknown) continue;
    problems.push_back(
        {path, "nothing that says what it is",
         members.size() <= kNamesListedMax ? "one of " + JoinNames(members) : "a " + std::string(type.name)});
  }
}

void CheckUnique(const SchemaType& type, const Json& value, const std::string& path,
                 std::vector<FieldProblem>& problems) {
  if (type.name == "PodSpec") Unique(value, path, "volumes", "name", problems);
  if (type.name == "PodSpec") UniqueContainers(value, path, problems);
  if (type.name == "Container") Unique(value, path, "volumeMounts", "mountPath", problems);
}

}  // namespace attune::api
