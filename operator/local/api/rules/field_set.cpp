#include "operator/local/api/rules/field_set.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "operator/local/api/rules/list_keys.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr size_t kManagersMax = 64;  // Update entries beyond it are merged away, oldest first

bool IsIdentity(const FieldPath& path, std::string_view field) {
  static constexpr std::array<std::string_view, 8> kMetadata{
      "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"};
  if (path.empty()) return field == "apiVersion" || field == "kind";
  if (path.size() == 1 && path[0] == "f:metadata") {
    return std::find(kMetadata.begin(), kMetadata.end(), field) != kMetadata.end() || field == "deletionTimestamp" ||
           field == "deletionGracePeriodSeconds";
  }
  return false;
}

std::string ItemElement(std::string_view key, const Json& item) {
  return "k:" + Json{{std::string(key), item[key]}}.dump();
}

// Calls visit(path, value) for every leaf: scalars, atomic lists, empty maps, set members and keyed items themselves
// (".").
template <typename Visit>
void VisitLeaves(const Json& value, std::string_view field, FieldPath& path, const Visit& visit) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) {
      if (IsIdentity(path, name)) continue;
      path.push_back("f:" + name);
      VisitLeaves(inner, name, path, visit);
      path.pop_back();
    }
    return;
  }
  if (value.is_array() && !value.empty() && IsSetList(field)) {
    for (const Json& item : value) {
      path.push_back("v:" + item.dump());
      visit(path, item);
      path.pop_back();
    }
    return;
  }
  const std::string_view key = value.is_array() && !value.empty() ? ListKey(field, value) : std::string_view{};
  if (key.empty()) return visit(path, value);
  for (const Json& item : value) {
    path.push_back(ItemElement(key, item));
    path.emplace_back(".");
    visit(path, item[key]);
    path.pop_back();
    VisitLeaves(item, {}, path, visit);
    path.pop_back();
  }
}

Json* FindItem(Json& list, const std::string& element) {
  const Json wanted = Json::parse(element.substr(2), nullptr, false);
  for (Json& item : list) {
    if (element.starts_with("v:")) {
      if (item == wanted) return &item;
    } else if (item.is_object() && wanted.is_object() && !wanted.empty()) {
      const auto key = item.find(wanted.begin().key());
      if (key != item.end() && *key == wanted.begin().value()) return &item;
    }
  }
  return nullptr;
}

// The value at `path`, or null when absent. A "." names the item it follows.
Json* Find(Json& object, const FieldPath& path) {
  Json* at = &object;
  for (const std::string& element : path) {
    if (element == ".") return at;
    if (element.starts_with("f:")) {
      if (!at->is_object()) return nullptr;
      const auto found = at->find(element.substr(2));
      if (found == at->end()) return nullptr;
      at = &*found;
    } else {
      if (!at->is_array() || (at = FindItem(*at, element)) == nullptr) return nullptr;
    }
  }
  return at;
}

// Removes the value at `path` and maps that become empty because of it; lists of items that become empty go too.
void Remove(Json& object, FieldPath path) {
  if (!path.empty() && path.back() == ".") path.pop_back();
  while (!path.empty()) {
    const std::string element = path.back();
    path.pop_back();
    Json* parent = Find(object, path);
    if (parent == nullptr) return;
    if (element.starts_with("f:")) {
      parent->erase(element.substr(2));
    } else if (Json* item = FindItem(*parent, element); item != nullptr) {
      parent->erase(static_cast<size_t>(item - &(*parent)[0]));
    }
    const bool is_item = !path.empty() && !path.back().starts_with("f:");
    if (!parent->empty() || is_item || path.empty()) return;
  }
}

