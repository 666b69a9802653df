// Both CustomResourceDefinitions, from the table of fields.
#include "operator/api/crd.h"
#include "operator/api/policy/policy_fields.h"
#include "operator/api/policy/schedule.h"

namespace attune::api {
namespace {

constexpr int kLabelNameMax = 317, kScheduleMax = 128;

Json Text(const std::string& description, int length_max) {
  return {{"type", "string"}, {"description", description}, {"maxLength", length_max}};
}

Json Choice(const std::vector<std::string>& choices) { return {{"type", "string"}, {"enum", choices}}; }

Json ExpressionsSchema() {
  const Json values = {{"type", "array"}, {"maxItems", kValuesMax}, {"items", {{"type", "string"}, {"maxLength", 63}}}};
  return {{"type", "array"},
          {"maxItems", kExpressionsMax},
          {"x-kubernetes-list-type", "atomic"},
          {"items",
           {{"type", "object"},
            {"required", {"key", "operator"}},
            {"properties",
             {{"key", Text("Name of a label.", kLabelNameMax)},
              {"operator", Choice(OperatorNames())},
              {"values", values}}}}}};
}

Json WindowsSchema() {
  Json schedule = Text("Days, hours and a time zone, such as Mon-Fri 08:00-20:00 Europe/Berlin.", kScheduleMax);
  schedule["pattern"] = kSchedulePattern;
  Json mode = Choice(ModeNames());
  mode["description"] = "The highest mode in these hours.";
  return {{"type", "array"},
          {"maxItems", kWindowsMax},
          {"x-kubernetes-list-type", "atomic"},
          {"items",
           {{"type", "object"},
            {"required", {"schedule", "mode"}},
            {"properties", {{"schedule", schedule}, {"mode", mode}}}}}};
}

// "Whatever is written first is at most what is written second", for whole numbers and for amounts.
Json BoundsRule(const PolicyField& object) {
  const auto amount = [](const std::string& name) {
    return "(type(self." + name + ") == int ? quantity('0').add(self." + name + ") : quantity(self." + name + "))";
  };
  const bool amounts = PolicyFieldAt(object.path + ".min").type == PolicyFieldType::kQuantity;
  const std::string compared =
      amounts ? amount("min") + ".compareTo(" + amount("max") + ") <= 0" : "self.min <= self.max";
  return {{"rule", "!has(self.min) || !has(self.max) || " + compared},
          {"message", object.path + ": min is above max; raise max or lower min"},
          {"fieldPath", ".min"}};
}

Json SchemaOf(const PolicyField& field, bool of_cluster);

Json ObjectSchema(const PolicyField& object, bool of_cluster) {
  Json schema = {{"type", "object"}};
  for (const PolicyField* child : PolicyChildrenOf(object.path)) {
    if (!of_cluster && child->path == "spec.selector.namespaces") continue;
    schema["properties"][std::string(child->name())] = SchemaOf(*child, of_cluster);
  }
  if (object.bounds_of_knob) schema["x-kubernetes-validations"] = Json::array({BoundsRule(object)});
  return schema;
}

Json SchemaOf(const PolicyField& field, bool of_cluster) {
  Json schema;
  switch (field.type) {
    case PolicyFieldType::kObject:
      schema = ObjectSchema(field, of_cluster);
      break;
    case PolicyFieldType::kInteger:
      schema = {{"type", "integer"}, {"format", "int64"}};
      break;
    case PolicyFieldType::kNumber:
      schema = {{"type", "number"}, {"format", "double"}};
      break;
    case PolicyFieldType::kBoolean:
      schema = {{"type", "boolean"}};
      break;
    case PolicyFieldType::kString:
      schema = {{"type", "string"}};
      break;
    case PolicyFieldType::kChoice:
      schema = Choice(field.choices);
      break;
    case PolicyFieldType::kChoices:
      schema = {{"type", "array"},
                {"maxItems", field.choices.size()},
                {"x-kubernetes-list-type", "set"},
                {"items", Choice(field.choices)}};
      break;
    case PolicyFieldType::kQuantity:
      schema = {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
                {"x-kubernetes-int-or-string", true},
                {"maxLength", 32},
                {"pattern", R"(^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$)"}};
      break;
    case PolicyFieldType::kLabels:
      schema = {{"type", "object"},
                {"maxProperties", kExpressionsMax},
                {"additionalProperties", {{"type", "string"}, {"maxLength", 63}}}};
      break;
    case PolicyFieldType::kExpressions:
      schema = ExpressionsSchema();
      break;
    case PolicyFieldType::kWindows:
      schema = WindowsSchema();
      break;
  }
  schema["description"] = field.description;
  if (field.minimum) schema["minimum"] = *field.minimum;
  if (field.maximum) schema["maximum"] = *field.maximum;
  return schema;
}

Json CrdOf(const kube::ResourceType& type, const char* singular, const char* short_name, const char* description) {
  const bool of_cluster = !type.namespaced;
  const Json root = {{"type", "object"},
                     {"description", description},
                     {"required", {"spec"}},
                     {"properties",
                      {{"apiVersion", {{"type", "string"}}},
                       {"kind", {{"type", "string"}}},
                       {"metadata", {{"type", "object"}}},
                       {"spec", SchemaOf(PolicyFieldAt("spec"), of_cluster)},
                       {"status", SchemaOf(PolicyFieldAt("status"), of_cluster)}}}};
  const Json version = {
      {"name", type.version},
      {"served", true},
      {"storage", true},
      {"schema", {{"openAPIV3Schema", root}}},
      {"subresources", {{"status", Json::object()}}},
      {"additionalPrinterColumns",
       {CrdColumn("Jobs", ".status.jobs", "integer"), CrdColumn("Conflicts", ".status.conflicts", "integer"),
        CrdColumn("Message", ".status.message", "string"), CrdColumn("Age", ".metadata.creationTimestamp", "date")}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", type.plural + "." + type.group}}},
          {"spec",
           {{"group", type.group},
            {"scope", of_cluster ? "Cluster" : "Namespaced"},
            {"names",
             {{"kind", type.kind},
              {"listKind", type.kind + "List"},
              {"plural", type.plural},
              {"singular", singular},
              {"shortNames", {short_name}},
              {"categories", {"training"}}}},
            {"versions", Json::array({version})}}}};
}

}  // namespace

Json ClusterTuningPolicyCrd() {
  return CrdOf(kube::kClusterTuningPolicies, "clustertuningpolicy", "ctp",
               "What tuning may do to the training jobs of all namespaces that are selected.");
}

Json TuningPolicyCrd() {
  return CrdOf(kube::kTuningPolicies, "tuningpolicy", "tp",
               "What tuning may do to the training jobs of this namespace that are selected.");
}

}  // namespace attune::api
