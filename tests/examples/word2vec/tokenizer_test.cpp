#include "examples/word2vec/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::word2vec::tokenizer_test {
namespace {

std::vector<std::string> Identifiers(std::string_view text) {
  std::vector<std::string> found;
  ForEachIdentifier(text, [&](std::string_view word) { found.emplace_back(word); });
  return found;
}
using Words = std::vector<std::string>;

TEST(Tokenizer, FindsIdentifiersAndKeywords) {
  EXPECT_EQ(Identifiers("std::vector<int> a_1 = _b;"), (Words{"std", "vector", "int", "a_1", "_b"}));
  EXPECT_EQ(Identifiers(""), Words{});
}

TEST(Tokenizer, PassesOverComments) {
  EXPECT_EQ(Identifiers("a // b c\nd"), (Words{"a", "d"}));
  EXPECT_EQ(Identifiers("a /* b\n * c */ d"), (Words{"a", "d"}));
  EXPECT_EQ(Identifiers("a / b"), (Words{"a", "b"}));
  EXPECT_EQ(Identifiers("a /* never closed"), Words{"a"});
  EXPECT_EQ(Identifiers("a // at the end"), Words{"a"});
  EXPECT_EQ(Identifiers("a /"), Words{"a"});
}

TEST(Tokenizer, PassesOverLiteralsAndNumbers) {
  EXPECT_EQ(Identifiers(R"(f("b \" c", 'd', '\'') e)"), (Words{"f", "e"}));
  EXPECT_EQ(Identifiers("x = 0x1Fu + 1'000 + 1.5e3f + y"), (Words{"x", "y"}));
  EXPECT_EQ(Identifiers("don't do\nnext"), (Words{"don", "next"})) << "a stray quote ends with its line";
  EXPECT_EQ(Identifiers("a \"open"), Words{"a"});
  EXPECT_EQ(Identifiers("a \"\\"), Words{"a"});
}

TEST(Tokenizer, PassesOverDirectives) {
  EXPECT_EQ(Identifiers("#include <mutex>\na\n#  include \"b.h\" // c\nd"), (Words{"a", "d"}));
  EXPECT_EQ(Identifiers("#ifdef A\nb\n#endif"), Words{"b"});
  EXPECT_EQ(Identifiers("#define A \\\n  B\nc"), Words{"c"}) << "the line is continued";
  EXPECT_EQ(Identifiers("#define A 1 /* one\n line more */\nb"), Words{"b"}) << "the comment is not";
  EXPECT_EQ(Identifiers("#error don't\nnext"), Words{"next"});
  EXPECT_EQ(Identifiers("a #"), Words{"a"});
  EXPECT_EQ(Identifiers("a #\\"), Words{"a"});
}

TEST(Tokenizer, PassesOverAbsurdlyLongIdentifiers) {
  EXPECT_EQ(Identifiers(std::string(64, 'x') + " " + std::string(65, 'y')), Words{std::string(64, 'x')});
}

TEST(Tokenizer, BytesOutsideOfAsciiSeparate) {
  EXPECT_EQ(Identifiers("a\xC3\xA4"
                        "b"),
            (Words{"a", "b"}));
}

}  // namespace
}  // namespace attune::word2vec::tokenizer_test
