#include "operator/api/manifest/yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

template <size_t Count>
bool IsOneOf(std::string_view text, const std::array<std::string_view, Count>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kTrues{"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalses{"false", "False", "FALSE"};
constexpr std::array<std::string_view, 7> kNonFinite{".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf"};
// Booleans of YAML 1.1.
constexpr std::array<std::string_view, 16> kAmbiguous{"yes", "Yes", "YES", "no",  "No", "NO", "on", "On",
                                                      "ON",  "off", "Off", "OFF", "y",  "Y",  "n",  "N"};

size_t DigitsFrom(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

bool IsDecimal(std::string_view text) {
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const size_t digits = DigitsFrom(text, sign);
  return digits > 0 && sign + digits == text.size();
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool IsFloat(std::string_view text) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const size_t whole = DigitsFrom(text, at);
  at += whole;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') fraction = DigitsFrom(text, ++at), at += fraction;
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t exponent = DigitsFrom(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

std::optional<Json> Based(std::string_view digits, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return Json(number);
}

Json Floating(const std::string& text) {
  const double number = std::strtod(text.c_str(), nullptr);  // the program never leaves the "C" locale
  return number;
}

Json Decimal(const std::string& text) {
  const std::string_view digits = text[0] == '+' ? std::string_view(text).substr(1) : std::string_view(text);
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc()) return number;
  if (auto large = Based(digits, 10)) return *large;
  return Floating(text);
}

// Resolves a plain scalar; nullopt when its meaning depends on the reader.
std::optional<Json> Plain(const std::string& text) {
  if (IsOneOf(text, kNulls)) return Json();
  if (IsOneOf(text, kTrues)) return Json(true);
  if (IsOneOf(text, kFalses)) return Json(false);
  if (IsOneOf(text, kAmbiguous)) return std::nullopt;
  if (IsDecimal(text)) {
    const size_t sign = text[0] == '-' || text[0] == '+' ? 1 : 0;
    if (text.size() - sign > 1 && text[sign] == '0') return std::nullopt;
    return Decimal(text);
  }
  if (text.starts_with("0o")) {
    if (auto number = Based(std::string_view(text).substr(2), 8)) return number;
  }
  if (text.starts_with("0x")) {
    if (auto number = Based(std::string_view(text).substr(2), 16)) return number;
  }
  if (IsFloat(text)) return Floating(text);
  return Json(text);
}

class Converter {
 public:
  explicit Converter(YamlDocument& document) : document_(document) {}

  Json Value(const YAML::Node& node, const std::string& path, int depth) {
    if (full_) return {};
    if (std::any_of(around_.begin(), around_.end(), [&](const YAML::Node* each) { return each->is(node); })) {
      Problem(MarkOf(path, node), path, "an alias of a value that it is itself part of, which has no end",
              "a value that does not contain itself");
      return {};
    }
    around_.push_back(&node);
    Json value = ValueOf(node, path, depth);
    around_.pop_back();
    return value;
  }

 private:
  Json ValueOf(const YAML::Node& node, const std::string& path, int depth) {
    if (++nodes_ > kYamlNodesMax || depth > kYamlDepthMax) {
      full_ = true;
      Problem(node.Mark(), path, "too much",
              "at most " + std::to_string(kYamlNodesMax) + " values, nested at most " + std::to_string(kYamlDepthMax) +
                  " deep (aliases counted each time)");
      return {};
    }
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return Scalar(node, path);
      case YAML::NodeType::Sequence:
        return Sequence(node, path, depth);
      case YAML::NodeType::Map:
        return Map(node, path, depth);
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        return {};
    }
    return {};
  }

  // An alias has the place of what it stands for: the key before it is what the reader looks for.
  YAML::Mark MarkOf(const std::string& path, const YAML::Node& node) const {
    const auto place = document_.places.find(path);
    YAML::Mark mark = node.Mark();
    if (place == document_.places.end()) return mark;
    mark.line = place->second.key_line - 1;
    mark.column = place->second.key_column - 1;
    return mark;
  }

  void Problem(const YAML::Mark& mark, const std::string& path, std::string found, std::string allowed) {
    document_.problems.push_back(
        {path.empty() ? "(document)" : path, std::move(found), std::move(allowed), mark.line + 1, mark.column + 1});
  }

  Json Scalar(const YAML::Node& node, const std::string& path) {
    const std::string& text = node.Scalar();
    const std::string& tag = node.Tag();
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return text;
    if (tag == "?" || tag.empty() || tag == "tag:yaml.org,2002:int" || tag == "tag:yaml.org,2002:float" ||
        tag == "tag:yaml.org,2002:bool" || tag == "tag:yaml.org,2002:null") {
      if (IsOneOf(text, kNonFinite) || text == "-.inf" || text == "-.Inf" || text == "-.INF") {
        Problem(node.Mark(), path, text, "a finite number, or a quoted string");
        return {};
      }
      if (auto value = Plain(text)) return *value;
      document_.unclear[path] = text;
      const bool number = text.find_first_of("0123456789") != std::string::npos;
      Problem(
          node.Mark(), path, text + ", which readers of YAML understand differently",
          number ? "\"" + text + "\" as a string, 0o" +
                       text.substr(text.find_first_not_of("+-0") == std::string::npos ? text.size() - 1
                                                                                      : text.find_first_not_of("+-0")) +
                       " as octal, or the decimal number without leading zeros"
                 : "\"" + text + "\" as a string, or true or false");
      return {};
    }
    Problem(node.Mark(), path, "the tag " + tag, "no tag, or one of !!str, !!int, !!float, !!bool, !!null");
    return text;
  }

  Json Sequence(const YAML::Node& node, const std::string& path, int depth) {
    Json list = Json::array();
    for (const YAML::Node& item : node) {
      const std::string at = path + "[" + std::to_string(list.size()) + "]";
      document_.places[at] = PlaceOf(item, item);
      list.push_back(Value(item, at, depth + 1));
    }
    return list;
  }

  Json Map(const YAML::Node& node, const std::string& path, int depth) {
    Json object = Json::object();
    std::map<std::string, int> lines;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        Problem(entry.first.Mark(), path, "a key that is a mapping, a list or empty", "a name before the colon");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const std::string at = path.empty() ? key : path + "." + key;
      if (key == "<<" && entry.first.Tag() == "?") {
        Problem(entry.first.Mark(), at, "a merge key", "the fields written out, or an alias (*name) for a whole value");
        continue;
      }
      const auto [first, fresh] = lines.emplace(key, entry.first.Mark().line + 1);
      if (!fresh) {
        Problem(entry.first.Mark(), at, "the key a second time",
                "one; the first is in line " + std::to_string(first->second));
        continue;
      }
      document_.places[at] = PlaceOf(entry.first, entry.second);
      object[key] = Value(entry.second, at, depth + 1);
    }
    return object;
  }

  static Place PlaceOf(const YAML::Node& key, const YAML::Node& value) {
    const YAML::Mark key_mark = key.Mark();
    YAML::Mark mark = value.Mark();
    // An empty value has no place of its own; a block begins below its key: the key is what the reader looks for.
    if (value.IsNull() || !value.IsScalar()) mark = key_mark;
    return {mark.line + 1, mark.column + 1, key_mark.line + 1, key_mark.column + 1};
  }

  YamlDocument& document_;
  std::vector<const YAML::Node*> around_;  // what the value that is looked at lies in, outermost first
  size_t nodes_ = 0;
  bool full_ = false;
};

// Line (1-based) of the first tab in an indentation at or before `line`, near enough to be the cause; 0: none.
int TabNear(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string each;
  int found = 0;
  for (int number = 1; number <= line + 1 && std::getline(lines, each); ++number) {
    const size_t begin = each.find_first_not_of(' ');
    if (begin != std::string::npos && each[begin] == '\t' && number + 2 >= line) found = number;
  }
  return found;
}

Status SyntaxError(const std::string& text, const std::string& name, const YAML::Exception& error) {
  const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
  const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
  if (const int tab = TabNear(text, line); tab > 0) {
    return Error(StatusCode::kInvalidArgument,
                 name + ":" + std::to_string(tab) + ":1: not YAML: a tab in the indentation; indent with spaces");
  }
  const std::string place = name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  if (dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr) {  // its own text is "bad file"
    return Error(StatusCode::kInvalidArgument,
                 place + "nested too deep; allowed: at most " + std::to_string(kYamlDepthMax) + " levels");
  }
  return Error(StatusCode::kInvalidArgument, place + "not YAML: " + error.msg);
}

// --- writing

bool IsSafePlain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  const auto value = Plain(text);
  if (!value || !value->is_string() || IsOneOf(text, kNonFinite) || text == "-.inf" || text == "<<" || text == "=")
    return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos &&
      !(text.size() > 1 && text.front() == '-' && text[1] != ' ')) {
    return false;
  }
  if (text.starts_with("---") || text.starts_with("...")) return false;
  // Readers of YAML 1.1 take 1_000, 12:30:00 and 2001-01-01 for numbers and dates.
  if (DigitsFrom(text, 0) > 0 || ((text[0] == '-' || text[0] == '+' || text[0] == '.') && DigitsFrom(text, 1) > 0))
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return false;
    if (c == ':' && text[i + 1] == ' ') return false;
    if (c == '#' && text[i - 1] == ' ') return false;
  }
  return true;
}

