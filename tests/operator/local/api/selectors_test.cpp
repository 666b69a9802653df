#include "operator/local/api/rules/selectors.h"

#include <gtest/gtest.h>

namespace attune::local::selectors_test {
namespace {

using kube::Json;

TEST(LabelSelectorTest, MatchesAsKubernetesDoes) {
  const Json object{{"metadata", {{"labels", {{"app", "x"}, {"tier", "db"}, {"attune.dev/job", "a"}}}}}};
  const std::vector<std::pair<std::string, bool>> cases = {
      {"", true},
      {"app=x", true},
      {"app==x", true},
      {"app=y", false},
      {"app!=y", true},
      {"absent!=y", true},
      {"app", true},
      {"absent", false},
      {"!absent", true},
      {"!app", false},
      {"app in (x,y)", true},
      {"app in (y, z)", false},
      {"app notin (y,z)", true},
      {"absent notin (y)", true},
      {"app=x,tier=db", true},
      {"app=x,tier=web", false},
      {"attune.dev/job=a,app in (x)", true},
      {" app = x , tier = db ", true},
  };
  for (const auto& [text, want] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_EQ(selector->Matches(object), want) << text;
  }
}

TEST(LabelSelectorTest, RefusesNonsense) {
  for (const char* text : {",", "a=b,", "a in (b", "a within (b)", "in (b)", "=b", "a b", "!"}) {
    EXPECT_FALSE(LabelSelector::Parse(text).ok()) << text;
  }
}

TEST(FieldSelectorTest, ComparesPaths) {
  const Json object{{"metadata", {{"name", "a"}}}, {"status", {{"phase", "Running"}}}};
  EXPECT_TRUE(FieldSelector::Parse("metadata.name=a")->Matches(object));
  EXPECT_TRUE(FieldSelector::Parse("metadata.name=a,status.phase!=Failed")->Matches(object));
  EXPECT_FALSE(FieldSelector::Parse("status.phase==Failed")->Matches(object));
  EXPECT_TRUE(FieldSelector::Parse("spec.nodeName=")->Matches(object)) << "absent reads as empty";
  EXPECT_FALSE(FieldSelector::Parse("name").ok());
}

}  // namespace
}  // namespace attune::local::selectors_test
