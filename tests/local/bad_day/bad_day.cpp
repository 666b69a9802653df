#include "tests/local/bad_day/bad_day.h"

#include <gmock/gmock.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/local/cli/program.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kTimeout{60};  // with one case, on a busy machine

// Ports and addresses of other processes do not matter, nor do ours to them; without the right it is the machine's
// loopback.
class OwnNetwork : public ::testing::Environment {
  void SetUp() override {
    if (unshare(CLONE_NEWNET) != 0) return;
    ifreq interface {};
    std::strcpy(interface.ifr_name, "lo");
    interface.ifr_flags = IFF_UP | IFF_RUNNING;
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(ioctl(socket, SIOCSIFFLAGS, &interface), 0) << std::strerror(errno);
    close(socket);
  }
};
[[maybe_unused]] const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

TEST_P(BadDay, IsAnsweredAndLeavesTheRestAlone) {
  const Case& given = GetParam();
  Place place;
  if (given.on_full_disk && !place.MakeFullDisk()) GTEST_SKIP() << "no right to mount a file system of its own";
  for (const GivenFile& file : given.files) place.Write(file);
  for (const auto& [path, target] : given.links) fs::create_symlink(target, place.path() / path);
  for (const std::string& path : given.pipes) ASSERT_EQ(mkfifo((place.path() / path).c_str(), 0600), 0);
  std::map<std::string, std::string> environment = place.Environment();
  for (const auto& [name, value] : given.environment) environment[name] = value;
  const Outcome outcome =
      Program(given.command, place.path(), environment, given.limits, given.surroundings).AwaitEnd(kTimeout);
  if (given.surroundings.own_network && outcome.code == kNoNetworkOfItsOwn) GTEST_SKIP() << "no right to a namespace";
  EXPECT_EQ(outcome.code, given.code) << outcome.output;
  for (const std::string& text : given.appears) EXPECT_THAT(outcome.output, HasSubstr(text));
  for (const std::string& text : given.absent) EXPECT_THAT(outcome.output, Not(HasSubstr(text)));
  for (const GivenFile& file : given.files) {
    EXPECT_TRUE(ContentOf(place.path() / file.path) == file.content) << file.path << " was changed";
  }
  for (const auto& [path, target] : given.links) {
    EXPECT_TRUE(fs::is_symlink(place.path() / path) && fs::read_symlink(place.path() / path) == target) << path;
  }
  for (const std::string& path : given.pipes) EXPECT_TRUE(fs::is_fifo(place.path() / path)) << path;
  for (const std::string& path : given.missing) EXPECT_FALSE(fs::exists(place.path() / path)) << path;
  EXPECT_THAT(place.Processes(), ::testing::IsEmpty()) << "left behind";
}

}  // namespace

void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

GivenFile Job(const std::string& pod_spec, const std::string& members) {
  return {"job.yaml", "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\nspec:\n" +
                          (members.empty() ? "" : "  " + members + "\n") +
                          "  workers:\n    template:\n      spec: " + pod_spec + "\n"};
}

std::string Worker(const std::string& members) { return "{containers: [{name: worker, " + members + "}]}"; }

}  // namespace attune