bool IsBlockText(const std::string& text) {
  if (text.find('\n') == std::string::npos || text.front() == ' ' || text.front() == '\n') return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) return false;
  }
  return text.find(" \n") == std::string::npos && !text.ends_with("\n\n");
}

void Write(const Json& value, int indent, std::string& out);

void WriteScalar(const Json& value, int indent, std::string& out) {
  if (!value.is_string()) {
    out += value.dump() + "\n";
    return;
  }
  const auto& text = value.get_ref<const std::string&>();
  if (IsSafePlain(text)) {
    out += text + "\n";
  } else if (IsBlockText(text)) {
    out += text.back() == '\n' ? "|\n" : "|-\n";
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line))
      out += (line.empty() ? "" : std::string(static_cast<size_t>(indent), ' ') + line) + "\n";
  } else {
    out += value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";  // JSON strings are YAML strings
  }
}

void WriteKey(const std::string& key, std::string& out) {
  out += (IsSafePlain(key) ? key : Json(key).dump(-1, ' ', false, Json::error_handler_t::replace)) + ":";
}

// Writes the members at `indent`; the first follows what stands on the line already.
void WriteMembers(const Json& object, int indent, std::string& out) {
  bool first = true;
  for (const auto& [key, value] : object.items()) {
    if (!first) out += std::string(static_cast<size_t>(indent), ' ');
    first = false;
    WriteKey(key, out);
    if (value.is_object() && !value.empty()) {
      out += "\n" + std::string(static_cast<size_t>(indent) + 2, ' ');
      WriteMembers(value, indent + 2, out);
    } else if (value.is_array() && !value.empty()) {
      out += "\n" + std::string(static_cast<size_t>(indent), ' ');
      Write(value, indent, out);
    } else {
      out += " ";
      WriteScalar(value, indent + 2, out);
    }
  }
}

