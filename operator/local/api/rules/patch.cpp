#include "operator/local/api/rules/patch.h"

#include <algorithm>

#include "operator/local/api/rules/list_keys.h"

namespace attune::local {
namespace {

using kube::Json;

void StrategicMerge(Json& target, const Json& patch);

void StrategicMergeKeyedList(Json& target, const Json& patch, std::string_view key) {
  if (!target.is_array()) target = Json::array();
  for (const Json& item : patch) {
    const auto same = [&](const Json& other) {
      return other.is_object() && other.contains(key) && item.contains(key) && other[key] == item[key];
    };
    const auto found = std::find_if(target.begin(), target.end(), same);
    const std::string_view directive = kube::StringAt(item, {"$patch"});
    if (directive == "delete") {
      if (found != target.end()) target.erase(found);
      continue;
    }
    if (found == target.end()) {
      Json added = Json::object();
      StrategicMerge(added, item);
      target.push_back(std::move(added));
    } else {
      StrategicMerge(*found, item);
    }
  }
}

void StrategicMergeSet(Json& target, const Json& patch) {
  if (!target.is_array()) target = Json::array();
  for (const Json& item : patch) {
    if (std::find(target.begin(), target.end(), item) == target.end()) target.push_back(item);
  }
}

bool StartsWithReplaceDirective(const Json& list) {
  return std::any_of(list.begin(), list.end(), [](const Json& item) {
    return item.size() == 1 && kube::StringAt(item, {"$patch"}) == "replace";
  });
}

void StrategicMergeList(std::string_view field, Json& target, const Json& patch) {
  if (StartsWithReplaceDirective(patch)) {
    target = Json::array();
    for (const Json& item : patch) {
      if (!item.is_object() || !item.contains("$patch")) target.push_back(item);
    }
    return;
  }
  if (IsSetList(field)) return StrategicMergeSet(target, patch);
  const std::string_view key = patch.empty() ? std::string_view{} : ListKey(field, patch);
  if (!key.empty()) return StrategicMergeKeyedList(target, patch, key);
  target = patch;
}

void DeleteFromPrimitiveList(Json& target, std::string_view field, const Json& values) {
  const auto list = target.find(field);
  if (list == target.end() || !list->is_array() || !values.is_array()) return;
  for (const Json& value : values) list->erase(std::remove(list->begin(), list->end(), value), list->end());
}

void StrategicMerge(Json& target, const Json& patch) {
  constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
  if (!target.is_object()) target = Json::object();
  if (kube::StringAt(patch, {"$patch"}) == "replace") target = Json::object();
  for (const auto& [field, value] : patch.items()) {
    if (field.starts_with(kDeleteFromList)) {
      DeleteFromPrimitiveList(target, std::string_view(field).substr(kDeleteFromList.size()), value);
    } else if (field.starts_with("$")) {
      continue;  // "$patch", "$setElementOrder/...", "$retainKeys": the order of items carries no meaning here
    } else if (value.is_null()) {
      target.erase(field);
    } else if (value.is_object()) {
      StrategicMerge(target[field], value);
    } else if (value.is_array()) {
      StrategicMergeList(field, target[field], value);
    } else {
      target[field] = value;
    }
  }
}

StatusOr<Json> ApplyJsonPatch(const Json& object, const Json& patch) {
  if (!patch.is_array())
    return Error(StatusCode::kInvalidArgument, "a JSON patch is a list of operations; send [{\"op\": ...}]");
  try {
    return object.patch(patch);
  } catch (const Json::exception& error) {
    return Error(StatusCode::kInvalidArgument,
                 std::string("the server rejected our request due to an error in our request: ") + error.what());
  }
}

}  // namespace

StatusOr<Json> ApplyPatch(const Json& object, kube::PatchType type, const Json& patch) {
  if (type == kube::PatchType::kJson) return ApplyJsonPatch(object, patch);
  if (!patch.is_object())
    return Error(StatusCode::kInvalidArgument, "a merge patch is a JSON object; send {\"metadata\": ...}");
  Json result = object;
  if (type == kube::PatchType::kMerge) {
    result.merge_patch(patch);
  } else {
    StrategicMerge(result, patch);
  }
  return result;
}

}  // namespace attune::local
