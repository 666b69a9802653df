#include "operator/api/pod/pod_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "operator/api/manifest/manifest.h"
#include "operator/api/pod/pod_schema.h"

namespace attune::api::pod_fields_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  const char* what;
  const char* pod_spec;            // YAML in flow style
  std::vector<std::string> wants;  // each a part of one problem, in the order of the file
};

std::vector<std::string> ProblemsOf(const std::string& pod_spec) {
  const auto manifests = ParseManifests(
      "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  workers:\n    template:\n"
      "      spec: " +
          pod_spec + "\n",
      "job.yaml");
  EXPECT_TRUE(manifests.ok()) << manifests.status();
  std::vector<std::string> texts;
  if (!manifests.ok()) return texts;
  for (const FieldProblem& problem : manifests->front().problems) texts.push_back(ToString(problem));
  return texts;
}

const Case kCases[] = {
    {"a misspelled field has its nearest name",
     "{containers: [{name: worker, comand: [w]}]}",
     {"containers[0].comand: found an unknown field; allowed: command (nearest)"}},
    {"arguments are strings",
     "{containers: [{name: worker, args: [64, true, \"64\"]}]}",
     {"containers[0].args[0]: found 64; allowed: a string: \"64\"",
      "containers[0].args[1]: found true; allowed: a string: \"true\""}},
    {"a command is a list",
     "{containers: [{name: worker, command: attune-word2vec}]}",
     {"containers[0].command: found \"attune-word2vec\"; allowed: a list of strings, as [\"--dim\", \"64\"]"}},
    {"a program without a name",
     "{containers: [{name: worker, command: [\"\"]}]}",
     {"containers[0].command[0]: found \"\"; allowed: the name or the path of a program"}},
    {"arguments may be empty, and no command is the image's own",
     "{containers: [{name: worker, command: [w, \"\"], args: [\"\"]}, {name: b, command: []}]}",
     {}},
    {"a probe that runs nothing",
     "{containers: [{name: worker, livenessProbe: {exec: {command: [\"\"]}}, readinessProbe: {exec: {command: []}}, "
     "startupProbe: {exec: {}}}]}",
     {"livenessProbe.exec.command[0]: found \"\"; allowed: the name or the path of a program",
      "readinessProbe.exec.command: found an empty list; allowed: a list of strings",
      "startupProbe.exec.command: found nothing; allowed: a list of strings"}},
    {"a reference to an object without a name",
     "{containers: [{name: worker, envFrom: [{configMapRef: {name: \"\"}}, {secretRef: {}}]}], "
     "imagePullSecrets: [{name: \"\"}], volumes: [{name: a, configMap: {name: \"\"}}, {name: b, secret: {}}]}",
     {"envFrom[0].configMapRef.name: found \"\"; allowed: a string that is not empty",
      "envFrom[1].secretRef.name: found nothing; allowed: a string that is not empty",
      "imagePullSecrets[0].name: found \"\"; allowed: a string that is not empty",
      "volumes[0].configMap.name: found \"\"; allowed: a string that is not empty",
      "volumes[1].secret.secretName: found nothing; allowed: the name of an object"}},
    {"an amount that is none",
     "{containers: [{name: worker, resources: {limits: {cpu: banana}}}]}",
     {"limits.cpu: found \"banana\"; allowed: a quantity of at least 0, as 2, 500m, 1.5, 512Mi or 4G"}},
    {"a negative amount",
     "{containers: [{name: worker, resources: {requests: {memory: -5Gi}}}]}",
     {"requests.memory: found \"-5Gi\"; allowed: a quantity of at least 0"}},
    {"thousandths of a byte",
     "{containers: [{name: worker, resources: {limits: {memory: 512m}}}]}",
     {"limits.memory: found \"512m\", which is not a whole number of bytes; allowed: whole bytes, as 512M or 512Mi"}},
    {"amounts may be numbers", "{containers: [{name: worker, resources: {limits: {cpu: 2, memory: 1e9}}}]}", {}},
    {"a resource that does not exist",
     "{containers: [{name: worker, resources: {limits: {cpus: 2}}}]}",
     {"limits.cpus: found an unknown resource; allowed: cpu (nearest)"}},
    {"resources of a vendor",
     "{containers: [{name: worker, resources: {limits: {nvidia.com/gpu: 1, hugepages-2Mi: 4Mi}}}]}",
     {}},
    {"more asked for than permitted",
     "{containers: [{name: worker, resources: {requests: {cpu: 2}, limits: {cpu: 500m}}}]}",
     {"requests.cpu: found 2; allowed: at most limits.cpu (\"500m\")"}},
    {"resources beside the mapping for them",
     "{containers: [{name: worker, cpu: 2}]}",
     {"containers[0].cpu: found an unknown field; allowed: the field at "
      "spec.workers.template.spec.containers[0].resources.limits.cpu"}},
    {"variables as a mapping",
     "{containers: [{name: worker, env: {A: B}}]}",
     {"env: found a mapping; allowed: a list, each item \"- {name: NAME, value: \"VALUE\"}\""}},
    {"a variable that is a number",
     "{containers: [{name: worker, env: [{name: A, value: 1}]}]}",
     {"env[0].value: found 1; allowed: a string: \"1\""}},
    {"a variable with two sources",
     "{containers: [{name: worker, env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}",
     {"env[0]: found value, valueFrom; allowed: one of them"}},
    {"a variable whose name holds an equals sign",
     "{containers: [{name: worker, env: [{name: A=B}]}]}",
     {"env[0].name: found \"A=B\"; allowed: a name of printable characters without '='"}},
    {"a mount that nothing provides",
     "{containers: [{name: worker, volumeMounts: [{name: dta, mountPath: /data}]}], volumes: [{name: data}]}",
     {"volumeMounts[0].name: found \"dta\", which no volume is named; allowed: data (nearest); a volume of this "
      "template; it has data"}},
    {"a mount of a volume of the operator",
     "{containers: [{name: worker, volumeMounts: [{name: attune-model, mountPath: /m}]}]}",
     {}},
    {"a mount without a path",
     "{containers: [{name: worker, volumeMounts: [{name: data}]}], volumes: [{name: data, emptyDir: {}}]}",
     {"volumeMounts[0].mountPath: found nothing; allowed: an absolute path without ':'"}},
    {"two mounts at one path",
     "{containers: [{name: worker, volumeMounts: [{name: a, mountPath: /d}, {name: a, mountPath: /d}]}], volumes: "
     "[{name: a}]}",
     {"volumeMounts[1].mountPath: found \"/d\" again"}},
    {"a part of a volume outside of it",
     "{containers: [{name: worker, volumeMounts: [{name: a, mountPath: /d, subPath: ../x}]}], volumes: [{name: a}]}",
     {"subPath: found \"../x\"; allowed: a relative path that does not leave the volume"}},
    {"two volumes of one name",
     "{containers: [{name: worker}], volumes: [{name: a}, {name: a}]}",
     {"volumes[1].name: found \"a\" again"}},
    {"two containers of one name",
     "{containers: [{name: worker}], initContainers: [{name: worker}]}",
     {"containers[0].name: found \"worker\" again"}},
    {"a volume of two kinds",
     "{containers: [{name: worker}], volumes: [{name: a, emptyDir: {}, hostPath: {path: /d}}]}",
     {"volumes[0]: found emptyDir, hostPath; allowed: one of them"}},
    {"a path of the machine that is relative",
     "{containers: [{name: worker}], volumes: [{name: a, hostPath: {path: d}}]}",
     {"hostPath.path: found \"d\"; allowed: an absolute path"}},
    {"a field of the pod in a container",
     "{containers: [{name: worker, nodeSelector: {a: b}}]}",
     {"nodeSelector: found an unknown field; allowed: the field at spec.workers.template.spec.nodeSelector"}},
    {"a field of a container in the pod",
     "{image: w, containers: [{name: worker}]}",
     {"spec.image: found an unknown field; allowed: the field at spec.workers.template.spec.containers[].image"}},
    {"a field that no version known here has",
     "{containers: [{name: worker}], futureThings: true}",
     {"spec.futureThings: found an unknown field; allowed: a PodSpec of Kubernetes 1.34 has activeDeadlineSeconds"}},
    {"a word that is not one of few",
     "{containers: [{name: worker, imagePullPolicy: always}]}",
     {"imagePullPolicy: found \"always\"; allowed: Always (nearest); all: Always, IfNotPresent, Never"}},
    {"true as a string",
     "{containers: [{name: worker, tty: \"true\"}]}",
     {"tty: found \"true\"; allowed: true or false"}},
    {"a boolean of old YAML",
     "{containers: [{name: worker, tty: yes}]}",
     {"tty: found yes, which readers of YAML understand differently; allowed: true or false"}},
    {"a port out of range",
     "{containers: [{name: worker, ports: [{containerPort: 70000}]}]}",
     {"containerPort: found 70000; allowed: a whole number from 1 to 65535"}},
    {"a probe of a port that has no such name",
     "{containers: [{name: worker, ports: [{name: http, containerPort: 80}], readinessProbe: {tcpSocket: {port: "
     "htp}}}]}",
     {"tcpSocket.port: found \"htp\"; allowed: http (nearest)"}},
    {"a probe that looks at nothing",
     "{containers: [{name: worker, livenessProbe: {periodSeconds: 0}}]}",
     {"livenessProbe: found nothing that says what it is; allowed: one of exec, grpc, httpGet, tcpSocket",
      "periodSeconds: found 0; allowed: a whole number of at least 1"}},
    {"a whole number with a fraction",
     "{containers: [{name: worker}], terminationGracePeriodSeconds: 1.5}",
     {"terminationGracePeriodSeconds: found 1.5; allowed: a whole number of at least 0"}},
    {"a number beyond all",
     "{containers: [{name: worker}], priority: 99999999999}",
     {"priority: found 99999999999; allowed: a whole number"}},
    {"null is what an absent field is",
     "{containers: [{name: worker, command: null, resources: {}}], nodeSelector: null}",
     {}},
    {"a label that is none",
     "{containers: [{name: worker}], nodeSelector: {disk: \"very fast\"}}",
     {"nodeSelector.disk: found \"very fast\"; allowed: letters, digits"}},
    {"containers that are words are said once",
     "{containers: [worker]}",
     {"spec.containers: found no container; allowed: one container named worker",
      "containers[0]: found \"worker\"; allowed: a container: a mapping with name, image, command ..."}},
    {"what example manifests and clusters in use write",
     "{containers: [{name: worker, image: w, securityContext: {runAsNonRoot: true, capabilities: {drop: [ALL]}},"
     " lifecycle: {preStop: {exec: {command: [sync]}}}, envFrom: [{secretRef: {name: s}}]}],"
     " tolerations: [{key: a, operator: Exists, effect: NoSchedule}], affinity: {nodeAffinity: "
     "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, "
     "values: [b]}]}]}}}, volumes: [{name: c, configMap: {name: c}}, {name: p, projected: {sources: "
     "[{serviceAccountToken: "
     "{path: token, expirationSeconds: 3600}}]}}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
     "whenUnsatisfiable: ScheduleAnyway}]}",
     {}},
};

