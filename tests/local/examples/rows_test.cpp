// What a running job makes of the rows that its program announces, changed as a user changes it.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "tests/local/cli/job_run.h"

namespace attune::rows_local_test {
namespace {

using testing::HasSubstr;

class RowsRun : public JobRun {
 protected:
  static double ShareHere(const Json& status) {
    const auto share = [&](const char* place) {
      return status.value(Json::json_pointer(std::string("/rows/") + place), 0.0);
    };
    return share("fetched") + share("replicated");
  }
  void Change(const std::string& management, const std::string& said) {
    const Outcome changed = Attune({"rows", "announced", management});
    EXPECT_EQ(changed.code, 0) << changed.output;
    EXPECT_THAT(changed.output, HasSubstr(said));
  }
};

TEST_F(RowsRun, AnnouncedRowsAreHereUntilItIsForbiddenAndAgainWhenItIsAllowed) {
  constexpr uint64_t kNumbers = 60'000'000, kEpochs = 3;
  StartRun("announced",
           "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: announced}\nspec:\n"
           "  rowManagement: Always\n  goal: {epochs: " +
               std::to_string(kEpochs) +
               "}\n  servers: {replicas: 2}\n  workers:\n    replicas: 2\n    template:\n      spec:\n"
               "        containers:\n        - {name: worker, image: none, command: [" ATTUNE_AHEAD "], args: [\"" +
               std::to_string(kNumbers) + "\"]}\n");
  ASSERT_TRUE(AwaitStatus("rows that are here", [](const Json& status) { return ShareHere(status) > 0.5; }));
  const Outcome looked_at = Attune({"explain", "announced", "--row", "counts:5", "--seconds", "2"});
  EXPECT_EQ(looked_at.code, 0) << looked_at.output;
  for (const char* seen : {"announced-server-0", "announced-worker-1", "announced by the program, for steps",
                           "read by the program", "pushed to by the program"}) {
    EXPECT_THAT(looked_at.output, HasSubstr(seen));
  }
  Change("static", "Always -> Static");
  ASSERT_TRUE(AwaitStatus("no row that is here", [](const Json& status) { return ShareHere(status) == 0; }));
  Change("always", "Static -> Always");
  ASSERT_TRUE(AwaitStatus("rows that are here again", [](const Json& status) { return ShareHere(status) > 0.5; }));
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counted"), static_cast<double>(kNumbers * kEpochs));
}

}  // namespace
}  // namespace attune::rows_local_test