void Write(const Json& value, int indent, std::string& out) {
  if (value.is_object() && !value.empty()) return WriteMembers(value, indent, out);
  if (!value.is_array() || value.empty()) return WriteScalar(value, indent + 2, out);
  bool first = true;
  for (const Json& item : value) {
    if (!first) out += std::string(static_cast<size_t>(indent), ' ');
    first = false;
    out += "- ";
    Write(item, indent + 2, out);
  }
}

}  // namespace

StatusOr<std::vector<YamlDocument>> ParseYaml(const std::string& text, const std::string& name) {
  std::vector<YamlDocument> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      if (node.IsNull() || !node.IsDefined()) continue;
      YamlDocument& document = documents.emplace_back();
      document.places["(document)"] = {node.Mark().line + 1, node.Mark().column + 1, node.Mark().line + 1,
                                       node.Mark().column + 1};
      document.value = Converter(document).Value(node, "", 0);
    }
  } catch (const YAML::Exception& error) {
    return SyntaxError(text, name, error);
  } catch (const std::exception& error) {
    return Error(StatusCode::kInternal, "reading " + name + " as YAML: " + error.what());
  }
  return documents;
}

std::string ToYaml(const Json& value) {
  std::string out;
  Write(value, 0, out);
  return out;
}

}  // namespace attune::api
