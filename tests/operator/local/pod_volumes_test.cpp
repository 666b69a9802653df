#include "operator/local/nodes/pod_volumes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "operator/local/containers/private_directory.h"
#include "tests/operator/local/objects.h"
#include "tests/scratch.h"

namespace attune::local::pod_volumes_test {
namespace {

using ::testing::HasSubstr;
using testing::Json;
using testing::MakePod;

const kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};

class PodVolumesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Json pod = MakePod("a");
    pod["spec"]["volumes"] = Json::array({{{"name", "tls"}, {"secret", {{"secretName", "a-tls"}}}}});
    pod_ = api_.Create(kube::kPods, pod).value();
  }

  StatusOr<PodVolumes> Make() {
    return PodVolumes::Make(pod_, directory_ / "volumes", directory_ / "claims", api_, time_.WallNow());
  }
  void CreateSecret(const Json& data) {
    const Json secret = {{"apiVersion", "v1"},
                         {"kind", "Secret"},
                         {"metadata", {{"name", "a-tls"}, {"namespace", "default"}}},
                         {"data", data}};
    ASSERT_TRUE(api_.Create(kSecrets, secret).ok());
  }

  ManualTime time_;
  MemoryApi api_{time_, {.own_thread = false}};
  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  Json pod_;
};

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST_F(PodVolumesTest, OtherUsersOfTheMachineCannotEnterAPodsVolumes) {
  Json pod = MakePod("b");
  pod["spec"]["volumes"] = Json::array({{{"name", "run"}, {"emptyDir", Json::object()}}});
  const auto volumes = PodVolumes::Make(api_.Create(kube::kPods, pod).value(), directory_ / "volumes",
                                        directory_ / "claims", api_, time_.WallNow());
  ASSERT_TRUE(volumes.ok()) << Message(volumes.status());
  const std::filesystem::path run = volumes->directories().at("run");
  EXPECT_EQ(ModeOf(run), 0700U);
  EXPECT_EQ(ModeOf(run.parent_path()), 0700U);
}

TEST_F(PodVolumesTest, ADirectoryThatIsOpenToOthersIsClosedAndALinkIsNotFollowed) {
  const std::filesystem::path open = directory_ / "open", link = directory_ / "link";
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  std::filesystem::create_directory_symlink(open, link);
  EXPECT_EQ(MakePrivateDirectory(link).code(), StatusCode::kPermissionDenied) << "it could lead anywhere";
  EXPECT_TRUE(MakePrivateDirectory(open).ok());
  EXPECT_EQ(ModeOf(open), 0700U);
}

TEST_F(PodVolumesTest, APodWaitsUntilItsSecretIsThere) {
  const auto early = Make();
  EXPECT_EQ(early.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(early.status())), HasSubstr("Secret default/a-tls of volume tls is not there yet"));
  CreateSecret({{"tls.crt", "cGVt"}, {"ca.crt", ""}});
  auto volumes = Make();
  ASSERT_TRUE(volumes.ok()) << Message(volumes.status());
  const std::filesystem::path file = volumes->directories().at("tls") / "tls.crt";
  EXPECT_EQ(ReadFile(file).value(), "pem");
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  volumes->Remove();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(PodVolumesTest, KeysThatAreNoFilesAreRefused) {
  CreateSecret({{"../tls.crt", "cGVt"}});
  EXPECT_EQ(Make().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PodVolumesTest, ContentThatIsNoBase64IsRefused) {
  CreateSecret({{"tls.crt", "?"}});
  EXPECT_EQ(Make().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune::local::pod_volumes_test
