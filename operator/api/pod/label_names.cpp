#include "operator/api/pod/label_names.h"

#include <algorithm>

#include "operator/api/fields.h"
#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > kDnsLabelMax || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && !IsDnsName(text.substr(0, slash))) return false;
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return !name.empty() && IsLabelValue(name);
}

void CheckNamesAndValues(const Json& map, const std::string& path, bool values, std::vector<FieldProblem>& problems) {
  if (!map.is_object()) return;
  for (const auto& [name, value] : map.items()) {
    if (!IsQualifiedName(name)) {
      problems.push_back(NameProblem(path + "." + name, "a name that Kubernetes does not take",
                                     "letters, digits, '-', '_' and '.', at most 63, beginning and ending with a "
                                     "letter or digit; DOMAIN/ may stand before"));
    }
    if (value.is_null()) continue;  // read as an empty one
    if (!value.is_string()) {
      problems.push_back({path + "." + name, FoundText(value), "a string; put it in quotes"});
    } else if (values && !IsLabelValue(value.get_ref<const std::string&>())) {
      problems.push_back(
          {path + "." + name, FoundText(value),
           "letters, digits, '-', '_' and '.', at most 63, beginning and ending with a letter or digit"});
    }
  }
}

}  // namespace attune::api