void Merge(Json& live, const Json& config, std::string_view field) {
  if (config.is_object()) {
    if (!live.is_object()) live = Json::object();
    for (const auto& [name, value] : config.items()) {
      if (!value.is_null()) Merge(live[name], value, name);
    }
    return;
  }
  const std::string_view key = config.is_array() ? ListKey(field, config) : std::string_view{};
  if (IsSetList(field) && live.is_array() && config.is_array()) {
    for (const Json& item : config) {
      if (std::find(live.begin(), live.end(), item) == live.end()) live.push_back(item);
    }
  } else if (!key.empty() && live.is_array()) {
    for (const Json& item : config) {
      Json* found = FindItem(live, ItemElement(key, item));
      if (found == nullptr) {
        live.push_back(item);
      } else {
        Merge(*found, item, {});
      }
    }
  } else {
    live = config;
  }
}

struct Entry {
  Manager manager;
  FieldSet fields;
  Json json;  // of managedFields
};

std::vector<Entry> EntriesOf(const Json& object) {
  std::vector<Entry> entries;
  for (const Json& json : kube::At(object, {"metadata", "managedFields"})) {
    Manager manager{std::string(kube::StringAt(json, {"manager"})), std::string(kube::StringAt(json, {"operation"})),
                    std::string(kube::StringAt(json, {"subresource"}))};
    entries.push_back({std::move(manager), FromFieldsV1(kube::At(json, {"fieldsV1"})), json});
  }
  return entries;
}

Entry& EntryFor(std::vector<Entry>& entries, const Manager& manager) {
  for (Entry& entry : entries) {
    if (entry.manager == manager) return entry;
  }
  Json json{{"manager", manager.name}, {"operation", manager.operation}, {"fieldsType", "FieldsV1"}};
  if (!manager.subresource.empty()) json["subresource"] = manager.subresource;
  entries.push_back({manager, {}, std::move(json)});
  return entries.back();
}

void StoreEntries(std::vector<Entry>& entries, Json& object) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields.empty(); });
  while (entries.size() > kManagersMax) entries.erase(entries.begin());
  Json list = Json::array();
  for (Entry& entry : entries) {
    entry.json["apiVersion"] = object.value("apiVersion", Json("v1"));
    entry.json["fieldsV1"] = ToFieldsV1(entry.fields);
    list.push_back(std::move(entry.json));
  }
  object["metadata"]["managedFields"] = std::move(list);
}

bool OwnedByOther(const std::vector<Entry>& entries, const Manager& manager, const FieldPath& path) {
  // An item of a list stays while anyone owns something inside it.
  FieldPath prefix = path;
  const bool item = prefix.back() == ".";
  if (item) prefix.pop_back();
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    if (entry.manager == manager) return false;
    if (!item) return entry.fields.contains(path);
    const auto next = entry.fields.lower_bound(prefix);
    return next != entry.fields.end() && next->size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), next->begin());
  });
}

std::string ManagersOf(const std::vector<Entry>& entries, const Manager& manager, const FieldPath& path) {
  std::string names;
  for (const Entry& entry : entries) {
    if (entry.manager == manager || !entry.fields.contains(path)) continue;
    names += (names.empty() ? "\"" : ", \"") + entry.manager.name + "\"";
  }
  return names;
}

Status CheckConflicts(const std::vector<Entry>& entries, const Manager& manager, Json& live, Json& config,
                      const FieldSet& stated) {
  std::string conflicts;
  int count = 0;
  for (const FieldPath& path : stated) {
    const Json* now = Find(live, path);
    const Json* wanted = Find(config, path);
    if (path.back() == "." || now == nullptr || wanted == nullptr || *now == *wanted) continue;
    const std::string managers = ManagersOf(entries, manager, path);
    if (managers.empty()) continue;
    conflicts += (count++ == 0 ? "" : ", ") + DisplayPath(path) + " (managed by " + managers + ")";
  }
  if (count == 0) return OkStatus();
  return Error(StatusCode::kAborted, "Apply failed with " + std::to_string(count) + " conflict" +
                                         (count == 1 ? "" : "s") + ": " + conflicts +
                                         "; apply with force to take these fields over");
}

}  // namespace

