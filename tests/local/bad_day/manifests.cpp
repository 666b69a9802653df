// Manifests that are not right: all of it is said, with file, line and field, and nothing is started.
#include "tests/local/bad_day/bad_day.h"

namespace attune::manifests {
namespace {

const std::vector<std::string> kValidate = {"validate", "job.yaml"};
const std::vector<std::string> kRun = {"run", "job.yaml", "--plain"};

GivenFile Text(const std::string& content) { return {"job.yaml", content}; }

std::string Top(const std::string& spec) {
  return "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\nspec: " + spec + "\n";
}
constexpr char kGoodWorkers[] = "workers: {template: {spec: {containers: [{name: worker, command: [/bin/true]}]}}}";

// A job with these members of its spec beside good workers.
GivenFile With(const std::string& members) { return Text(Top("{" + members + ", " + kGoodWorkers + "}")); }
// A good job with other metadata.
GivenFile Named(const std::string& metadata) {
  return Text("apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: " + metadata + "\nspec: {" +
              std::string(kGoodWorkers) + "}\n");
}

Case Invalid(std::string name, GivenFile file, std::vector<std::string> appears) {
  return {std::move(name), {std::move(file)}, kValidate, 2, std::move(appears), {"valid ("}};
}

// Eight lists, each of nine times the one before.
std::string Growing() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    text += name + ": &" + name + " [" + before;
    for (int times = 1; times < 9; ++times) text += ", " + before;
    text += "]\n";
  }
  return text;
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
    Invalid("a program without a name", Job(Worker("command: [\"\"]")),
            {"command[0]: found \"\"; allowed: the name or the path of a program", "1 problem"}),
    Invalid("a reference to an object without a name", Job(Worker("envFrom: [{configMapRef: {name: \"\"}}]")),
            {"configMapRef.name: found \"\"; allowed: a string that is not empty", "1 problem"}),
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
    Invalid(
        "an alias of what it lies in", Text("a: &a\n  b: *a\n"),
        {"job.yaml:2:3: a.b: found an alias of a value that it is itself part of, which has no end; allowed: a value "
         "that does not contain itself"}),
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
    // Numbers and their ranges.
    Invalid("fewer servers than none", With("servers: {replicas: -1}"),
            {"job.yaml:4:28: spec.servers.replicas: found -1; allowed: a whole number from 1 to 1024", "1 problem"}),
    Invalid("two and a half servers", With("servers: {replicas: 2.5}"), {"found 2.5; allowed: a whole number"}),
    Invalid("a number that is quoted", With("servers: {replicas: \"2\"}"), {"found \"2\"; allowed: a whole number"}),
    Invalid("a number that is missing", With("servers: {replicas: ~}"), {"found nothing; allowed: a whole number"}),
    Invalid("a number with underscores", With("servers: {replicas: 1_000}"),
            {"found \"1_000\"; allowed: a whole number"}),
    Invalid("a duration with a unit", With("goal: {maxDurationSeconds: 10m}"),
            {"found \"10m\"; allowed: a whole number from 1 to 315360000"}),
    Invalid("no epochs", With("goal: {epochs: 0}"), {"spec.goal.epochs: found 0; allowed: a whole number from 1"}),
    Invalid("a loss that is no number", With("goal: {targetLoss: .nan}"), {"found .nan; allowed: a finite number"}),
    Invalid("a loss in words", With("goal: {targetLoss: low}"), {"found \"low\"; allowed: a number"}),
    Invalid("a goal without a goal", With("goal: {}"),
            {"spec.goal: found no goal; allowed: at least one of epochs, steps, targetLoss"}),
    Invalid("a port beyond all", Job(Worker("ports: [{containerPort: 99999}]")),
            {"found 99999; allowed: a whole number from 1 to 65535"}),
    Invalid("a request above the limit", Job(Worker("resources: {limits: {cpu: 1}, requests: {cpu: 2}}")),
            {"resources.requests.cpu: found 2; allowed: at most limits.cpu (1)"}),
    // What does not go together.
    Invalid("a backup beside no other server", With("servers: {replicas: 1, backups: 1}"),
            {"allowed: 0 with one server; 1 needs spec.servers.replicas of at least 2"}),
    Invalid("a least number above the most", With("servers: {replicas: 3, min: 5, max: 2}"),
            {"spec.servers.min: found 5; allowed: at most spec.servers.max (2)"}),
    Invalid("a tuner's range that is empty", With("tuning: {servers: {min: 4, max: 2}}"),
            {"spec.tuning.servers.min: found 4; allowed: at most spec.tuning.servers.max (2)"}),
    Invalid("a staleness that is missing", With("synchronization: {mode: SSP}"),
            {"spec.synchronization.staleness: found nothing; allowed: with mode SSP a whole number"}),
    Invalid("a staleness of another mode", With("synchronization: {mode: BSP, staleness: 3}"),
            {"found 3; allowed: nothing with mode BSP; it belongs to mode SSP"}),
    Invalid("two sources of a variable",
            Job(Worker("env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]")),
            {"found value, valueFrom; allowed: one of them"}),
    Invalid("two kinds of a probe", Job(Worker("livenessProbe: {exec: {command: [x]}, httpGet: {path: /, port: 80}}")),
            {"found exec, httpGet; allowed: one of them"}),
    Invalid("two volumes of one name",
            Job("{containers: [{name: worker, command: [/bin/true]}], volumes: [{name: a}, {name: a}]}"),
            {"volumes[1].name: found \"a\" again"}),
    // Names and places.
    Invalid("a mode in small letters", With("synchronization: {mode: ssp}"), {"found \"ssp\"; allowed: SSP (nearest)"}),
    Invalid(
        "a mode that is a boolean without quotes", With("tuning: {mode: Off}"),
        {"found Off, which readers of YAML understand differently; allowed: \"Off\", in quotes; all: Off, Recommend"}),
    Invalid("a tuner's mode in small letters", With("tuning: {mode: auto}"),
            {"found \"auto\"; allowed: Auto (nearest)"}),
    Invalid("a field one level too high", With("tuning: {pinned: {servers: 9}}"),
            {"allowed: the field at spec.tuning.servers.pinned"}),
    Invalid("a key that stands twice", With("servers: {replicas: 1}, servers: {replicas: 2}"),
            {"spec.servers: found the key a second time; allowed: one; the first is in line 4"}),
    Invalid("a list for a mapping", With("servers: [1]"),
            {"spec.servers: found a list; allowed: a mapping with replicas"}),
    Invalid("no containers", Job("{containers: []}"), {"found no container; allowed: one container named worker"}),
    Invalid("a container of another name", Job("{containers: [{name: main, command: [/bin/true]}]}"),
            {"found containers named main; allowed: one container named worker"}),
    Invalid("two containers of one name",
            Job("{containers: [{name: worker, command: [a]}, {name: worker, command: [b]}]}"),
            {"containers[1].name: found \"worker\" again"}),
    Invalid("capitals in a job's name", Named("{name: Toy}"), {"metadata.name: found \"Toy\"; allowed: a DNS label"}),
    Invalid("a job without a name", Named("{}"), {"metadata.name: found nothing; allowed: a DNS label"}),
    Invalid("a name that is too long", Named("{name: " + std::string(51, 'a') + "}"), {"at most 50 characters"}),
    Invalid("a label that is a number", Named("{name: toy, labels: {a: 3}}"),
            {"metadata.labels.a: found 3; allowed: a string"}),
    Invalid("a label that no cluster takes", Named("{name: toy, labels: {\"a b\": c}}"),
            {"found a name that Kubernetes does not take; allowed: letters, digits"}),
    Invalid("a label's value that no cluster takes", Named("{name: toy, labels: {a: \"b c\"}}"),
            {"metadata.labels.a: found \"b c\"; allowed: letters, digits"}),
    Invalid("misspelled metadata", Named("{name: toy, lables: {}}"), {"allowed: labels (nearest)"}),
    // Documents.
    Invalid("another version", Text("apiVersion: attune.dev/v1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {}\n"),
            {"apiVersion: found \"attune.dev/v1\"; allowed: attune.dev/v1alpha1, the one version understood"}),
    Invalid("a job without a spec", Text("apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"),
            {"spec: found nothing; allowed: a mapping with goal"}),
    Invalid("a list for a document", Text("- a\n- b\n"), {"(document): found a list; allowed: a TrainingJob"}),
    Invalid("words for a document", Text("just words\n"), {"(document): found \"just words\""}),
    Invalid("an alias of nothing", Text("a: *nope\n"), {"the referenced anchor is not defined"}),
    Invalid("aliases that grow beyond all", Text(Growing()), {"found too much; allowed: at most 100000 values"}),
    Invalid("a tag", Text("!!binary x\n"), {"found the tag tag:yaml.org,2002:binary; allowed: no tag"}),
    {"a file that is not there", {}, {"validate", "absent.yaml"}, 2, {"absent.yaml", "No such file", "seen from /"}},
    {"good beside absent",
     {Named("{name: toy}")},
     {"validate", "job.yaml", "absent.yaml"},
     2,
     {"job.yaml: valid (toy)", "1 problem"}},
    {"two jobs to begin with one checkpoint",
     {Text(Top("{" + std::string(kGoodWorkers) + "}") + "---\n" +
           "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: other}\nspec: {" + kGoodWorkers +
           "}\n")},
     {"run", "job.yaml", "--resume", "."},
     2,
     {"--resume begins one job, and the manifest has 2", "spec.checkpoint.resumeFrom"},
     {},
     {"attune-runs"}},
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
}  // namespace attune::manifests
