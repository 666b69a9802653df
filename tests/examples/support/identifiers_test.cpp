#include "examples/support/identifiers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::examples::identifiers_test {
namespace {

std::vector<std::string> Found(std::string_view text) {
  std::vector<std::string> found;
  ForEachIdentifier(text, [&](std::string_view word) { found.emplace_back(word); });
  return found;
}
using Words = std::vector<std::string>;

TEST(Identifiers, FindsIdentifiersAndKeywords) {
  EXPECT_EQ(Found("std::vector<int> a_1 = _b;"), (Words{"std", "vector", "int", "a_1", "_b"}));
  EXPECT_EQ(Found(""), Words{});
}

TEST(Identifiers, PassesOverComments) {
  EXPECT_EQ(Found("a // b c\nd"), (Words{"a", "d"}));
  EXPECT_EQ(Found("a /* b\n * c */ d"), (Words{"a", "d"}));
  EXPECT_EQ(Found("a / b"), (Words{"a", "b"}));
  EXPECT_EQ(Found("a /* never closed"), Words{"a"});
  EXPECT_EQ(Found("a // at the end"), Words{"a"});
  EXPECT_EQ(Found("a /"), Words{"a"});
}

TEST(Identifiers, PassesOverLiteralsAndNumbers) {
  EXPECT_EQ(Found(R"(f("b \" c", 'd', '\'') e)"), (Words{"f", "e"}));
  EXPECT_EQ(Found("x = 0x1Fu + 1'000 + 1.5e3f + y"), (Words{"x", "y"}));
  EXPECT_EQ(Found("don't do\nnext"), (Words{"don", "next"})) << "a stray quote ends with its line";
  EXPECT_EQ(Found("a \"open"), Words{"a"});
  EXPECT_EQ(Found("a \"\\"), Words{"a"});
}

TEST(Identifiers, PassesOverDirectives) {
  EXPECT_EQ(Found("#include <mutex>\na\n#  include \"b.h\" // c\nd"), (Words{"a", "d"}));
  EXPECT_EQ(Found("#ifdef A\nb\n#endif"), Words{"b"});
  EXPECT_EQ(Found("#define A \\\n  B\nc"), Words{"c"}) << "the line is continued";
  EXPECT_EQ(Found("#define A 1 /* one\n line more */\nb"), Words{"b"}) << "the comment is not";
  EXPECT_EQ(Found("#error don't\nnext"), Words{"next"});
  EXPECT_EQ(Found("a #"), Words{"a"});
  EXPECT_EQ(Found("a #\\"), Words{"a"});
}

TEST(Identifiers, PassesOverAbsurdlyLongIdentifiers) {
  EXPECT_EQ(Found(std::string(64, 'x') + " " + std::string(65, 'y')), Words{std::string(64, 'x')});
}

TEST(Identifiers, BytesOutsideOfAsciiSeparate) {
  EXPECT_EQ(Found("a\xC3\xA4"
                  "b"),
            (Words{"a", "b"}));
}

}  // namespace
}  // namespace attune::examples::identifiers_test
