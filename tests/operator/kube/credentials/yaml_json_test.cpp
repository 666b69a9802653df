#include "operator/kube/credentials/yaml_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::kube::yaml_json_test {
namespace {

using ::testing::HasSubstr;

TEST(JsonFromYaml, ScalarsAreTextsExceptWhereTheyBelongToOthers) {
  const auto json = JsonFromYaml(
      "name: 007\n"
      "on: true\n"
      "nothing:\n"
      "list: [1, a, {b: 2.50}]\n"
      "extension: {whole: 7, octal: 007, number: 2.5, text: '7', truth: false, nothing: ~, word: yes}\n");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, Json::parse(R"({"name":"007","on":"true","nothing":null,"list":["1","a",{"b":"2.50"}],
      "extension":{"whole":7,"octal":7,"number":2.5,"text":"7","truth":false,"nothing":null,"word":"yes"}})"));
}

TEST(JsonFromYaml, WhatIsNoKubeconfigIsRefusedWithItsLine) {
  struct {
    const char* why;
    std::string text;
    const char* want;
  } cases[] = {
      {"no YAML", "a: 1\nb: [", "line "},
      {"a key that is a list", "a: 1\n[b, c]: d", "a key is not a text"},
      {"too deep", std::string(40, '[') + std::string(40, ']'), "too deep or too large"},
  };
  for (const auto& c : cases) EXPECT_THAT(attune::ToString(JsonFromYaml(c.text).status()), HasSubstr(c.want)) << c.why;
}

TEST(JsonFromYaml, AliasesThatMultiplyAreStopped) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    text += name + ": &" + name + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", " : "") + before;
    text += "]\n";
  }
  EXPECT_EQ(JsonFromYaml(text).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune::kube::yaml_json_test
