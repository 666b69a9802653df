#include "operator/kube/object.h"

#include <charconv>

namespace attune::kube {
namespace {

const Json& NullValue() {
  static const Json null;
  return null;
}

const Json& Field(const Json& object, std::string_view name) {
  if (!object.is_object()) return NullValue();
  // nlohmann-json's heterogeneous lookup needs a transparent comparator, which its default map has.
  auto found = object.find(name);
  return found == object.end() ? NullValue() : *found;
}

std::string_view StringOf(const Json& value) {
  const auto* text = value.get_ptr<const Json::string_t*>();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

}  // namespace

std::string_view Name(const Json& object) { return StringAt(object, {"metadata", "name"}); }
std::string_view Namespace(const Json& object) { return StringAt(object, {"metadata", "namespace"}); }
std::string_view Uid(const Json& object) { return StringAt(object, {"metadata", "uid"}); }
std::string_view ResourceVersion(const Json& object) { return StringAt(object, {"metadata", "resourceVersion"}); }

uint64_t VersionNumber(const Json& object) {
  const std::string_view text = ResourceVersion(object);
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}
int64_t Generation(const Json& object) { return IntegerAt(object, {"metadata", "generation"}); }

std::string_view Label(const Json& object, std::string_view label) {
  return StringAt(object, {"metadata", "labels", label});
}

std::string_view Annotation(const Json& object, std::string_view annotation) {
  return StringAt(object, {"metadata", "annotations", annotation});
}

bool IsBeingDeleted(const Json& object) { return !StringAt(object, {"metadata", "deletionTimestamp"}).empty(); }

bool EndsInitialEvents(const Json& bookmark) { return Annotation(bookmark, "k8s.io/initial-events-end") == "true"; }

ObjectKey KeyOf(const Json& object) { return {std::string(Namespace(object)), std::string(Name(object))}; }

const Json& At(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* here = &object;
  for (std::string_view name : path) here = &Field(*here, name);
  return *here;
}

std::string_view StringAt(const Json& object, std::initializer_list<std::string_view> path) {
  return StringOf(At(object, path));
}

int64_t IntegerAt(const Json& object, std::initializer_list<std::string_view> path, int64_t otherwise) {
  const Json& value = At(object, path);
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

void DropManagedFields(Json& object) {
  if (object.is_object() && object.contains("metadata") && object["metadata"].is_object())
    object["metadata"].erase("managedFields");
}

}  // namespace attune::kube
