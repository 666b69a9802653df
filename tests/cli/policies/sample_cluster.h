// A cluster with policies, for the tests of what `attune policy` shows: objects from YAML behind an API that may refuse
// to show some of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/time_source.h"
#include "operator/api/manifest/yaml.h"
#include "operator/api/policy/policy.h"
#include "tests/operator/kube/fake_api.h"

namespace attune::cli {

using std::chrono_literals::operator""s, std::chrono_literals::operator""h;

inline const WallTime kNoon = WallTime() + 1'784'116'800s;  // Wednesday, 2026-07-15 12:00 UTC

inline std::vector<kube::Json> FromYaml(const std::string& text) {
  std::vector<kube::Json> objects;
  const StatusOr<std::vector<api::YamlDocument>> documents = api::ParseYaml(text, "sample.yaml");
  ATTUNE_CHECK(documents.ok()) << documents.status();
  for (const api::YamlDocument& document : *documents) objects.push_back(document.value);
  return objects;
}

inline api::Policy PolicyFrom(const std::string& kind, const std::string& name, const std::string& spec) {
  return api::ParsePolicy(FromYaml("{apiVersion: attune.dev/v1alpha1, kind: " + kind + ", metadata: {name: " + name +
                                   ", namespace: research}, spec: " + spec + "}")
                              .front())
      .policy;
}

inline kube::Json JobFrom(const std::string& name, const std::string& labels, const std::string& spec,
                          const std::string& name_space = "research") {
  return FromYaml("{apiVersion: attune.dev/v1alpha1, kind: TrainingJob, metadata: {name: " + name +
                  ", namespace: " + name_space + ", labels: " + labels + "}, spec: " + spec + "}")
      .front();
}

inline constexpr char kSamplePolicies[] = R"(
apiVersion: attune.dev/v1alpha1
kind: ClusterTuningPolicy
metadata: {name: production-only, creationTimestamp: "2026-07-13T12:00:00Z"}
spec:
  selector: {namespaces: {matchLabels: {tier: production}}}
  mode: {allowed: ["Off"]}
---
apiVersion: attune.dev/v1alpha1
kind: ClusterTuningPolicy
metadata: {name: shared-gpus, creationTimestamp: "2026-07-13T12:00:00Z"}
spec:
  selector:
    namespaces: {matchLabels: {tier: research}}
    jobs: {matchLabels: {priority: low}}
  mode: {allowed: [Recommend, InPlaceOnly, Auto], default: Auto}
  objective: {price: {core-hour: 0.04}, budgetPerJob: 20}
  knobs: {workers: {max: 16}, workerCpu: {max: "4"}, slack: {forbidden: true}}
  limits: {trialsPerHour: 6, coolDownSeconds: 120}
  windows:
    - {schedule: "Mon-Fri 08:00-20:00 Europe/Berlin", mode: Recommend}
    - {schedule: "Sat,Sun 00:00-24:00 Europe/Berlin", mode: InPlaceOnly}
status: {observedGeneration: 1, jobs: 3, conflicts: 1}
---
apiVersion: attune.dev/v1alpha1
kind: TuningPolicy
metadata: {name: few-servers, namespace: research, creationTimestamp: "2026-07-15T11:59:00Z"}
spec:
  selector: {jobs: {matchLabels: {team: vision}}}
  knobs: {servers: {max: 2}}
status: {observedGeneration: 1, jobs: 1, conflicts: 1, message: "knobs.servers: nothing is left in research/word2vec"}
---
apiVersion: attune.dev/v1alpha1
kind: TuningPolicy
metadata: {name: narrow, namespace: research, creationTimestamp: "2026-07-15T11:00:00Z"}
spec:
  knobs: {workers: {max: 8}, servers: {min: 4}}
---
apiVersion: attune.dev/v1alpha1
kind: TuningPolicy
metadata: {name: urgent, namespace: research, creationTimestamp: "2026-07-15T11:00:00Z"}
spec:
  selector: {jobs: {matchExpressions: [{key: priority, operator: NotIn, values: [low]}]}}
  limits: {movesPerHour: 1}
)";

inline kube::Json SampleJob() {
  return JobFrom("word2vec", "{priority: low, team: vision}",
                 "{servers: {replicas: 2}, workers: {replicas: 12}, tuning: {mode: Auto, workers: {max: 32}}}");
}

inline std::vector<api::Policy> SamplePolicies() {
  std::vector<api::Policy> policies;
  for (const kube::Json& object : FromYaml(kSamplePolicies)) policies.push_back(api::ParsePolicy(object).policy);
  return policies;
}

inline kube::Json ResearchNamespace() {
  return FromYaml("{kind: Namespace, metadata: {name: research, labels: {tier: research}}}").front();
}

class SampleCluster : public kube::FakeApi {
 public:
  // "trainingjobs/research", "clustertuningpolicies/", "namespaces/research" -> what is answered instead.
  std::map<std::string, Status> refused;
  std::vector<kube::Json> objects;

  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions&) override {
    RETURN_IF_ERROR(Refusal(type, options.name_space));
    kube::ListResult list;
    for (const kube::Json& object : objects) {
      const bool within = options.name_space.empty() || kube::Namespace(object) == options.name_space;
      if (kube::StringAt(object, {"kind"}) == type.kind && within) list.items.push_back(object);
    }
    return list;
  }
  StatusOr<kube::Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions&) override {
    RETURN_IF_ERROR(Refusal(type, key.name));
    for (const kube::Json& object : objects) {
      if (kube::StringAt(object, {"kind"}) == type.kind && kube::KeyOf(object) == key) return object;
    }
    return Error(StatusCode::kNotFound, key.ToString() + " not found");
  }

 private:
  Status Refusal(const kube::ResourceType& type, const std::string& where) const {
    const auto at = refused.find(type.plural + "/" + where);
    return at == refused.end() ? OkStatus() : at->second;
  }
};

}  // namespace attune::cli
