#include "cli/pull/model_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli::model_place_test {
namespace {

using kube::Json;
using ::testing::HasSubstr;

api::TrainingJob Job(const std::string& claim = "", const std::string& checkpoints = "") {
  api::TrainingJob job;
  job.name = "w2v";
  job.spec.model.claim = claim;
  job.spec.checkpoint.directory = checkpoints;
  return job;
}
Json Pod(Json volume) {
  volume["name"] = "attune-model";
  return {{"spec", {{"volumes", Json::array({{{"name", "attune-run"}, {"emptyDir", Json::object()}}, volume})}}}};
}
const Json kOnClaim = Pod({{"persistentVolumeClaim", {{"claimName", "shared"}}}});
const Json kOnPod = Pod({{"emptyDir", Json::object()}});

TEST(ModelPlace, TheClaimIsFoundOrWhyThereIsNone) {
  struct Case {
    const char* name;
    api::TrainingJob job;
    std::vector<Json> pods;
    const char *stated, *want;
  };
  const Case cases[] = {
      {"as the user says", Job("a"), {kOnClaim}, "mine", "mine"},
      {"as the spec says", Job("a"), {kOnClaim}, "", "a"},
      {"as the operator gave it", Job(), {Pod({}), kOnClaim}, "", "shared"},
      {"it goes with the pods",
       Job(),
       {kOnPod},
       "",
       "goes with the pod, and which nothing else can read: set spec.model.claim"},
      {"neither says", Job(), {}, "", "name it with --claim"},
      {"a pod without volumes", Job(), {Json::object(), Json(7)}, "", "name it with --claim"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto claim = ModelClaim(c.job, c.pods, c.stated);
    EXPECT_THAT(claim.ok() ? *claim : std::string(Message(claim.status())), HasSubstr(c.want));
  }
}

TEST(ModelPlace, CheckpointsAreWhereTheSpecPutsThem) {
  struct Case {
    const char *stated, *checkpoints, *elsewhere;
  };
  for (const Case& c : {Case{"", "checkpoints", ""}, Case{"/var/lib/attune/model/w2v/kept/here/", "kept/here", ""},
                        Case{"/var/lib/attune/model/w2v/../other", "", "/var/lib/attune/model/w2v/../other"},
                        Case{"/var/lib/attune/model/w2v2", "", "/var/lib/attune/model/w2v2"},
                        Case{"/models/c", "", "/models/c"}, Case{"/var/lib/attune/model/w2v", "", ""}}) {
    SCOPED_TRACE(c.stated);
    const ModelPlace place = PlaceOfModel(Job("", c.stated));
    EXPECT_EQ(place.directory, "/var/lib/attune/model/w2v");
    EXPECT_EQ(place.checkpoints, c.checkpoints);
    EXPECT_EQ(place.elsewhere, c.elsewhere);
  }
}

TEST(ModelPlace, OnlyFilesBelowTheirDirectoryAreOfCheckpoints) {
  const ModelPlace place = PlaceOfModel(Job());
  EXPECT_TRUE(IsOfCheckpoints(place, "checkpoints/00000001.manifest.json"));
  EXPECT_FALSE(IsOfCheckpoints(place, "checkpoints.txt"));
  EXPECT_FALSE(IsOfCheckpoints(place, "tables/00000001.manifest.json"));
  EXPECT_FALSE(IsOfCheckpoints({}, "tables/a"));
}

}  // namespace
}  // namespace attune::cli::model_place_test
