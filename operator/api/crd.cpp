#include "operator/api/crd.h"

#include "operator/api/failure/failure_policy_fields.h"
#include "operator/api/field_binding.h"
#include "proto/metric_name.h"

namespace attune::api {
namespace {

constexpr int kContainersMax = 64;  // bounds let the API server estimate the cost of a rule
constexpr int kConditionsMax = 32;
constexpr int kTextMax = 32768;

Json StringSchema(const std::string& description = "", int length_max = 0) {
  Json schema = {{"type", "string"}};
  if (!description.empty()) schema["description"] = description;
  if (length_max > 0) schema["maxLength"] = length_max;
  return schema;
}

Json ConditionsSchema(const std::string& description) {
  const Json item = {{"type", "object"},
                     {"required", {"type", "status"}},
                     {"properties",
                      {{"type", StringSchema("", 316)},
                       {"status", {{"type", "string"}, {"enum", {"True", "False", "Unknown"}}}},
                       {"reason", StringSchema("", 1024)},
                       {"message", StringSchema("", kTextMax)},
                       {"lastTransitionTime", {{"type", "string"}, {"format", "date-time"}}},
                       {"observedGeneration", {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}}}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", kConditionsMax},
          {"x-kubernetes-list-type", "map"},
          {"x-kubernetes-list-map-keys", {"type"}},
          {"items", item}};
}

Json MetricsSchema(const std::string& description) {
  const Json count = {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}};
  const Json number = {{"type", "number"}, {"format", "double"}};
  const Json place = {{"type", "object"}, {"properties", {{"step", count}, {"epoch", count}, {"items", count}}}};
  const Json item = {{"type", "object"},
                     {"required", {"name"}},
                     {"properties",
                      {{"name", StringSchema("", contract::kMetricNameBytesMax)},
                       {"reports", count},
                       {"value", number},
                       {"at", place},
                       {"best", number},
                       {"bestAt", place},
                       {"direction", {{"type", "string"}, {"enum", Names(Direction{})}}},
                       {"leftOut", count}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", contract::kJobMetricsMax},
          {"x-kubernetes-list-type", "map"},
          {"x-kubernetes-list-map-keys", {"name"}},
          {"items", item}};
}

Json DecisionsSchema(const std::string& description) {
  const auto number = [](const char* text) {
    return Json{{"type", "number"}, {"format", "double"}, {"description", text}};
  };
  const Json item = {
      {"type", "object"},
      {"properties",
       {{"number", {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}}},
        {"time", StringSchema("When, RFC 3339.")},
        {"elapsedSeconds", number("Since the job began.")},
        {"kind", StringSchema("Trial or Move.")},
        {"from", StringSchema("The setting that was left.")},
        {"to", StringSchema("The setting that was chosen.")},
        {"why", StringSchema("For which reason.")},
        {"expected", StringSchema("Progress per second that was expected to be won.")},
        {"measured", StringSchema("What came of it; absent: not measured.")},
        {"expectedSpeedup", number("The same, as a ratio to progress per second at the best setting known before.")},
        {"measuredSpeedup", number("What came of it, likewise; absent: not measured.")},
        {"costSeconds", number("Seconds of full rate that the change was expected to cost.")},
        {"outcome", StringSchema("Open, Kept, RolledBack, NotTaken, Crashed or Unjudged.")}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", TuningStatus::kDecisionsShown},
          {"x-kubernetes-list-type", "atomic"},
          {"items", item}};
}

Json LossesSchema(const std::string& description) {
  const Json item = {
      {"type", "object"},
      {"required", {"machine", "time"}},
      {"properties",
       {{"machine", StringSchema("", 253)},
        {"pod", {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}, {"description", "Its number in the job."}}},
        {"time", StringSchema("When, RFC 3339.")}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", MachineLoss::kKept},
          {"x-kubernetes-list-type", "atomic"},
          {"items", item}};
}

Json TablesSchema(const std::string& description) {
  constexpr int32_t kTablesMax = 32, kNameMax = 128;
  const auto count = [](const char* what) {
    return Json{{"type", "integer"}, {"format", "int64"}, {"minimum", 0}, {"description", what}};
  };
  const auto cores = [](const char* what) {
    return Json{{"type", "number"}, {"format", "double"}, {"description", what}};
  };
  const Json item = {
      {"type", "object"},
      {"required", {"name"}},
      {"properties",
       {{"name", StringSchema("", kNameMax)},
        {"rows", count("At all servers.")},
        {"bytes", count("Their memory.")},
        {"announced", count("For steps to come, each counted once for every worker.")},
        {"copies", count("At workers.")},
        {"leftCores", cores("Processor time, in cores, if all that are announced were asked for at their homes.")},
        {"copiedCores", cores("The same if all were copied to who announced them.")},
        {"decidedCores", cores("The same as it was decided.")}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", kTablesMax},
          {"x-kubernetes-list-type", "map"},
          {"x-kubernetes-list-map-keys", {"name"}},
          {"items", item}};
}

Json PodRowTracesSchema(const std::string& description) {
  constexpr int32_t kNameMax = 253;
  const Json item = {{"type", "object"},
                     {"required", {"pod"}},
                     {"properties",
                      {{"pod", StringSchema("", kNameMax)},
                       {"message", StringSchema("Why it says nothing.")},
                       {"events",
                        {{"type", "array"},
                         {"description", "What was seen, oldest first, with the seconds since the beginning."},
                         {"maxItems", RowTraceStatus::kEventsMax},
                         {"x-kubernetes-list-type", "atomic"},
                         {"items", StringSchema("")}}}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", RowTraceStatus::kPodsMax},
          {"x-kubernetes-list-type", "atomic"},
          {"items", item}};
}

Json SettingsSchema(const std::string& description) {
  constexpr int32_t kSettingsMax = 16, kTextMax = 256;
  const Json item = {{"type", "object"},
                     {"required", {"field", "value"}},
                     {"properties",
                      {{"field", StringSchema("Of the spec, such as spec.workers.replicas.", kTextMax)},
                       {"value", StringSchema("That the job has.", kTextMax)},
                       {"instead", StringSchema("What the spec said when it was chosen; once the spec says something "
                                                "else, that counts. Absent: nothing.",
                                                kTextMax)}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", kSettingsMax},
          {"x-kubernetes-list-type", "map"},
          {"x-kubernetes-list-map-keys", {"field"}},
          {"items", item}};
}

// Everything passes; the parts that rules look at are named.
Json PodTemplateSchema(const Field& field) {
  const std::string role = field.parent() == "spec.workers" ? "worker" : "server";
  const Json container = {{"type", "object"},
                          {"x-kubernetes-preserve-unknown-fields", true},
                          {"required", {"name"}},
                          {"properties", {{"name", StringSchema("", kDnsLabelMax)}}}};
  const Json pod_spec = {{"type", "object"},
                         {"x-kubernetes-preserve-unknown-fields", true},
                         {"required", {"containers"}},
                         {"properties",
                          {{"containers", {{"type", "array"}, {"maxItems", kContainersMax}, {"items", container}}},
                           {"restartPolicy", {{"type", "string"}, {"enum", {"Never"}}}}}}};
  const Json rule = {
      {"rule", "self.spec.containers.exists(c, c.name == '" + role + "')"},
      {"message", field.path + ".spec.containers: name one container " + role + ", which is the " + role},
      {"fieldPath", ".spec.containers"}};
  return {{"type", "object"},
          {"description", field.description},
          {"x-kubernetes-preserve-unknown-fields", true},
          {"required", {"spec"}},
          {"properties",
           {{"metadata", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}, {"spec", pod_spec}}},
          {"x-kubernetes-validations", Json::array({rule})}};
}

Json SchemaOf(const Field& field);

Json ObjectSchema(const Field& field) {
  Json schema = {{"type", "object"}};
  for (const Field* child : ChildrenOf(field.path)) {
    const std::string name(child->name());
    schema["properties"][name] = SchemaOf(*child);
    if (child->required) schema["required"].push_back(name);
  }
  for (const FieldRule& rule : Rules()) {
    if (rule.path != field.path) continue;
    Json entry = {{"rule", rule.cel}, {"message", rule.message}};
    if (!rule.cel_field.empty()) entry["fieldPath"] = rule.cel_field;
    schema["x-kubernetes-validations"].push_back(entry);
  }
  return schema;
}

// The API server checks the rules against a default as it stands, before the members' own defaults are filled in.
Json CompleteDefault(const Field& field) {
  Json value = field.default_value;
  if (field.type != FieldType::kObject || !value.is_object()) return value;
  for (const Field* child : ChildrenOf(field.path)) {
    const std::string name(child->name());
    if (!value.contains(name) && !child->default_value.is_null()) value[name] = CompleteDefault(*child);
  }
  return value;
}

Json SchemaOf(const Field& field) {
  Json schema;
  switch (field.type) {
    case FieldType::kObject:
      schema = ObjectSchema(field);
      break;
    case FieldType::kString:
      schema = StringSchema();
      break;
    case FieldType::kQuantity:
      schema = {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}}, {"x-kubernetes-int-or-string", true}};
      break;
    case FieldType::kInteger:
      schema = {{"type", "integer"}, {"format", "int64"}, {"minimum", field.minimum.value_or(0)}};
      break;
    case FieldType::kNumber:
      schema = {{"type", "number"}, {"format", "double"}};
      break;
    case FieldType::kBoolean:
      schema = {{"type", "boolean"}};
      break;
    case FieldType::kChoice:
      schema = {{"type", "string"}, {"enum", field.choices}};
      break;
    case FieldType::kPodTemplate:
      return PodTemplateSchema(field);
    case FieldType::kMetrics:
      schema = {{"type", "object"}, {"additionalProperties", {{"type", "number"}}}};
      break;
    case FieldType::kNumbers:
      schema = {{"type", "array"},
                {"items", {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}}},
                {"maxItems", kPodsMax},
                {"x-kubernetes-list-type", "atomic"}};
      break;
    case FieldType::kConditions:
      return ConditionsSchema(field.description);
    case FieldType::kMetricList:
      return MetricsSchema(field.description);
    case FieldType::kDecisionList:
      return DecisionsSchema(field.description);
    case FieldType::kSettingList:
      return SettingsSchema(field.description);
    case FieldType::kLossList:
      return LossesSchema(field.description);
    case FieldType::kTableList:
      return TablesSchema(field.description);
    case FieldType::kRowTraceList:
      return PodRowTracesSchema(field.description);
    case FieldType::kFailureRules:
      return FailureRulesSchema(field.description);
  }
  schema["description"] = field.description;
  if (field.maximum) schema["maximum"] = *field.maximum;
  if (!field.pattern.empty()) schema["pattern"] = field.pattern;
  if (field.length_max > 0) schema["maxLength"] = field.length_max;
  if (!field.default_value.is_null()) schema["default"] = CompleteDefault(field);
  return schema;
}

// Shown by -o wide.
Json WideColumn(const char* name, const char* path) {
  Json column = CrdColumn(name, path);
  column["priority"] = 1;
  return column;
}

Json Version() {
  Json root = {{"type", "object"},
               {"description", "Trains a model with parameter servers."},
               {"required", {"spec"}},
               {"properties",
                {{"apiVersion", StringSchema()},
                 {"kind", StringSchema()},
                 {"metadata", {{"type", "object"}}},
                 {"spec", SchemaOf(*FindField("spec"))},
                 {"status", SchemaOf(*FindField("status"))}}}};
  root["x-kubernetes-validations"] =
      Json::array({{{"rule", "self.metadata.name.size() <= " + std::to_string(kJobNameMax) +
                                 " && !self.metadata.name.contains('.')"},
                    {"message", "metadata.name: choose a name of at most " + std::to_string(kJobNameMax) +
                                    " characters without dots, so that pods can be named after it"}}});
  return {{"name", kube::kTrainingJobs.version},
          {"served", true},
          {"storage", true},
          {"schema", {{"openAPIV3Schema", root}}},
          {"subresources",
           {{"status", Json::object()},
            {"scale",
             {{"specReplicasPath", ".spec.workers.replicas"},
              {"statusReplicasPath", ".status.workers.replicas"},
              {"labelSelectorPath", ".status.workerSelector"}}}}},
          {"additionalPrinterColumns",
           {CrdColumn("Phase", ".status.phase"), CrdColumn("Servers", ".status.display.servers"),
            CrdColumn("Workers", ".status.display.workers"), CrdColumn("Progress", ".status.display.progress"),
            CrdColumn("Loss", ".status.display.loss"), CrdColumn("Rate", ".status.display.rate"),
            CrdColumn("Remaining", ".status.display.remaining"), CrdColumn("Tuning", ".status.tuning.stage"),
            CrdColumn("Age", ".metadata.creationTimestamp", "date"), WideColumn("Mode", ".spec.tuning.mode"),
            WideColumn("Sync", ".spec.synchronization.mode"), WideColumn("Policies", ".status.policy.policies"),
            WideColumn("Reason", ".status.conditions[?(@.type=='Ready')].reason")}},
          // For --field-selector.
          {"selectableFields", Json::array({{{"jsonPath", ".status.phase"}},
                                            {{"jsonPath", ".spec.tuning.mode"}},
                                            {{"jsonPath", ".spec.managedBy"}}})}};
}

}  // namespace

Json CrdColumn(const char* name, const char* path, const char* type) {
  return {{"name", name}, {"jsonPath", path}, {"type", type}};
}

Json TrainingJobCrd() {
  const kube::ResourceType& type = kube::kTrainingJobs;
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", type.plural + "." + type.group}}},
          {"spec",
           {{"group", type.group},
            {"scope", "Namespaced"},
            {"names",
             {{"kind", type.kind},
              {"listKind", type.kind + "List"},
              {"plural", type.plural},
              {"singular", "trainingjob"},
              {"shortNames", {"tj"}},
              {"categories", {"training"}}}},
            {"versions", Json::array({Version()})}}}};
}

}  // namespace attune::api
