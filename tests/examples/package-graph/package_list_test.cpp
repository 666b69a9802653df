#include "examples/package-graph/package_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::package_graph::package_list_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Links(std::string_view text, uint64_t* packages = nullptr) {
  std::vector<std::string> links;
  const uint64_t count =
      ParsePackageList(text, [&](std::string_view subject, Relation relation, std::string_view object) {
        links.push_back(std::string(subject) + ' ' + std::string(kRelationNames[static_cast<size_t>(relation)]) + ' ' +
                        std::string(object));
      });
  if (packages != nullptr) *packages = count;
  return links;
}

TEST(PackageList, TakesNamesOutOfFieldsWithVersionsArchitecturesAndAlternatives) {
  uint64_t packages = 0;
  EXPECT_THAT(Links("Package: gimp\n"
                    "Version: 2.10\n"
                    "Depends: libc6 (>= 2.34), python3:any, a | b (<< 1) | c\n"
                    "Pre-Depends: dpkg (>= 1)\n"
                    "Breaks: old-gimp [amd64]\n"
                    "Section: graphics\n"
                    "Maintainer: Debian GNOME <gnome@example.org>\n"
                    "Description: an image editor\n"
                    "\n"
                    "Package: tiny\n",
                    &packages),
              ElementsAre("gimp depends libc6", "gimp depends python3", "gimp depends a", "gimp depends b",
                          "gimp depends c", "gimp depends dpkg", "gimp conflicts old-gimp", "gimp section graphics",
                          "gimp maintainer Debian GNOME"));
  EXPECT_EQ(packages, 2U);
}

TEST(PackageList, FoldedFieldsGoOnInTheNextLine) {
  EXPECT_THAT(
      Links("Package: a\nTag: role::program,\n use::editing,\n\tscope::utility\nSuggests:\n b,\n c\n"),
      ElementsAre("a suggests b", "a suggests c", "a tag role::program", "a tag use::editing", "a tag scope::utility"));
}

TEST(PackageList, LineEndsOfOtherSystemsAndBlankLinesWithSpacesSeparateStanzas) {
  EXPECT_THAT(Links("Package: a\r\nDepends: b\r\n \r\nDepends: lost\n\nPackage: c\nDepends: d"),
              ElementsAre("a depends b", "c depends d"));
}

TEST(PackageList, WhatMakesNoSenseIsPassedOver) {
  EXPECT_THAT(Links(""), IsEmpty());
  EXPECT_THAT(Links("\n\n:\n: x\n continued\nno colon here\n"), IsEmpty());
  EXPECT_THAT(Links("Depends: b\nSection: net\n"), IsEmpty()) << "fields of no package";
  EXPECT_THAT(Links("Package: two words\nDepends: b\n"), IsEmpty());
  EXPECT_THAT(Links("Package: a\nDepends: , | ,(>= 1),b\n"), ElementsAre("a depends b"));
  EXPECT_THAT(Links("Package: a\nConflicts: a, b\n"), ElementsAre("a conflicts b")) << "nothing conflicts with itself";
  EXPECT_THAT(Links("Package: a\nDepends: b\x01, c\n"), ElementsAre("a depends c"));
}

TEST(PackageList, NamesAndFieldsAreBounded) {
  const std::string longest(kNameBytesMax, 'x');
  EXPECT_THAT(Links("Package: a\nDepends: " + longest + ", " + longest + "x\n"), ElementsAre("a depends " + longest));
  std::string field = "Package: a\nDepends: b";
  for (size_t i = 1; i < kItemsPerFieldMax + 10; ++i) field += ",b";
  EXPECT_EQ(Links(field).size(), kItemsPerFieldMax);
}

}  // namespace
}  // namespace attune::package_graph::package_list_test
