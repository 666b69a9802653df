#include "operator/api/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::api::manifest_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGood[] = R"(# a job
apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata:
  name: word2vec
spec:
  workers:
    replicas: 2
    template:
      spec:
        containers:
        - name: worker
          image: attune/word2vec:dev
          args: ["--dim", "64", --rate=0.05]
          env:
          - {name: COUNT, value: "12"}
          ports:
          - containerPort: 80
          securityContext: {runAsNonRoot: true}
)";

std::vector<std::string> Texts(const std::string& text) {
  std::vector<std::string> texts;
  const auto manifests = ParseManifests(text, "job.yaml");
  EXPECT_TRUE(manifests.ok()) << manifests.status();
  if (!manifests.ok()) return texts;
  for (const Manifest& manifest : *manifests) {
    for (const FieldProblem& problem : manifest.problems) texts.push_back(ToString(problem, manifest.file));
  }
  return texts;
}

TEST(Manifest, PodTemplatesKeepTheirTypes) {
  const auto manifests = ParseManifests(kGood, "job.yaml");
  ASSERT_TRUE(manifests.ok());
  EXPECT_THAT(Texts(kGood), IsEmpty());
  const Json& container = manifests->at(0).object["spec"]["workers"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(container["args"], Json::parse(R"(["--dim", "64", "--rate=0.05"])"));
  EXPECT_EQ(container["env"][0]["value"], "12");
  EXPECT_EQ(container["ports"][0]["containerPort"], 80);
  EXPECT_EQ(container["securityContext"]["runAsNonRoot"], true);
}

TEST(Manifest, ProblemsHavePlacesInTheOrderOfTheFile) {
  EXPECT_THAT(
      Texts(R"(apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata:
  name: Word2Vec
spec:
  goals: {epochs: 1}
  workers:
    replicas: none
    replicas: 2
    template:
      spec:
        containers: []
  servers:
    replicas: 2
    max: 1
)"),
      ElementsAre(HasSubstr("job.yaml:4:9: metadata.name: found \"Word2Vec\"; allowed: a DNS label"),
                  HasSubstr("job.yaml:6:3: spec.goals: found an unknown field; allowed: goal (nearest)"),
                  HasSubstr("job.yaml:9:5: spec.workers.replicas: found the key a second time"),
                  HasSubstr("job.yaml:12:9: spec.workers.template.spec.containers: found no container"),
                  HasSubstr("job.yaml:14:15: spec.servers.replicas: found 2; allowed: from spec.servers.min (1) to "
                            "spec.servers.max (1)")));
}

TEST(Manifest, AMissingFieldIsToldAtItsParent) {
  EXPECT_THAT(Texts("apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  workers:\n    "
                    "replicas: 1\n"),
              ElementsAre(HasSubstr("job.yaml:5:3: spec.workers.template: found nothing; allowed: a pod template")));
}

TEST(Manifest, SecondDocumentsAndOtherKinds) {
  EXPECT_THAT(
      Texts(std::string(kGood) + "---\napiVersion: v1\nkind: Service\n"),
      ElementsAre("job.yaml:21:13: apiVersion: found \"v1\"; allowed: attune.dev/v1alpha1, the one version understood",
                  "job.yaml:22:7: kind: found \"Service\"; allowed: TrainingJob, the one kind understood"));
  EXPECT_THAT(Texts(std::string(kGood) + "---\n" + kGood),
              ElementsAre(HasSubstr("metadata.name: found \"word2vec\" again")));
}

std::vector<std::string> TextsOfPolicies(const std::string& text, ManifestKinds kinds) {
  const auto manifests = ParseManifests(text, "night.yaml", kinds);
  EXPECT_TRUE(manifests.ok()) << manifests.status();
  std::vector<std::string> texts;
  for (const Manifest& manifest : *manifests) {
    for (const FieldProblem& problem : manifest.problems) texts.push_back(ToString(problem, "night.yaml"));
  }
  return texts;
}

constexpr char kNight[] = R"(apiVersion: attune.dev/v1alpha1
kind: ClusterTuningPolicy
metadata: {name: night}
spec: {limits: {trialsPerHour: 6}}
)";

TEST(PolicyManifest, JobsAndPoliciesMayStandInOneFileWhereBothAreTaken) {
  EXPECT_THAT(TextsOfPolicies(std::string(kGood) + "---\n" + kNight, ManifestKinds::kJobsAndPolicies), IsEmpty());
  EXPECT_THAT(TextsOfPolicies(kNight, ManifestKinds::kPolicies), IsEmpty());
  EXPECT_THAT(TextsOfPolicies(kGood, ManifestKinds::kPolicies),
              ElementsAre("night.yaml:3:7: kind: found \"TrainingJob\"; allowed: TuningPolicy or ClusterTuningPolicy"));
  EXPECT_THAT(TextsOfPolicies(kNight, ManifestKinds::kJobs),
              ElementsAre("night.yaml:2:7: kind: found \"ClusterTuningPolicy\"; allowed: TrainingJob, the one kind "
                          "understood; kubectl apply -f applies a policy, and attune policy test tries it"));
}