TEST(PodFieldsTest, SaysWhatIsWrongWithEveryField) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.what);
    const std::vector<std::string> found = ProblemsOf(each.pod_spec);
    EXPECT_EQ(found.size(), each.wants.size()) << ::testing::PrintToString(found);
    for (size_t i = 0; i < std::min(found.size(), each.wants.size()); ++i)
      EXPECT_THAT(found[i], HasSubstr(each.wants[i]));
  }
}

// A cluster may be newer than the schema: what comes from its API is not judged by it.
TEST(PodFieldsTest, TheOperatorTakesFieldsItDoesNotKnow) {
  const Json job =
      Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "a"},
      "spec": {"workers": {"template": {"spec": {"futureThings": 1, "containers": [{"name": "worker",
       "newer": {}}]}}}}})");
  EXPECT_THAT(ParseTrainingJob(job).problems, IsEmpty());
}

TEST(PodFieldsTest, ProblemsHaveTheirPlaces) {
  const auto manifests = ParseManifests(R"(apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata: {name: a}
spec:
  workers:
    template:
      spec:
        containers:
        - name: worker
          comand: [w]
          resources:
            limits:
              cpu: banana
)",
                                        "job.yaml");
  ASSERT_TRUE(manifests.ok());
  std::vector<std::string> texts;
  for (const FieldProblem& problem : manifests->front().problems) texts.push_back(ToString(problem, "job.yaml"));
  EXPECT_THAT(texts,
              ElementsAre(HasSubstr("job.yaml:10:11: spec.workers.template.spec.containers[0].comand"),
                          HasSubstr("job.yaml:13:20: spec.workers.template.spec.containers[0].resources.limits.cpu")));
}

