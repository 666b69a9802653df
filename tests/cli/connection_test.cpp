#include "cli/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli::connection_test {
namespace {

using ::testing::HasSubstr;

RunningJob Job(int instance, const std::string& run, const std::string& name,
               const std::string& name_space = "default") {
  return {instance, run, "/runs/" + run, "2027-01-15T08:00:00Z", {name_space, name}};
}

TEST(ChooseRunningJob, AllRunningRunsAreOneWorld) {
  const std::vector<RunningJob> jobs = {Job(1, "a-1", "aaa"), Job(2, "b-1", "bbb"), Job(2, "b-1", "ccc"),
                                        Job(3, "aaa", "ddd"), Job(3, "aaa", "eee", "lab")};
  struct Case {
    const char *what, *name_space, *wanted;
    std::optional<size_t> want;
  };
  const Case kTable[] = {{"a job of an older run", "", "aaa", 0},      {"a job of the newest", "", "ddd", 3},
                         {"a run with one job", "", "a-1", 0},         {"a run's directory", "", "/runs/a-1", 0},
                         {"a job of another namespace", "", "eee", 4}, {"in its namespace", "lab", "eee", 4},
                         {"nothing", "", "zzz", std::nullopt}};
  for (const Case& each : kTable) {
    const auto chosen = ChooseRunningJob(jobs, each.name_space, each.wanted);
    ASSERT_TRUE(chosen.ok()) << each.what << ": " << chosen.status();
    EXPECT_EQ(*chosen, each.want) << each.what;
  }
  const auto elsewhere = ChooseRunningJob(jobs, "default", "eee");
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ(*elsewhere, std::nullopt);
}

TEST(ChooseRunningJob, EqualNamesAreAnErrorThatListsThem) {
  const std::vector<RunningJob> jobs = {Job(4711, "toy-1", "toy"), Job(4712, "toy-2", "toy"), Job(4713, "x", "other")};
  const auto chosen = ChooseRunningJob(jobs, "", "toy");
  ASSERT_EQ(chosen.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(Message(chosen.status())),
            "2 running jobs are meant by toy; say which with --instance PID:\n"
            "  INSTANCE   RUN     JOB           STARTED                DIRECTORY\n"
            "  4711       toy-1   default/toy   2027-01-15T08:00:00Z   /runs/toy-1\n"
            "  4712       toy-2   default/toy   2027-01-15T08:00:00Z   /runs/toy-2");
  EXPECT_EQ(**ChooseRunningJob(jobs, "", "toy-2"), 1U) << "the name of a run is exact";
}

TEST(ChooseRunningJob, ARunOfSeveralJobsIsNoJob) {
  const std::vector<RunningJob> jobs = {Job(1, "both", "aaa"), Job(1, "both", "bbb")};
  const auto chosen = ChooseRunningJob(jobs, "", "both");
  ASSERT_EQ(chosen.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(chosen.status())), HasSubstr("say which with the name of the job"));
}

TEST(ChooseOnlyJob, WhereNoneIsNamedTheOnlyOneIsMeant) {
  const std::vector<RunningJob> jobs = {Job(1, "a-1", "aaa"), Job(2, "b-1", "bbb", "lab")};
  EXPECT_EQ(*ChooseOnlyJob({}, ""), std::nullopt);
  EXPECT_EQ(*ChooseOnlyJob({jobs[0]}, ""), 0U);
  EXPECT_EQ(*ChooseOnlyJob(jobs, "lab"), 1U) << "the only one of its namespace";
  EXPECT_EQ(*ChooseOnlyJob(jobs, "elsewhere"), std::nullopt);
  const auto several = ChooseOnlyJob(jobs, "");
  ASSERT_EQ(several.status().code(), StatusCode::kInvalidArgument);
  const std::string text(Message(several.status()));
  for (const char* part : {"2 jobs run; name one, or its run:", "default/aaa", "lab/bbb", "a-1", "b-1"})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace attune::cli::connection_test