TEST(PolicyManifest, AllMistakesAtOnceWithTheirPlacesAndTheNearestNames) {
  EXPECT_THAT(TextsOfPolicies(R"(apiVersion: attune.dev/v1
kind: ClusterTuningPolcy
metadata: {name: Night, labels: {version: 2}}
spec:
  selector: {jobs: {matchLabels: {priority: 1}}}
  mode: {allowed: [Recommend, auto]}
  knob: {workers: {max: 4}}
  knobs:
    workers: {min: 8, max: 4}
  windows:
    - {schedule: "Mon 08:00-08:00 UTC", mode: Recommend}
    - {schedule: "Mon-Fri 08:00-20:00 UTC"}
)",
                              ManifestKinds::kJobsAndPolicies),
              ElementsAre(HasSubstr("night.yaml:1:13: apiVersion: found \"attune.dev/v1\"; allowed: "
                                    "attune.dev/v1alpha1"),
                          HasSubstr("night.yaml:2:7: kind: found \"ClusterTuningPolcy\"; allowed: ClusterTuningPolicy "
                                    "(nearest)"),
                          HasSubstr("night.yaml:3:18: metadata.name: found \"Night\""),
                          HasSubstr("night.yaml:3:43: metadata.labels.version: found 2; allowed: a string"),
                          HasSubstr("night.yaml:5:21: spec.selector.jobs.matchLabels: found"),
                          HasSubstr("night.yaml:6:31: spec.mode.allowed[1]: found \"auto\"; allowed: Auto (nearest)"),
                          HasSubstr("night.yaml:7:3: spec.knob: found an unknown field; allowed: knobs (nearest)"),
                          HasSubstr("night.yaml:9:20: spec.knobs.workers.min: found 8; allowed: at most"),
                          HasSubstr("night.yaml:11:18: spec.windows[0].schedule: found \"Mon 08:00-08:00 UTC\"; "
                                    "allowed: an end that is not the beginning"),
                          HasSubstr("night.yaml:12:7: spec.windows[1].mode: found nothing")));
}

TEST(PolicyManifest, WhatReadersTakeDifferentlyIsAnsweredByTheField) {
  const std::string head = "apiVersion: attune.dev/v1alpha1\nkind: TuningPolicy\nmetadata: {name: a}\nspec: {";
  const std::pair<const char*, const char*> kTable[] = {
      {"mode: {allowed: [Off]}",
       "spec.mode.allowed[0]: found Off, which readers of YAML understand differently; "
       "allowed: \"Off\", in quotes; all: Off, Recommend"},
      {"mode: {default: off}", "allowed: \"Off\", in quotes; all: Off, Recommend"},
      {"windows: [{schedule: '* 08:00-09:00 UTC', mode: Off}]", "spec.windows[0].mode: found Off, which readers"},
      {"knobs: {slack: {forbidden: yes}}", "allowed: true or false"},
      {"limits: {trialsPerHour: 010}", "a whole number from 0 to 1000000, without leading zeros"}};
  for (const auto& [field, want] : kTable) {
    EXPECT_THAT(TextsOfPolicies(head + field + "}\n", ManifestKinds::kPolicies), ElementsAre(HasSubstr(want))) << field;
  }
}

TEST(PolicyManifest, TwoOfOneNameAreAMistakeAndOneOfEachKindIsNone) {
  const std::string own = "apiVersion: attune.dev/v1alpha1\nkind: TuningPolicy\nmetadata: {name: night}\nspec: {}\n";
  EXPECT_THAT(TextsOfPolicies(std::string(kNight) + "---\n" + kNight, ManifestKinds::kPolicies),
              ElementsAre(HasSubstr("metadata.name: found \"night\" again")));
  EXPECT_THAT(TextsOfPolicies(std::string(kNight) + "---\n" + own, ManifestKinds::kPolicies), IsEmpty());
}

