// Tuning policies that are not right, or asked for where there are none: what to do next is said, and nothing is done.
#include "tests/local/bad_day/bad_day.h"

namespace attune {
namespace {

GivenFile Night(const std::string& spec, const std::string& kind = "ClusterTuningPolicy") {
  return {"night.yaml",
          "apiVersion: attune.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: night}\nspec: " + spec + "\n"};
}

Case Invalid(std::string name, GivenFile file, std::vector<std::string> appears) {
  return {std::move(name), {std::move(file)}, {"validate", "night.yaml"}, 2, std::move(appears), {"valid ("}};
}

const Case kCases[] = {
    Invalid("a misspelled limit of a policy", Night("{limits: {trialsPerHuor: 6}}"),
            {"night.yaml:4:17: spec.limits.trialsPerHuor: found an unknown field; allowed: trialsPerHour (nearest)"}),
    Invalid("a misspelled kind of policy", Night("{limits: {trialsPerHour: six}}", "TuningPolcy"),
            {"night.yaml:2:7: kind: found \"TuningPolcy\"; allowed: TuningPolicy (nearest)",
             "spec.limits.trialsPerHour: found \"six\"; allowed: a whole number from 0 to 1000000", "2 problems"}),
    Invalid("bounds that leave nothing", Night("{knobs: {workers: {min: 8, max: 4}}}"),
            {"spec.knobs.workers.min: found 8; allowed: at most spec.knobs.workers.max (4)"}),
    Invalid("hours that never match", Night("{windows: [{schedule: \"* 08:00-08:00 UTC\", mode: Recommend}]}"),
            {"spec.windows[0].schedule", "these hours never match; a whole day is 00:00-24:00"}),
    Invalid("the mode Off without quotes", Night("{mode: {allowed: [Off]}}"),
            {"spec.mode.allowed[0]: found Off", "allowed: \"Off\", in quotes"}),
    {"a time zone that is not known here",
     {Night("{windows: [{schedule: \"Mon 08:00-20:00 Europe/Nowhere\", mode: Recommend}]}")},
     {"validate", "night.yaml"},
     0,
     {"night.yaml:4:29: warning: spec.windows[0].schedule: this machine knows no time zone Europe/Nowhere",
      "night.yaml: valid (ClusterTuningPolicy night)"}},
    {"a run of a policy",
     {Night("{limits: {trialsPerHour: 6}}")},
     {"run", "night.yaml", "--plain"},
     2,
     {"kind: found \"ClusterTuningPolicy\"; allowed: TrainingJob", "kubectl apply -f applies a policy"},
     {},
     {"attune-runs"}},
    {"a trial of a job",
     {Job(Worker("command: [w]"))},
     {"policy", "test", "job.yaml"},
     2,
     {"kind: found \"TrainingJob\"; allowed: TuningPolicy or ClusterTuningPolicy", "nothing was compared"}},
    {"a trial of no file", {}, {"policy", "test"}, 2, {"write attune policy test FILE"}},
    {"a trial of a file that is not there", {}, {"policy", "test", "absent.yaml"}, 2, {"No such file", "seen from /"}},
    {"policies of one machine",
     {},
     {"policy", "list"},
     1,
     {"there is no kubeconfig, and policies are objects of a cluster", "--kubeconfig FILE or --context NAME"}},
    {"a trial without a cluster",
     {Night("{limits: {trialsPerHour: 6}}")},
     {"policy", "test", "night.yaml"},
     1,
     {"there is no kubeconfig", "attune validate FILE checks policies without one"}},
    {"a policy in an action of another program", {}, {"policy", "apply", "night.yaml"}, 2, {"list, explain, test"}},
};

INSTANTIATE_TEST_SUITE_P(Policies, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune
