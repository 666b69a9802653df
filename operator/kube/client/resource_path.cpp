#include "operator/kube/client/resource_path.h"

namespace attune::kube {

std::string PercentEncode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (unsigned char c : text) {
    bool is_letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_letter_or_digit || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += static_cast<char>(c);
    } else {
      encoded += '%';
      encoded += kHex[c >> 4];
      encoded += kHex[c & 15];
    }
  }
  return encoded;
}

std::string ToString(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    text += text.empty() ? '?' : '&';
    text += std::string(name) + "=" + PercentEncode(value);
  }
  return text;
}

std::string CollectionPath(const ResourceType& type, std::string_view name_space) {
  std::string path = (type.group.empty() ? "/api/" : "/apis/" + type.group + "/") + type.version;
  if (type.namespaced && !name_space.empty()) path += "/namespaces/" + PercentEncode(name_space);
  return path + "/" + type.plural;
}

StatusOr<std::string> ObjectPath(const ResourceType& type, const ObjectKey& key, std::string_view subresource) {
  // "." and ".." would be taken away by the HTTP library and address another object.
  auto is_segment = [](std::string_view name) { return !name.empty() && name != "." && name != ".."; };
  if (!is_segment(key.name)) {
    return Error(StatusCode::kInvalidArgument, type.kind + ": \"" + key.name + "\" is not an object's name");
  }
  if (type.namespaced && !is_segment(key.name_space)) {
    return Error(StatusCode::kInvalidArgument, type.kind + " " + key.name + ": a namespace is required");
  }
  std::string path = CollectionPath(type, key.name_space) + "/" + PercentEncode(key.name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

}  // namespace attune::kube
