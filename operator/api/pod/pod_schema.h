// The fields of a pod template as Kubernetes publishes them (core/v1 PodTemplateSpec), of one version. Internal to this
// room; scripts/pod-schema writes the text, pod_fields.h checks templates against it.
#pragma once

#include <string_view>
#include <vector>

namespace attune::api {

// The version's line, then types by name: "Container", below it " field type", with "!" after the name of a required
// field. A type is string, boolean, int32, int64, Quantity, IntOrString, any, or one that is listed; [type] is a list
// and {type} a mapping of names to it. "PullPolicy =" begins an enumeration, whose values follow.
extern const char kPodSchemaText[];

enum class SchemaShape { kOne, kList, kMap };

struct SchemaType;

struct SchemaField {
  std::string_view name;
  bool required = false;
  SchemaShape shape = SchemaShape::kOne;
  std::string_view type_name;
  const SchemaType* type = nullptr;  // null: a scalar that `type_name` names
};

struct SchemaType {
  std::string_view name;
  std::vector<SchemaField> fields;
  std::vector<std::string_view> values;  // of an enumeration; then there are no fields
};

// Null when there is none of that name.
const SchemaType* FindSchemaType(std::string_view name);
const SchemaField* FindSchemaField(const SchemaType& type, std::string_view name);
// "v1.34.4".
std::string_view PodSchemaVersion();

}  // namespace attune::api
