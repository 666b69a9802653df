#include "operator/api/manifest/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"

namespace attune::api::yaml_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

YamlDocument Only(const std::string& text) {
  auto documents = ParseYaml(text, "f.yaml");
  EXPECT_TRUE(documents.ok()) << documents.status();
  if (!documents.ok() || documents->size() != 1) return {};
  return documents->at(0);
}

TEST(Yaml, PlainScalarsFollowTheCoreSchema) {
  const std::pair<const char*, Json> kTable[] = {{"null", nullptr},
                                                 {"~", nullptr},
                                                 {"true", true},
                                                 {"False", false},
                                                 {"12", 12},
                                                 {"-12", -12},
                                                 {"+5", 5},
                                                 {"0", 0},
                                                 {"0o17", 15},
                                                 {"0xff", 255},
                                                 {"1.5", 1.5},
                                                 {"-.5", -0.5},
                                                 {"1e3", 1000.0},
                                                 {"12.", 12.0},
                                                 {"9223372036854775807", INT64_MAX},
                                                 {"18446744073709551615", UINT64_MAX},
                                                 {"\"12\"", "12"},
                                                 {"'true'", "true"},
                                                 {"!!str 12", "12"},
                                                 {"1.2.3", "1.2.3"},
                                                 {"100m", "100m"},
                                                 {"1Gi", "1Gi"},
                                                 {"e3", "e3"},
                                                 {"0x", "0x"},
                                                 {"-", nullptr},
                                                 {"abc def", "abc def"},
                                                 {"nullish", "nullish"},
                                                 {"1_000", "1_000"},
                                                 {"12:30", "12:30"},
                                                 {"--flag=1", "--flag=1"}};
  for (const auto& [text, want] : kTable) {
    if (std::string(text) == "-") continue;  // a list of nothing, not a scalar
    const YamlDocument document = Only("a: " + std::string(text));
    EXPECT_EQ(document.value["a"], want) << text;
    EXPECT_EQ(document.value["a"].type_name(), std::string(want.type_name())) << text;
    EXPECT_THAT(document.problems, IsEmpty()) << text;
  }
}

TEST(Yaml, WhatReadersUnderstandDifferentlyIsRefused) {
  for (const char* text : {"yes", "No", "on", "y", "0644", "-007", ".inf", ".nan"}) {
    const YamlDocument document = Only("a:\n  b: " + std::string(text));
    ASSERT_EQ(document.problems.size(), 1U) << text;
    EXPECT_EQ(document.problems[0].path, "a.b");
    EXPECT_EQ(document.problems[0].line, 2);
    EXPECT_EQ(document.problems[0].column, 6);
  }
  EXPECT_THAT(Only("a: 0644").problems[0].allowed, HasSubstr("0o644 as octal"));
}

TEST(Yaml, DuplicateKeysNameBothLines) {
  const YamlDocument document = Only("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n");
  ASSERT_EQ(document.problems.size(), 1U);
  EXPECT_EQ(ToString(document.problems[0], "f.yaml"),
            "f.yaml:5:3: b.c: found the key a second time; allowed: one; the first is in line 3");
  EXPECT_EQ(document.value["b"]["c"], 1);
}

TEST(Yaml, PlacesOfKeysAndValues) {
  const YamlDocument document = Only("spec:\n  workers:\n    list:\n    - name: x\n    - name:   y\n");
  const Place place = document.places.at("spec.workers.list[1].name");
  EXPECT_EQ(place.line, 5);
  EXPECT_EQ(place.column, 15);
  EXPECT_EQ(place.key_column, 7);
}

TEST(Yaml, TabsAreNamed) {
  for (const char* text : {"a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  b:\n  \tc: 2\n"}) {
    const auto documents = ParseYaml(text, "f.yaml");
    ASSERT_FALSE(documents.ok()) << text;
    EXPECT_THAT(std::string(documents.status().message()), HasSubstr("a tab in the indentation")) << text;
  }
}

TEST(Yaml, BrokenTextNamesThePlace) {
  const auto documents = ParseYaml("a: 1\nb: [1, 2\nc: 3\n", "f.yaml");
  ASSERT_FALSE(documents.ok());
  EXPECT_THAT(std::string(documents.status().message()), HasSubstr("f.yaml:3:"));
}

TEST(Yaml, SeveralDocumentsWithoutTheEmptyOnes) {
  const auto documents = ParseYaml("---\na: 1\n---\n# nothing\n---\nb: 2\n", "f.yaml");
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(documents->at(1).places.at("b").line, 6);
}

TEST(Yaml, AnchorsWorkAndBombsDoNot) {
  EXPECT_EQ(Only("a: &x [1, 2]\nb: *x\n").value["b"], Json::parse("[1, 2]"));
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j ? ", " : "") + last;
    bomb += "]\n";
  }
  const YamlDocument document = Only(bomb);
  ASSERT_EQ(document.problems.size(), 1U);
  EXPECT_THAT(document.problems[0].found, HasSubstr("too much"));
}

