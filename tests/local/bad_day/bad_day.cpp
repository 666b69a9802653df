#include "tests/local/bad_day/bad_day.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/local/cli/program.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{60};  // with one case, on a busy machine

std::string ContentOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The directory of one case, and the file system without space below it.
class Place {
 public:
  Place() {
    std::string pattern = (fs::temp_directory_path() / "attune-bad-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Place() {
    if (mounted_) umount2((path_ / "full").c_str(), MNT_DETACH);
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const fs::path& path() const { return path_; }
  bool MakeFullDisk() {
    const fs::path full = path_ / "full";
    fs::create_directory(full);
    mounted_ = mount("tmpfs", full.c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!mounted_) return false;
    std::ofstream out(full / "ballast");
    const std::string page(4096, 'x');
    while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
    return true;
  }
  void Write(const GivenFile& file) const {
    fs::create_directories((path_ / file.path).parent_path());
    std::ofstream(path_ / file.path, std::ios::binary) << file.content;
    if (file.executable) fs::permissions(path_ / file.path, fs::perms::owner_all);
  }

 private:
  fs::path path_;
  bool mounted_ = false;
};

std::vector<std::string> ProcessesOf(const fs::path& home) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    if (ContentOf(entry.path() / "environ").find("HOME=" + home.string() + '\0') == std::string::npos) continue;
    found.push_back(name + " " + ContentOf(entry.path() / "comm"));
  }
  return found;
}

TEST_P(BadDay, IsAnsweredAndLeavesTheRestAlone) {
  const Case& given = GetParam();
  Place place;
  if (given.on_full_disk && !place.MakeFullDisk()) GTEST_SKIP() << "no right to mount a file system of its own";
  for (const GivenFile& file : given.files) place.Write(file);
  std::map<std::string, std::string> environment = {
      {"XDG_RUNTIME_DIR", place.path()}, {"HOME", place.path()}, {"KUBECONFIG", ""}};
  environment.insert(given.environment.begin(), given.environment.end());
  const Outcome outcome = Program(given.command, place.path(), environment).AwaitEnd(kPatience);
  EXPECT_EQ(outcome.code, given.code) << outcome.output;
  for (const std::string& text : given.appears) EXPECT_THAT(outcome.output, HasSubstr(text));
  for (const std::string& text : given.absent) EXPECT_THAT(outcome.output, Not(HasSubstr(text)));
  for (const GivenFile& file : given.files) {
    EXPECT_TRUE(ContentOf(place.path() / file.path) == file.content) << file.path << " was changed";
  }
  for (const std::string& path : given.missing) EXPECT_FALSE(fs::exists(place.path() / path)) << path;
  EXPECT_THAT(ProcessesOf(place.path()), ::testing::IsEmpty()) << "left behind";
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
