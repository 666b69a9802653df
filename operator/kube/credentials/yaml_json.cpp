#include "operator/kube/credentials/yaml_json.h"

#include <yaml-cpp/yaml.h>

#include <charconv>

namespace attune::kube {
namespace {

constexpr int kDepthMax = 32;
constexpr int kValuesMax = 200'000;

Status Bad(const YAML::Mark& mark, const std::string& what) {
  return Error(StatusCode::kInvalidArgument, "line " + std::to_string(mark.line + 1) + ": " + what);
}

template <typename Number>
bool ParseWhole(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// As the core schema of YAML has it. A quoted scalar is a text whatever is in it.
Json Typed(const YAML::Node& scalar) {
  const std::string& text = scalar.Scalar();
  if (scalar.Tag() == "!") return text;
  if (text == "true" || text == "false") return text == "true";
  int64_t whole = 0;
  double number = 0;
  if (ParseWhole(text, whole)) return whole;
  if (ParseWhole(text, number)) return number;
  return text;
}

class Converter {
 public:
  StatusOr<Json> Convert(const YAML::Node& node, bool typed, int depth) {
    if (depth > kDepthMax || ++values_ > kValuesMax) return Bad(node.Mark(), "too deep or too large for a kubeconfig");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return typed ? Typed(node) : Json(node.Scalar());
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (const YAML::Node& item : node) {
          ASSIGN_OR_RETURN(Json value, Convert(item, typed, depth + 1));
          list.push_back(std::move(value));
        }
        return list;
      }
      case YAML::NodeType::Map: {
        Json map = Json::object();
        for (const auto& entry : node) {
          if (!entry.first.IsScalar()) return Bad(entry.first.Mark(), "a key is not a text");
          const std::string& key = entry.first.Scalar();
          ASSIGN_OR_RETURN(map[key], Convert(entry.second, typed || key == "extension", depth + 1));
        }
        return map;
      }
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return Json();
  }

 private:
  int values_ = 0;
};

}  // namespace

StatusOr<Json> JsonFromYaml(const std::string& text) {
  try {
    return Converter().Convert(YAML::Load(text), /*typed=*/false, 0);
  } catch (const YAML::Exception& e) {
    return Bad(e.mark, e.msg);
  }
}

}  // namespace attune::kube
