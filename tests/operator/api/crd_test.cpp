// crds/trainingjob.yaml against the table of fields. Independent of the generator where it matters: the second test
// reads the file's schema and compares it with what the parser really does.
#include "operator/api/crd.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/os/file.h"
#include "operator/api/manifest/yaml.h"

namespace attune::api::crd_test {
namespace {

const std::string kFile = std::string(ATTUNE_SOURCE_DIR) + "/crds/trainingjob.yaml";
constexpr char kHead[] =
    "# TrainingJob, attune.dev/v1alpha1. Made from the table of fields in operator/api/fields.cpp; change that, then "
    "run\n"
    "# ATTUNE_UPDATE_GOLDEN=1 api_test to write this file again.\n";

Json InstalledCrd() {
  const auto documents = ParseYaml(*ReadFile(kFile), kFile);
  return documents->at(0).value;
}

TEST(Crd, TheFileIsWhatTheFieldsSay) {
  const std::string text = kHead + ToYaml(TrainingJobCrd());
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(kFile, text).ok());
  }
  const auto file = ReadFile(kFile);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, text) << "run with ATTUNE_UPDATE_GOLDEN=1 and review the difference";
  // kubectl apply keeps a copy in an annotation, and all annotations of an object may have 256 KiB together.
  EXPECT_LT(file->size(), 160U * 1024);
}

TEST(Crd, ColumnsAndSubresources) {
  const Json version = InstalledCrd()["spec"]["versions"][0];
  std::vector<std::string> columns, wide, selectable;
  for (const Json& column : version["additionalPrinterColumns"]) {
    (column.value("priority", 0) == 0 ? columns : wide).push_back(column["name"]);
  }
  for (const Json& field : version["selectableFields"]) selectable.push_back(field["jsonPath"]);
  using Names = std::vector<std::string>;
  EXPECT_EQ(columns, (Names{"Phase", "Servers", "Workers", "Progress", "Loss", "Rate", "Remaining", "Tuning", "Age"}));
  EXPECT_EQ(wide, (Names{"Mode", "Sync", "Policies", "Reason"}));
  EXPECT_EQ(selectable, (Names{".status.phase", ".spec.tuning.mode", ".spec.managedBy"}));
  EXPECT_EQ(version["subresources"]["scale"]["specReplicasPath"], ".spec.workers.replicas");
  EXPECT_TRUE(version["subresources"].contains("status"));
}

Json MinimalJob() {
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "a"}}},
          {"spec", {{"workers", {{"template", {{"spec", {{"containers", {{{"name", "worker"}}}}}}}}}}}}};
}

Json* Reach(Json& object, const std::string& path) {
  Json* at = &object;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t dot = std::min(path.find('.', begin), path.size());
    at = &(*at)[path.substr(begin, dot - begin)];
    begin = dot + 1;
  }
  return at;
}

bool Accepted(const std::string& path, const Json& value) {
  Json job = MinimalJob();
  if (path == "spec.workers.min" || path == "spec.servers.min")
    *Reach(job, path.substr(0, path.rfind('.')) + ".replicas") = value;
  // Knobs and amounts have no max unless one is written.
  const bool of_role = !path.starts_with("spec.tuning.") && path.find(".resources.") == std::string::npos;
  if (of_role && (path.ends_with(".max") || path.ends_with(".min")))
    *Reach(job, path.substr(0, path.rfind('.')) + ".max") = 1024;
  if (path.ends_with(".replicas")) *Reach(job, path.substr(0, path.rfind('.')) + ".max") = 1024;
  if (path == "spec.servers.backups") *Reach(job, "spec.servers.replicas") = 2;
  if (path == "spec.synchronization.staleness") *Reach(job, "spec.synchronization.mode") = "SSP";
  *Reach(job, path) = value;
  for (const FieldProblem& problem : ParseTrainingJob(job).problems) {
    if (problem.path == path) return false;
  }
  return true;
}

