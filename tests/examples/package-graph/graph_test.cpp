#include "examples/package-graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/examples/package-graph/small_lists.h"

namespace attune::package_graph::graph_test {
namespace {

using testing::HasSubstr;

TEST(Graph, IsTheSameForTheSameLists) {
  const auto one = BuildGraph({SmallList()}, {.links_min = 2, .held_out_percent = 10});
  const auto two = BuildGraph({SmallList()}, {.links_min = 2, .held_out_percent = 10});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->names, two->names);
  EXPECT_EQ(one->training, two->training);
  EXPECT_EQ(one->held_out, two->held_out);
  const auto other = BuildGraph({SmallList()}, {.links_min = 2, .held_out_percent = 10, .seed = 2});
  EXPECT_NE(one->held_out, other->held_out) << "another seed keeps other links back";
}

TEST(Graph, NothingHeldOutIsTrainedNotEvenBackwardsOrUnderAnotherRelation) {
  const auto graph = BuildGraph({SmallList()}, {.links_min = 2, .held_out_percent = 20});
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_GT(graph->held_out.size(), 20U);
  std::set<std::pair<EntityId, EntityId>> trained;
  std::set<EntityId> seen;
  for (const Link& link : graph->training) {
    trained.insert(std::minmax(link.head, link.tail));
    seen.insert({link.head, link.tail});
  }
  for (const Link& link : graph->held_out) {
    EXPECT_FALSE(trained.contains(std::minmax(link.head, link.tail)));
    EXPECT_TRUE(seen.contains(link.head) && seen.contains(link.tail)) << "what was never seen cannot be known";
  }
}

TEST(Graph, LeavesOutWhatHasFewLinksUntilAllHaveEnough) {
  // A chain hangs on a clique of five: a - b - c - clique. With 2 links each, a goes, then b, then c.
  std::string list;
  for (int i = 0; i < 5; ++i) {
    list += "Package: k" + std::to_string(i) + "\nDepends: ";
    for (int j = 0; j < 5; ++j) list += (j > 0 ? ", k" : "k") + std::to_string(j);
    list += "\n\n";
  }
  list += "Package: a\nDepends: b\n\nPackage: b\nDepends: c\n\nPackage: c\nDepends: k0\n";
  const auto graph = BuildGraph({list}, {.links_min = 2, .held_out_percent = 0});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->size(), 5U);
  EXPECT_EQ(graph->training.size(), 20U);
  EXPECT_EQ(graph->names.front(), "k0") << "same number of links: by name";
  EXPECT_FALSE(graph->Find("a"));
}

TEST(Graph, TooLittleIsSaidWithTheNumbers) {
  const auto graph = BuildGraph({"Package: a\nDepends: b\n"}, {.links_min = 10});
  EXPECT_THAT(std::string(Message(graph.status())), HasSubstr("1 packages"));
  EXPECT_THAT(std::string(Message(graph.status())), HasSubstr("--min-links"));
  EXPECT_THAT(std::string(Message(LoadGraph({.lists = {"/absent"}}).status())), HasSubstr("/absent"));
}

TEST(Graph, ThisMachinesListsMakeAGraph) {
  if (!std::filesystem::exists("/var/lib/dpkg/status")) GTEST_SKIP() << "this is no Debian machine";
  const auto graph = LoadGraph({.lists = {"/var/lib/dpkg/status"}, .links_min = 3});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(graph->Find("libc6")) << graph->Description();
}

}  // namespace
}  // namespace attune::package_graph::graph_test
