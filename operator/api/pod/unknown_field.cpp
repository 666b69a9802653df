#include "operator/api/pod/unknown_field.h"

#include <algorithm>
#include <cstddef>

#include "operator/api/names.h"
#include "operator/api/pod/pod_field_text.h"

namespace attune::api {
namespace {

constexpr size_t kElsewhereMax = 3;  // places named for a field that stands at the wrong one

// A place near by where the name is right.
std::string Elsewhere(const SchemaScopes& scopes, const std::string& name) {
  const auto& [innermost, path] = scopes.back();
  const SchemaType& type = *innermost;
  if (type.name == "Container" || type.name == "ResourceRequirements") {
    const std::string resources = type.name == "Container" ? path + ".resources" : path;
    if (name == "cpu" || name == "memory") return "the field at " + resources + ".limits." + name;
  }
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (scope->first != &type && FindSchemaField(*scope->first, name) != nullptr)
      return "the field at " + scope->second + "." + name;
  }
  std::vector<std::string> below;
  for (const SchemaField& field : type.fields) {
    if (field.type == nullptr || field.shape == SchemaShape::kMap || FindSchemaField(*field.type, name) == nullptr)
      continue;
    below.push_back("." + std::string(field.name) + (field.shape == SchemaShape::kList ? "[]." : ".") + name);
  }
  // Of containers the ordinary ones are meant.
  if (std::find(below.begin(), below.end(), ".containers[]." + name) != below.end()) below = {".containers[]." + name};
  if (below.empty() || below.size() > kElsewhereMax) return "";
  std::string text;
  for (const std::string& each : below) text += (text.empty() ? "the field at " : " or ") + path + each;
  return text;
}

}  // namespace

std::string InsteadOfUnknown(const SchemaScopes& scopes, const std::string& name) {
  std::string elsewhere = Elsewhere(scopes, name);
  if (!elsewhere.empty()) return elsewhere;
  const SchemaType& type = *scopes.back().first;
  const auto nearest = NearestName(name, NamesOf(type));
  if (nearest && type.fields.size() > kNamesListedMax) return *nearest + " (nearest)";
  return (nearest ? *nearest + " (nearest); " : "") + AllNames(type);
}

}  // namespace attune::api
