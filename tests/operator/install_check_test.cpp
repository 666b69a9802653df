// `helm test`: an installation is judged by ports that answer and by the end of a job.
#include "operator/install_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <vector>

#include "operator/local/api/memory_api.h"

namespace attune::install_check_test {
namespace {

using kube::Json;
using testing::HasSubstr;

Json Job(const std::vector<Json>& conditions) {
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "j"}, {"namespace", "n"}}},
          {"status", {{"phase", "Running"}, {"conditions", Json(conditions)}}}};
}
Json Condition(const char* type, const char* status) {
  return {{"type", type}, {"status", status}, {"reason", "Why"}, {"message", "what happened"}};
}

TEST(InstallCheckTest, TheEndOfAJobIsReadFromItsConditions) {
  EXPECT_FALSE(EndOf(Json::object()));
  EXPECT_FALSE(
      EndOf(Job({Condition("Ready", "True"), Condition("Succeeded", "Unknown"), Condition("Failed", "False")})));
  EXPECT_TRUE(EndOf(Job({Condition("Succeeded", "True")}))->ok());
  const std::optional<Status> failed = EndOf(Job({Condition("Succeeded", "False"), Condition("Failed", "True")}));
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->message(), HasSubstr("job n/j has failed, Why: what happened"));
}

TEST(InstallCheckTest, FlagsThatCannotBeMeantAreNamed) {
  EXPECT_FALSE(IsWanted({}));
  EXPECT_TRUE(IsWanted({.ports = {"a:1"}}));
  EXPECT_TRUE(IsWanted({.job = {"n", "j"}}));
  EXPECT_EQ(CheckProblem({.ports = {"a:1"}, .job = {"n", "j"}}), "");
  EXPECT_THAT(CheckProblem({.job = {"", "j"}}), HasSubstr("--namespace"));
  for (const char* address : {"a", ":1", "a:"}) {
    EXPECT_THAT(CheckProblem({.ports = {address}}), HasSubstr(address));
  }
}

TEST(InstallCheckTest, APortIsAwaitedUntilItAnswers) {
  namespace asio = boost::asio;
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  const uint16_t port = acceptor.local_endpoint().port();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  EXPECT_TRUE(AwaitPorts({address}, [] { return false; }).ok());
  acceptor.close();
  int looks = 0;
  const Status missing = AwaitPorts({address}, [&] { return ++looks < 3; });
  EXPECT_EQ(missing.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(missing.message(), HasSubstr(address));
  EXPECT_EQ(looks, 3);
  const auto open_again = [&] {
    acceptor = asio::ip::tcp::acceptor(context, {asio::ip::address_v4::loopback(), port});
    return true;
  };
  EXPECT_TRUE(AwaitPorts({address}, open_again).ok());
}

TEST(InstallCheckTest, AJobIsAwaitedUntilItHasEnded) {
  const SystemTime time;
  local::MemoryApi api(time);
  const kube::ObjectKey key{"n", "j"};
  EXPECT_EQ(AwaitJob(api, key, [] { return true; }).code(), StatusCode::kNotFound);
  Json job = Job({});
  job.erase("status");
  ASSERT_TRUE(api.Create(kube::kTrainingJobs, job).ok());
  int looks = 0;
  const Status late = AwaitJob(api, key, [&] { return ++looks < 3; });
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("no operator has looked at it"));
  const auto ends = [&](const char* type) {
    const Json patch = {{"status", Job({Condition(type, "True")})["status"]}};
    return api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch, "status", {}).ok();
  };
  EXPECT_TRUE(AwaitJob(api, key, [&] { return ends("Succeeded"); }).ok());
  ASSERT_TRUE(ends("Failed"));
  EXPECT_EQ(AwaitJob(api, key, [] { return false; }).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune::install_check_test
