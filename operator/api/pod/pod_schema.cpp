#include "operator/api/pod/pod_schema.h"

#include <map>

namespace attune::api {
namespace {

struct Schema {
  std::string_view version;
  std::map<std::string_view, SchemaType> types;  // addresses stay: fields point to them
};

std::string_view NextLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

SchemaField ParseField(std::string_view line) {
  SchemaField field;
  const size_t space = line.find(' ');
  field.name = line.substr(0, space);
  field.type_name = line.substr(space + 1);
  if (field.name.ends_with('!')) {
    field.required = true;
    field.name.remove_suffix(1);
  }
  if (field.type_name.starts_with('[')) field.shape = SchemaShape::kList;
  if (field.type_name.starts_with('{')) field.shape = SchemaShape::kMap;
  if (field.shape != SchemaShape::kOne) field.type_name = field.type_name.substr(1, field.type_name.size() - 2);
  return field;
}

Schema ParseSchema(std::string_view text) {
  Schema schema;
  schema.version = NextLine(text);
  SchemaType* type = nullptr;
  bool enumeration = false;
  while (!text.empty()) {
    std::string_view line = NextLine(text);
    if (!line.starts_with(' ')) {
      enumeration = line.ends_with(" =");
      if (enumeration) line.remove_suffix(2);
      type = &schema.types[line];
      type->name = line;
    } else if (enumeration) {
      type->values.push_back(line.substr(1));
    } else {
      type->fields.push_back(ParseField(line.substr(1)));
    }
  }
  for (auto& [name, each] : schema.types) {
    for (SchemaField& field : each.fields) {
      if (const auto at = schema.types.find(field.type_name); at != schema.types.end()) field.type = &at->second;
    }
  }
  return schema;
}

const Schema& TheSchema() {
  static const Schema kSchema = ParseSchema(kPodSchemaText);
  return kSchema;
}

}  // namespace

const SchemaType* FindSchemaType(std::string_view name) {
  const auto at = TheSchema().types.find(name);
  return at == TheSchema().types.end() ? nullptr : &at->second;
}

const SchemaField* FindSchemaField(const SchemaType& type, std::string_view name) {
  for (const SchemaField& field : type.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string_view PodSchemaVersion() { return TheSchema().version; }

}  // namespace attune::api