TEST(Yaml, AnAliasOfWhatItLiesInIsNamedWhereItStands) {
  for (const char* text : {"x: 1\na: &a\n  b: *a\n", "x: 1\na: &a\n  b: {c: [1, *a]}\n", "x: 1\na: &a\n  [1, *a]\n"}) {
    const YamlDocument document = Only(text);
    ASSERT_EQ(document.problems.size(), 1U) << text;
    EXPECT_THAT(document.problems[0].found, HasSubstr("an alias of a value that it is itself part of")) << text;
    EXPECT_LE(document.problems[0].path.size(), 8U) << text;
  }
  const FieldProblem problem = Only("x: 1\na: &a\n  b: *a\n").problems.at(0);
  EXPECT_EQ(problem.path, "a.b");
  EXPECT_EQ(problem.line, 3);
  EXPECT_EQ(problem.column, 3);
  EXPECT_TRUE(Only("a: &a [1]\nb: [*a, *a]\nc: {d: *a}\n").problems.empty()) << "twice is not within itself";
}

TEST(FieldProblem, AVeryLongPathIsShownByItsBeginAndItsEnd) {
  std::string path = "spec";
  for (int i = 0; i < 90; ++i) path += ".\u00e4\u00f6\u00fc";
  const std::string text = ToString(FieldProblem{path + ".last", "too much", "less"}, "f.yaml");
  EXPECT_LT(text.size(), 300U);
  EXPECT_THAT(text, ::testing::StartsWith("f.yaml: spec."));
  EXPECT_THAT(text, HasSubstr(" ... "));
  EXPECT_THAT(text, HasSubstr(".last: found too much; allowed: less"));
  EXPECT_NO_THROW((void)Json(text).dump()) << "no character is cut in two";
}

TEST(Yaml, DeepNestingEndsInAnError) {
  const std::string deep(5000, '[');
  const auto documents = ParseYaml(deep, "f.yaml");
  EXPECT_FALSE(documents.ok() && documents->at(0).problems.empty());
}

TEST(Yaml, WritesWhatItReads) {
  const char* seed_text = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 20261121;
  std::printf("seed %llu (replay: ATTUNE_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const std::vector<std::string> kTexts = {
      "",           "a",       "true",  "no",  "12",    "0644", "1_000",      " a",           "a ",      "a: b",
      "a #b",       "#a",      "- a",   "-a",  "--x",   "-",    "two\nlines", "two\nlines\n", "\n",      " a\nb",
      "a \nb",      "tab\tin", "\"q\"", "'",   "{a}",   "[",    "*x",         "&x",           "!t",      "%",
      "@",          "`",       "é",     "~",   "null",  "key:", ":",          "a:b",          "?",       "? a",
      "2001-01-01", "1e3",     ".5",    "---", "--- a", "<<",   "=",          "\x01",         "a\n\nb\n"};
  const auto make = [&](auto&& self, int depth) -> Json {
    switch (random.Below(depth > 4 ? 5 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return random.Chance(0.5);
      case 2:
        return random.Between(-1000, 1000);
      case 3:
        return random.Uniform() * 1e3;
      case 4:
        return kTexts[random.Below(kTexts.size())];
      case 5: {
        Json list = Json::array();
        for (uint64_t i = random.Below(4); i > 0; --i) list.push_back(self(self, depth + 1));
        return list;
      }
      default: {
        Json object = Json::object();
        for (uint64_t i = random.Below(4); i > 0; --i)
          object[kTexts[random.Below(kTexts.size())]] = self(self, depth + 1);
        return object;
      }
    }
  };
  for (int round = 0; round < 3000; ++round) {
    const Json value = {{"v", make(make, 0)}};
    const std::string text = ToYaml(value);
    const auto documents = ParseYaml(text, "f.yaml");
    ASSERT_TRUE(documents.ok()) << documents.status() << "\n" << text << value.dump();
    ASSERT_EQ(documents->size(), 1U) << text;
    // A key written as a merge key would be one; quoted it is a name.
    ASSERT_EQ(documents->at(0).value, value) << "round " << round << "\n" << text;
    ASSERT_THAT(documents->at(0).problems, IsEmpty()) << text;
  }
}

TEST(Yaml, WhatIsNestedWithoutEndIsNamedAsThat) {
  const auto documents = ParseYaml(std::string(100'000, '['), "deep.yaml");
  ASSERT_FALSE(documents.ok());
  EXPECT_THAT(std::string(Message(documents.status())),
              ::testing::AllOf(HasSubstr("deep.yaml:1:"), HasSubstr("nested too deep; allowed: at most 100 levels")));
}

}  // namespace
}  // namespace attune::api::yaml_test