FieldSet FieldsOf(const Json& object) {
  FieldSet fields;
  FieldPath path;
  VisitLeaves(object, {}, path, [&](const FieldPath& leaf, const Json&) {
    if (!leaf.empty()) fields.insert(leaf);
  });
  return fields;
}

FieldSet ChangedFields(const Json& before, const Json& after) {
  FieldSet changed;
  FieldPath path;
  Json old = before;
  VisitLeaves(after, {}, path, [&](const FieldPath& leaf, const Json& value) {
    if (leaf.empty()) return;
    const Json* was = Find(old, leaf);
    if (was == nullptr || (leaf.back() != "." && *was != value)) changed.insert(leaf);
  });
  return changed;
}

Json ToFieldsV1(const FieldSet& fields) {
  Json root = Json::object();
  for (const FieldPath& path : fields) {
    Json* at = &root;
    for (const std::string& element : path) {
      at = &(*at)[element];
      if (at->is_null()) *at = Json::object();
    }
  }
  return root;
}

FieldSet FromFieldsV1(const Json& json) {
  FieldSet fields;
  FieldPath path;
  const auto walk = [&](const auto& self, const Json& at) -> void {
    if (!at.is_object()) return;
    for (const auto& [element, inner] : at.items()) {
      path.push_back(element);
      if (inner.empty()) {
        fields.insert(path);
      } else {
        self(self, inner);
      }
      path.pop_back();
    }
  };
  walk(walk, json);
  return fields;
}

std::string DisplayPath(const FieldPath& path) {
  std::string text;
  for (const std::string& element : path) {
    if (element.starts_with("f:")) {
      text += "." + element.substr(2);
    } else if (element.starts_with("k:")) {
      const Json key = Json::parse(element.substr(2), nullptr, false);
      text += "[" + (key.is_object() && !key.empty() ? key.begin().key() + "=" + key.begin().value().dump() : element) +
              "]";
    } else if (element.starts_with("v:")) {
      text += "[" + element.substr(2) + "]";
    }
  }
  return text;
}

StatusOr<Json> ServerSideApply(const Json& live, const Json& config, const Manager& manager, bool force,
                               const std::string& time) {
  std::vector<Entry> entries = EntriesOf(live);
  const FieldSet stated = FieldsOf(config);
  Json result = live;
  Json wanted = config;
  if (!force) RETURN_IF_ERROR(CheckConflicts(entries, manager, result, wanted, stated));

  const FieldSet before = EntryFor(entries, manager).fields;
  // Fields taken over by force leave their former managers; equal values are shared.
  for (Entry& entry : entries) {
    if (entry.manager == manager) continue;
    std::erase_if(entry.fields, [&](const FieldPath& path) {
      if (!stated.contains(path) || path.back() == ".") return false;
      const Json* now = Find(result, path);
      const Json* next = Find(wanted, path);
      return now != nullptr && next != nullptr && *now != *next;
    });
  }
  for (const FieldPath& path : before) {
    if (!stated.contains(path) && !OwnedByOther(entries, manager, path)) Remove(result, path);
  }
  wanted.erase("apiVersion");
  wanted.erase("kind");
  Merge(result, wanted, {});
  Entry& entry = EntryFor(entries, manager);
  if (entry.fields != stated) {
    entry.fields = stated;
    entry.json["time"] = time;
  }
  StoreEntries(entries, result);
  return result;
}

void RecordUpdate(const Json& before, Json& after, const Manager& manager, const std::string& time) {
  const FieldSet changed = ChangedFields(before, after);
  std::vector<Entry> entries = EntriesOf(before);
  for (Entry& entry : entries) {
    // Who changes a value owns it; fields that are gone belong to none.
    std::erase_if(entry.fields, [&](const FieldPath& path) {
      return (path.back() != "." && changed.contains(path)) || Find(after, path) == nullptr;
    });
  }
  if (!changed.empty()) {
    Entry& entry = EntryFor(entries, manager);
    entry.fields.insert(changed.begin(), changed.end());
    entry.json["time"] = time;
  }
  StoreEntries(entries, after);
}

}  // namespace attune::local
