#include "cli/display/object_text.h"

#include "operator/api/manifest/yaml.h"

namespace attune::cli {

std::string JsonText(const kube::Json& value) {
  return value.dump(2, ' ', false, kube::Json::error_handler_t::replace) + "\n";
}

std::string ObjectText(const kube::Json& object, const std::string& format) {
  return format == "yaml" ? api::ToYaml(object) : JsonText(object);
}

}  // namespace attune::cli