// A question of quotes only where strings are taken.
TEST(Manifest, WhatReadersTakeDifferentlyIsAnsweredByTheField) {
  struct Case {
    const char *field, *wanted;
  };
  for (const auto& [field, wanted] : {
           Case{"workers: {replicas: yes",
                "found yes, which readers of YAML understand differently; allowed: a whole "
                "number from 1 to 1024"},
           Case{"workers: {replicas: 012",
                "found 012, which readers of YAML understand differently; allowed: a whole "
                "number from 1 to 1024, without leading zeros"},
           Case{"tuning: {paused: on}, workers: {replicas: 1", "allowed: true or false"},
           Case{"tuning: {mode: off}, workers: {replicas: 1",
                "found off, which readers of YAML understand differently; allowed: \"Off\", in quotes; all: Off, "
                "Recommend"},
           Case{"tuning: {mode: Off}, workers: {replicas: 1", "allowed: \"Off\", in quotes; all: Off, Recommend"},
           Case{"security: {tokenSecret: {name: no}}, workers: {replicas: 1", "allowed: \"no\" as a string"},
       }) {
    EXPECT_THAT(Texts(std::string("apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {") +
                      field + ", template: {spec: {containers: [{name: worker}]}}}}\n"),
                ::testing::Contains(HasSubstr(wanted)))
        << field;
  }
}

TEST(Manifest, GoalsInMetricsNameOneAndSayAllThatTheyNeed) {
  struct Case {
    const char *goal, *wanted;  // "": it is valid
  };
  for (const auto& [goal, wanted] : {
           Case{"targetMetric: {name: held_out_loss, value: -3.2}", ""},
           Case{"earlyStopping: {metric: eval/top-5, patience: 3, minDelta: 0.01, direction: Maximize}", ""},
           Case{"epochs: 3, evaluateEvery: {epochs: 1, steps: 500}", ""},
           Case{"evaluateEvery: {epochs: 1}", "at least one of epochs, steps"},
           Case{"targetMetric: {name: held_out_loss}", "spec.goal.targetMetric.value: found nothing"},
           Case{"targetMetric: {value: 3}", "spec.goal.targetMetric.name: found nothing"},
           Case{"targetMetric: {name: held out, value: 3}", "the name of a metric: 1 to 64 letters"},
           Case{"targetMetric: {name: a, value: 3, direction: Down}", "Minimize, Maximize"},
           Case{"earlyStopping: {metric: a, patience: 0}", "a whole number from 1"},
           Case{"earlyStopping: {metric: a, patience: 2, minDelta: -1}", "a number of at least 0"},
           Case{"earlyStoping: {metric: a, patience: 2}, epochs: 1", "earlyStopping (nearest)"},
           Case{"targetMetric: {name: a, value: 3}, earlyStopping: {metric: a, patience: 2, direction: Maximize}",
                "that of spec.goal.targetMetric"},
           Case{"epochs: 3, evaluateEvery: {epochs: 0}", "a whole number from 1"},
           // The best checkpoint, by one of them or by another.
           Case{"epochs: 3}, checkpoint: {best: {metric: recall, direction: Maximize}", ""},
           Case{"targetMetric: {name: a, value: 3}}, checkpoint: {best: {metric: b, direction: Maximize}", ""},
           Case{"epochs: 3}, checkpoint: {best: held_out_loss", "found \"held_out_loss\""},
           Case{"epochs: 3}, checkpoint: {best: {direction: Maximize}", "spec.checkpoint.best.metric: found nothing"},
           Case{"epochs: 3}, checkpoint: {best: {metrics: a}", "metric (nearest)"},
           Case{"epochs: 3}, checkpoint: {best: {metric: held out}", "the name of a metric: 1 to 64 letters"},
           Case{"epochs: 3}, checkpoint: {best: {metric: a, direction: Maximise}", "Maximize (nearest)"},
           Case{"targetMetric: {name: a, value: 3}}, checkpoint: {best: {metric: a, direction: Maximize}",
                "that of spec.goal.targetMetric"},
           Case{"earlyStopping: {metric: a, patience: 2, direction: Maximize}}, checkpoint: {best: {metric: a}",
                "that of spec.goal.earlyStopping"},
           Case{"epochs: 3}, checkpoint: {resumeFrom: /c, resumeAt: best", "Best (nearest)"},
       }) {
    const auto texts = Texts(std::string("apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
                                         "spec: {goal: {") +
                             goal + "}, workers: {template: {spec: {containers: [{name: worker, image: i}]}}}}\n");
    if (std::string(wanted).empty()) {
      EXPECT_THAT(texts, ::testing::IsEmpty()) << goal;
    } else {
      EXPECT_THAT(texts, ::testing::Contains(HasSubstr(wanted))) << goal;
    }
  }
}

TEST(Manifest, NothingAtAllIsAnError) {
  EXPECT_THAT(std::string(ParseManifests("# only words\n", "job.yaml").status().message()),
              HasSubstr("holds no document"));
  EXPECT_EQ(ReadManifests("/nonexistent/job.yaml").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune::api::manifest_test
