#include "operator/local/api/rules/selectors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr size_t kSelectorBytesMax = 16 << 10;

std::string_view Trim(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {trimmed.data(), trimmed.size()};
}

Status Malformed(std::string_view what, std::string_view text) {
  return Error(StatusCode::kInvalidArgument, "unable to parse " + std::string(what) + " \"" + std::string(text) +
                                                 "\"; write it like a=b,c!=d,e in (f,g),!h");
}

// Commas outside parentheses separate requirements.
std::vector<std::string_view> SplitTopLevel(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(text.substr(start));
  return parts;
}

bool IsLabelName(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.' && c != '/')
      return false;
  }
  return true;
}

const Json* Field(const Json& object, const std::vector<std::string>& path) {
  const Json* at = &object;
  for (const std::string& name : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string TextOf(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

}  // namespace

StatusOr<LabelSelector::Requirement> LabelSelector::ParseRequirement(std::string_view text) {
  const auto simple = [&](size_t at, size_t length, Operator op) -> StatusOr<Requirement> {
    Requirement requirement{std::string(Trim(text.substr(0, at))), op, {std::string(Trim(text.substr(at + length)))}};
    if (!IsLabelName(requirement.label)) return Malformed("label selector", text);
    return requirement;
  };
  const size_t open = text.find('(');
  if (open == std::string_view::npos) {
    if (const size_t at = text.find("!="); at != std::string_view::npos) return simple(at, 2, Operator::kNotIn);
    if (const size_t at = text.find("=="); at != std::string_view::npos) return simple(at, 2, Operator::kIn);
    if (const size_t at = text.find('='); at != std::string_view::npos) return simple(at, 1, Operator::kIn);
    const bool negated = text.front() == '!';
    const std::string label(Trim(negated ? text.substr(1) : text));
    if (!IsLabelName(label)) return Malformed("label selector", text);
    return Requirement{label, negated ? Operator::kNotExists : Operator::kExists, {}};
  }
  if (text.back() != ')') return Malformed("label selector", text);
  const std::vector<std::string> words =
      absl::StrSplit(std::string(text.substr(0, open)), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 2 || (words[1] != "in" && words[1] != "notin") || !IsLabelName(words[0])) {
    return Malformed("label selector", text);
  }
  Requirement requirement{words[0], words[1] == "in" ? Operator::kIn : Operator::kNotIn, {}};
  for (const std::string& value :
       std::vector<std::string>(absl::StrSplit(std::string(text.substr(open + 1, text.size() - open - 2)), ','))) {
    requirement.values.emplace(Trim(value));
  }
  return requirement;
}

StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (text.size() > kSelectorBytesMax) return Malformed("label selector", "(too long)");
  if (Trim(text).empty()) return selector;
  for (const std::string_view part : SplitTopLevel(text)) {
    if (Trim(part).empty()) return Malformed("label selector", text);
    ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(Trim(part)));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool LabelSelector::Matches(const Json& object) const {
  const Json& labels = kube::At(object, {"metadata", "labels"});
  for (const Requirement& requirement : requirements_) {
    const bool present = labels.is_object() && labels.contains(requirement.label);
    const std::string_view value = kube::Label(object, requirement.label);
    switch (requirement.op) {
      case Operator::kExists:
        if (!present) return false;
        break;
      case Operator::kNotExists:
        if (present) return false;
        break;
      case Operator::kIn:
        if (!present || !requirement.values.contains(value)) return false;
        break;
      case Operator::kNotIn:  // matches objects without the label too
        if (present && requirement.values.contains(value)) return false;
        break;
    }
  }
  return true;
}

StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  if (text.size() > kSelectorBytesMax) return Malformed("field selector", "(too long)");
  if (Trim(text).empty()) return selector;
  for (const std::string_view part : SplitTopLevel(text)) {
    size_t at = part.find("!=");
    const bool equal = at == std::string_view::npos;
    size_t length = 2;
    if (equal && (at = part.find("==")) == std::string_view::npos) {
      at = part.find('=');
      length = 1;
    }
    if (at == std::string_view::npos || Trim(part.substr(0, at)).empty()) return Malformed("field selector", text);
    selector.requirements_.push_back({absl::StrSplit(std::string(Trim(part.substr(0, at))), '.'), equal,
                                      std::string(Trim(part.substr(at + length)))});
  }
  return selector;
}

bool FieldSelector::Matches(const Json& object) const {
  for (const Requirement& requirement : requirements_) {
    if ((TextOf(Field(object, requirement.path)) == requirement.value) != requirement.equal) return false;
  }
  return true;
}

StatusOr<Selection> Selection::Parse(const std::string& name_space, std::string_view labels, std::string_view fields) {
  Selection selection;
  ASSIGN_OR_RETURN(selection.labels, LabelSelector::Parse(labels));
  ASSIGN_OR_RETURN(selection.fields, FieldSelector::Parse(fields));
  selection.name_space = name_space;
  return selection;
}

bool Selection::Matches(const Json& object) const {
  return (name_space.empty() || kube::Namespace(object) == name_space) && labels.Matches(object) &&
         fields.Matches(object);
}

}  // namespace attune::local
