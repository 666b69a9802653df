#include "operator/api/fields.h"

#include "operator/api/field_binding.h"

namespace attune::api {

const std::vector<Field>& Fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields;
    AddSpec(fields);
    AddStatus(fields);
    return fields;
  }();
  return kFields;
}

const std::vector<FieldRule>& Rules() {
  static const std::vector<FieldRule> kRules = MakeRules();
  return kRules;
}

const Field* FindField(std::string_view path) {
  for (const Field& field : Fields()) {
    if (field.path == path) return &field;
  }
  return nullptr;
}

// Jobs are read at every look, and a search of the table for each object took a tenth of a busy operator's CPU.
const std::vector<const Field*>& ChildrenOf(std::string_view path) {
  static const auto kChildren = [] {
    std::map<std::string_view, std::vector<const Field*>> children;
    for (const Field& field : Fields()) {
      if (field.path.find('.') != std::string::npos) children[field.parent()].push_back(&field);
    }
    return children;
  }();
  static const std::vector<const Field*> kNone;
  const auto found = kChildren.find(path);
  return found == kChildren.end() ? kNone : found->second;
}

std::string AllowedText(const Field& field) {
  std::string text;
  switch (field.type) {
    case FieldType::kObject: {
      text = "a mapping with";
      const char* separator = " ";
      for (const Field* child : ChildrenOf(field.path)) {
        text += separator + std::string(child->name());
        separator = ", ";
      }
      return text;
    }
    case FieldType::kString:
    case FieldType::kQuantity:
      return field.pattern_words.empty() ? "a string" : field.pattern_words;
    case FieldType::kInteger:
      text = "a whole number";
      if (field.minimum) text += " from " + std::to_string(*field.minimum);
      if (field.maximum) text += " to " + std::to_string(*field.maximum);
      return text;
    case FieldType::kNumber:
      return "a number";
    case FieldType::kBoolean:
      return "true or false";
    case FieldType::kChoice:
      for (const std::string& choice : field.choices) text += (text.empty() ? "" : ", ") + choice;
      return text;
    case FieldType::kPodTemplate:
      return "a pod template: a mapping with metadata and spec";
    case FieldType::kMetrics:
      return "a mapping of names to numbers";
    case FieldType::kNumbers:
      return "a list of whole numbers";
    case FieldType::kConditions:
      return "a list of conditions";
    case FieldType::kMetricList:
      return "a list of metrics";
    case FieldType::kDecisionList:
      return "a list of decisions";
    case FieldType::kSettingList:
      return "a list of settings";
    case FieldType::kLossList:
      return "a list of losses";
    case FieldType::kTableList:
      return "a list of tables";
    case FieldType::kRowTraceList:
      return "a list of pods";
    case FieldType::kFailureRules:
      return "a list of rules";
  }
  return text;
}

}  // namespace attune::api