int CompareWithParser(const Json& schema, const std::string& path) {
  int fields = 0;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, field] : properties.items()) {
    const std::string at = path + "." + name;
    if (name == "template") continue;
    const std::string type = field.value("x-kubernetes-int-or-string", false) ? "amount" : field["type"];
    ++fields;
    EXPECT_EQ(Accepted(at, Json::array()), type == "array") << at << " and a list";
    EXPECT_FALSE(Accepted(at, nullptr)) << at << " takes null";
    if (type == "integer") {
      EXPECT_TRUE(Accepted(at, field["minimum"])) << at;
      EXPECT_FALSE(Accepted(at, field["minimum"].get<int64_t>() - 1)) << at;
      EXPECT_TRUE(Accepted(at, field["maximum"])) << at;
      EXPECT_FALSE(Accepted(at, field["maximum"].get<int64_t>() + 1)) << at;
      EXPECT_FALSE(Accepted(at, "1")) << at;
      EXPECT_FALSE(Accepted(at, 1.5)) << at;
    } else if (type == "amount") {
      for (const Json& amount : {Json("1Gi"), Json(1 << 30), Json("+20000Ki"), Json("1.5e9")}) {
        EXPECT_TRUE(Accepted(at, amount)) << at << " " << amount;
      }
      for (const Json& other : {Json("1gi"), Json("-1"), Json(1.5), Json(-1), Json("")}) {
        EXPECT_FALSE(Accepted(at, other)) << at << " " << other;
      }
    } else if (type == "number") {
      EXPECT_TRUE(Accepted(at, 1.5)) << at;
      EXPECT_FALSE(Accepted(at, "1.5")) << at;
    } else if (field.contains("enum")) {
      for (const Json& choice : field["enum"]) EXPECT_TRUE(Accepted(at, choice)) << at << " " << choice;
      EXPECT_FALSE(Accepted(at, "Other")) << at;
    } else if (type == "string") {
      const bool is_path = field.value("pattern", "").starts_with("^/");
      EXPECT_TRUE(Accepted(at, is_path ? "/abc" : "abc")) << at;
      EXPECT_FALSE(Accepted(at, is_path ? "abc" : "a b")) << at;
      EXPECT_FALSE(Accepted(at, 3)) << at;
    } else if (type == "array") {
      EXPECT_FALSE(Accepted(at, Json::object())) << at;
    } else if (type == "object") {
      EXPECT_FALSE(Accepted(at + ".noSuchField", 1)) << at;
      fields += CompareWithParser(field, at);
    }
  }
  return fields;
}

TEST(Crd, EveryFieldOfTheFileBehavesTheSameInTheParser) {
  const Json spec = InstalledCrd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  EXPECT_GE(CompareWithParser(spec, "spec"), 20);
}

Json DefaultsOf(const Json& schema) {
  Json object = schema.value("default", Json::object());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, field] : properties.items()) {
    if (!field.contains("default")) continue;
    if (!object.contains(name)) object[name] = field["default"];
    if (field["type"] == "object") {
      object[name].update(DefaultsOf(field));
    }
  }
  return object;
}

TEST(Crd, DefaultsOfTheFileAreThoseOfTheStructs) {
  const Json spec = InstalledCrd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  Json from_file = DefaultsOf(spec);
  TrainingJobSpec plain;
  plain.goal.epochs = 1;
  Json from_structs = ToJson(plain);
  from_structs.erase("workers");  // required, so without default; its members have the servers' defaults
  EXPECT_EQ(from_file, from_structs);
  Json defaulted = WithDefaults(MinimalJob())["spec"];
  defaulted["workers"].erase("template");
  Json servers = defaulted["servers"];
  servers.erase("backups");  // what only servers have
  EXPECT_EQ(defaulted["workers"], servers);
  defaulted.erase("workers");
  EXPECT_EQ(defaulted, from_file);
}

}  // namespace
}  // namespace attune::api::crd_test
