#include "cli/doctor/right.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <vector>

namespace attune::cli::right_test {
namespace {

// "patch attune.dev/trainingjobs/status"
using Rights = std::set<std::string>;

// What the rendered chart gives the operator everywhere (tests/cluster/chart.golden.yaml is held against helm).
Rights OfTheChart(const std::string& role) {
  Rights rights;
  for (const YAML::Node& object : YAML::LoadAllFromFile(ATTUNE_SOURCE_DIR "/tests/cluster/chart.golden.yaml")) {
    if (!object.IsMap() || object["kind"].as<std::string>() != "ClusterRole" ||
        object["metadata"]["name"].as<std::string>() != role) {
      continue;
    }
    for (const YAML::Node& rule : object["rules"])
      for (const YAML::Node& group : rule["apiGroups"])
        for (const YAML::Node& resource : rule["resources"])
          for (const YAML::Node& verb : rule["verbs"])
            rights.insert(verb.as<std::string>() + " " + group.as<std::string>() + "/" + resource.as<std::string>());
  }
  return rights;
}

TEST(RightTest, TheOperatorIsAskedForWhatTheChartGivesIt) {
  Rights given = OfTheChart("attune");
  ASSERT_GT(given.size(), 30U);
  std::erase_if(given, [](const std::string& right) { return right.find("kueue.x-k8s.io/") != std::string::npos; });
  ASSERT_TRUE(OfTheChart("attune-tokens").contains("create authentication.k8s.io/tokenreviews"));
  given.insert("create authentication.k8s.io/tokenreviews");

  Rights asked;
  for (const Right& right : RightsOfAnOperator({.name_space = "", .reviews_tokens = true, .network_policies = true})) {
    EXPECT_TRUE(right.needed);
    asked.insert(right.verb + " " + right.group + "/" + right.resource);
  }
  EXPECT_EQ(asked, given) << "change RightsOfAnOperator with the rules of charts/attune";
}

}  // namespace
}  // namespace attune::cli::right_test
