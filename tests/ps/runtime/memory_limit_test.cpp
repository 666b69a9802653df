#include "ps/runtime/server/memory_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace attune::ps {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryLimit, ReadsBothVersions) {
  EXPECT_EQ(LimitOfGroup("536870912\n"), 512 * kMiB);
  EXPECT_EQ(LimitOfGroup("max\n"), 0U);
  EXPECT_EQ(LimitOfGroup("9223372036854771712\n"), 0U) << "how version 1 says that there is none";
  EXPECT_EQ(LimitOfGroup(""), 0U);
}

TEST(MemoryLimit, FindsTheGroupOfVersion2) {
  EXPECT_EQ(GroupOfProcess("12:memory:/x\n0::/kubepods/pod1\n"), "/kubepods/pod1");
  EXPECT_EQ(GroupOfProcess("0::/"), "/");
  EXPECT_EQ(GroupOfProcess("12:memory:/x\n"), "");
  EXPECT_EQ(GroupOfProcess(""), "");
}

TEST(MemoryLimit, TheLowestLimitOnTheWayCounts) {
  std::string name = (std::filesystem::temp_directory_path() / "attune-groups-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::filesystem::path root = name;
  std::filesystem::create_directories(root / "a" / "b");
  const auto write = [](const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; };
  EXPECT_EQ(LimitOfGroups(root, "/a/b"), 0U) << "no files";
  write(root / "a" / "memory.max", "1000000");
  write(root / "a" / "b" / "memory.max", "max");
  EXPECT_EQ(LimitOfGroups(root, "/a/b"), 1000000U);
  write(root / "a" / "b" / "memory.max", "500000");
  EXPECT_EQ(LimitOfGroups(root, "/a/b"), 500000U);
  EXPECT_EQ(LimitOfGroups(root, "/a"), 1000000U);
  EXPECT_EQ(LimitOfGroups(root, "/elsewhere"), 0U);
  std::filesystem::remove_all(root);
}

TEST(MemoryLimit, TablesLeaveRoomForTheRest) {
  EXPECT_EQ(MemoryForTables(8192 * kMiB), 7168 * kMiB);
  EXPECT_EQ(MemoryForTables(256 * kMiB), 192 * kMiB);
  EXPECT_EQ(MemoryForTables(100 * kMiB), 50 * kMiB);
  EXPECT_GT(AvailableMemory(), 0U);
}

}  // namespace
}  // namespace attune::ps