TEST(PodSchema, IsOfTheVersionThatTheClusterTestsRun) {
  std::ifstream file(std::string(ATTUNE_SOURCE_DIR) + "/tests/cluster/go.mod");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex(R"(require k8s\.io/kubernetes (v[0-9.]+))")));
  EXPECT_EQ(match[1], std::string(PodSchemaVersion())) << "run scripts/pod-schema";
}

TEST(PodSchema, HoldsATypeForEachFieldThatIsNoScalar) {
  const std::vector<std::string_view> scalars = {"string",   "boolean",     "int32", "int64",
                                                 "Quantity", "IntOrString", "any"};
  std::vector<const SchemaType*> open{FindSchemaType("PodTemplateSpec")};
  std::set<const SchemaType*> seen;
  while (!open.empty()) {
    const SchemaType* type = open.back();
    open.pop_back();
    ASSERT_NE(type, nullptr);
    if (!seen.insert(type).second) continue;
    for (const SchemaField& field : type->fields) {
      const bool scalar = std::find(scalars.begin(), scalars.end(), field.type_name) != scalars.end();
      EXPECT_NE(scalar, field.type != nullptr) << type->name << "." << field.name << " " << field.type_name;
      if (field.type != nullptr) open.push_back(field.type);
    }
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(AllowedInPod, FollowsListsAndMappings) {
  EXPECT_EQ(AllowedInPod("spec.containers[0].tty"), "true or false");
  EXPECT_EQ(AllowedInPod("spec.containers[0].ports[1].containerPort"), "a whole number from 1 to 65535");
  EXPECT_THAT(AllowedInPod("spec.containers[0].resources.limits.cpu"), HasSubstr("a quantity"));
  EXPECT_THAT(AllowedInPod("spec.containers[0].args[3]"), HasSubstr("a string"));
  EXPECT_EQ(AllowedInPod("spec.nothing"), "");
}

}  // namespace
}  // namespace attune::api::pod_fields_test
