// ARCHITECTURE.md is the map: every room stands on it, and it names no room that is not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure::map_test {
namespace {
namespace fs = std::filesystem;

// Rooms: top-level directories, the directories inside examples/ and tests/, and every directory with sources in what
// is shipped.
std::set<std::string> RoomsOnDisk() {
  std::set<std::string> rooms;
  const std::set<std::string> not_rooms = {"build", "attune-runs"};
  for (const auto& entry : fs::directory_iterator(Root())) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || name.front() == '.' || not_rooms.contains(name)) continue;
    rooms.insert(name + "/");
  }
  for (const char* parent : {"examples", "tests"}) {
    for (const auto& entry : fs::directory_iterator(Root() / parent)) {
      const std::string name = entry.path().filename();
      if (entry.is_directory() && name != "__pycache__") rooms.insert(std::string(parent) + "/" + name + "/");
    }
  }
  for (const SourceFile& file : CppFiles()) {
    const std::string room = fs::path(file.path).parent_path().generic_string() + "/";
    const std::string part = room.substr(0, room.find('/'));
    const bool shipped = part == "base" || part == "ps" || part == "operator" || part == "sidecar" || part == "cli";
    if (shipped && room != "ps/include/attune/ps/") rooms.insert(room);
  }
  return rooms;
}

// Table rows of the map: | `room/` | purpose | ...
std::set<std::string> RoomsOnMap() {
  std::set<std::string> rooms;
  const std::string text = ReadText("ARCHITECTURE.md");
  const std::regex row(R"re(\n\| `([a-z0-9_/-]+/)` \|)re");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) rooms.insert((*it)[1]);
  return rooms;
}

TEST(MapTest, EveryRoomOnDiskIsOnTheMap) {
  const auto map = RoomsOnMap();
  for (const std::string& room : RoomsOnDisk()) {
    EXPECT_TRUE(map.contains(room)) << room << " is missing from the tables of ARCHITECTURE.md";
  }
}

TEST(MapTest, EveryRoomOnTheMapExists) {
  for (const std::string& room : RoomsOnMap()) {
    EXPECT_TRUE(fs::is_directory(Root() / room)) << "ARCHITECTURE.md names " << room << ", which does not exist";
  }
}

TEST(MapTest, FilesNamedInTheMapExist) {
  const std::string text = ReadText("ARCHITECTURE.md");
  const std::regex file(R"re(([a-z0-9_]+(?:/[A-Za-z0-9_.-]+)+\.(?:h|cpp|proto|yaml|md)))re");
  int named = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), file), end; it != end; ++it, ++named) {
    EXPECT_TRUE(fs::exists(Root() / std::string((*it)[1])))
        << "ARCHITECTURE.md names " << (*it)[1] << ", which does not exist";
  }
  EXPECT_GT(named, 10);
}

}  // namespace
}  // namespace attune::structure::map_test
