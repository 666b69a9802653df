// Manifests that are not right: all of it is said, with file, line and field, and nothing is started.
#include "tests/local/bad_day/bad_day.h"

namespace attune {
namespace {

const std::vector<std::string> kValidate = {"validate", "job.yaml"};
const std::vector<std::string> kRun = {"run", "job.yaml", "--plain"};

GivenFile Text(const std::string& content) { return {"job.yaml", content}; }

std::string Top(const std::string& spec) {
  return "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\nspec: " + spec + "\n";
}
constexpr char kGoodWorkers[] = "workers: {template: {spec: {containers: [{name: worker, command: [/bin/true]}]}}}";

Case Invalid(std::string name, GivenFile file, std::vector<std::string> appears) {
  return {std::move(name), {std::move(file)}, kValidate, 2, std::move(appears), {"valid ("}};
}

const Case kCases[] = {
    Invalid("a misspelled field of a container", Job(Worker("comand: [w]")),
            {"job.yaml:7:42: spec.workers.template.spec.containers[0].comand: found an unknown field; allowed: command "
             "(nearest)",
             "1 problem"}),
    Invalid("a number among the arguments", Job(Worker("args: [64]")),
            {"args[0]: found 64; allowed: a string: \"64\""}),
    Invalid("a command that is one string", Job(Worker("command: attune-word2vec --dim=64")),
            {"command: found \"attune-word2vec --dim=64\"; allowed: a list of strings"}),
    Invalid("an amount of cpu that is none", Job(Worker("resources: {limits: {cpu: banana}}")),
            {"limits.cpu: found \"banana\"; allowed: a quantity"}),
    Invalid("a negative amount of memory", Job(Worker("resources: {limits: {memory: -5Gi}}")),
            {"limits.memory: found \"-5Gi\"; allowed: a quantity of at least 0"}),
    Invalid("a misspelled resource", Job(Worker("resources: {limits: {memry: 5Gi}}")),
            {"found an unknown resource; allowed: memory (nearest)"}),
    Invalid("variables as a mapping", Job(Worker("env: {A: B}")), {"env: found a mapping; allowed: a list, each item"}),
    Invalid("a mount that nothing provides", Job(Worker("volumeMounts: [{name: data, mountPath: /data}]")),
            {"volumeMounts[0].name: found \"data\", which no volume is named; allowed: a volume of this template"}),
    Invalid("a field of the pod in its container", Job(Worker("tolerations: []")),
            {"allowed: the field at spec.workers.template.spec.tolerations"}),
    Invalid("a field that only later versions may have", Job("{futureThings: 1, containers: [{name: worker}]}"),
            {"a PodSpec of Kubernetes 1.34 has"}),
    Invalid("a misspelled field of the job", Text(Top("{worker: {}, " + std::string(kGoodWorkers) + "}")),
            {"spec.worker: found an unknown field; allowed: workers (nearest)"}),
    Invalid("yes for a number", Text(Top("{servers: {replicas: yes}, " + std::string(kGoodWorkers) + "}")),
            {"found yes, which readers of YAML understand differently; allowed: a whole number from 1 to 1024"}),
    Invalid("a number with a leading zero", Text(Top("{servers: {replicas: 010}, " + std::string(kGoodWorkers) + "}")),
            {"allowed: a whole number from 1 to 1024, without leading zeros"}),
    Invalid("a relative directory of checkpoints",
            Text(Top("{checkpoint: {directory: here}, " + std::string(kGoodWorkers) + "}")),
            {"spec.checkpoint.directory: found \"here\"; allowed: an absolute path"}),
    Invalid("nested without end", Text(std::string(10'000, '[')), {"nested too deep; allowed: at most 100 levels"}),
    Invalid("no YAML at all", Text("a: [1, 2\nb: }\n"), {"job.yaml:2:", "not YAML"}),
    Invalid("a tab in the indentation", Text("spec:\n\tworkers: {}\n"),
            {"a tab in the indentation; indent with spaces"}),
    Invalid("an empty file", Text(""), {"holds no document; a TrainingJob begins with"}),
    Invalid("bytes that are no text", Text(std::string("\xff\xfe\x00\x01", 4)), {"job.yaml:1:"}),
    Invalid("another kind of object", Text("apiVersion: v1\nkind: Service\n"),
            {"kind: found \"Service\"; allowed: TrainingJob"}),
    Invalid("two jobs of one name",
            Text(Top("{" + std::string(kGoodWorkers) + "}") + "---\n" + Top("{" + std::string(kGoodWorkers) + "}")),
            {"metadata.name: found \"toy\" again"}),
    Invalid("a number beyond its range",
            Text(Top("{servers: {replicas: 99999999999999999999}, " + std::string(kGoodWorkers) + "}")),
            {"spec.servers.replicas: found"}),
    {"a file that is not there", {}, {"validate", "absent.yaml"}, 2, {"absent.yaml", "No such file"}},
    {"a run of a file that is not there", {}, {"run", "absent.yaml"}, 2, {"No such file or directory, seen from /"}},
    {"a run of a wrong manifest starts nothing",
     {Job(Worker("comand: [w]"))},
     kRun,
     2,
     {"command (nearest)", "job.yaml has 1 problem; nothing was started"},
     {},
     {"attune-runs"}},
    // What only this machine cannot do.
    {"a variable from a Secret",
     {Job(Worker("command: [/bin/true], env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"))},
     kRun,
     2,
     {"valueFrom.secretKeyRef: found what this machine cannot do; allowed: value:", "nothing was started"},
     {},
     {"attune-runs"}},
    {"a volume of a kind that is not here",
     {Job("{containers: [{name: worker, command: [/bin/true]}], volumes: [{name: c, configMap: {name: c}}]}")},
     kRun,
     2,
     {"volumes[0].configMap: found what this machine cannot do; allowed: emptyDir"},
     {},
     {"attune-runs"}},
};

INSTANTIATE_TEST_SUITE_P(Manifests, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune
