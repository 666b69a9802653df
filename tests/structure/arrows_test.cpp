// Who may know whom: every #include "..." of a room must lie in a room it is allowed to know. Arrows point down only.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure {
namespace {

struct Rule {
  std::string room;                   // path prefix; the first match of a file counts
  std::vector<std::string> may_know;  // include prefixes besides the room itself
};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = {
      {"base/", {}},
      {"proto/", {}},
      {"ps/include/", {"attune/ps/", "base/"}},
      {"ps/store/", {"attune/ps/", "base/"}},
      {"ps/checkpoint/", {"attune/ps/", "base/", "ps/store/", "ps/core/cut_record.h"}},
      {"ps/core/", {"attune/ps/", "base/", "proto/", "ps/store/"}},
      {"ps/transport/", {"attune/ps/", "attune/v1/", "base/", "proto/", "ps/core/"}},
      {"ps/", {"attune/ps/", "attune/v1/", "base/", "proto/"}},
      {"sidecar/", {"attune/v1/", "base/", "proto/"}},
      {"operator/kube/", {"base/"}},
      {"operator/api/", {"base/", "proto/", "operator/kube/", "operator/tuner/knob.h"}},
      {"operator/tuner/", {"base/"}},
      {"operator/scheduler/", {"base/"}},
      {"operator/telemetry/", {"attune/v1/", "base/", "proto/", "operator/kube/", "operator/api/"}},
      {"operator/local/", {"base/", "proto/", "operator/kube/", "operator/api/"}},
      {"operator/", {"attune/v1/", "base/", "proto/"}},
      {"cli/", {"attune/v1/", "base/", "proto/", "operator/", "ps/checkpoint/"}},
      {"examples/", {"attune/ps/", "base/", "ps/store/", "ps/checkpoint/"}},
  };
  return rules;
}

bool StartsWith(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

TEST(ArrowsTest, EveryIncludePointsToARoomThatMayBeKnown) {
  const std::regex include(R"re(^\s*#include\s+[<"]([^">]+)[">])re");
  // Room-qualified paths of our own; anything else is a foreign or standard header.
  const std::regex own("^(attune/|base/|proto/|ps/|sidecar/|operator/|cli/|examples/|bench/|tests/).*");
  int checked = 0;
  for (const SourceFile& file : CppFiles()) {
    if (StartsWith(file.path, "tests/") || StartsWith(file.path, "bench/")) continue;  // may know all
    const Rule* rule = nullptr;
    for (const Rule& candidate : Rules()) {
      if (StartsWith(file.path, candidate.room)) {
        rule = &candidate;
        break;
      }
    }
    ASSERT_NE(rule, nullptr) << file.path << " lies in no known room; add a rule";
    for (size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      const std::string target = match[1];
      if (!std::regex_match(target, own)) continue;
      ++checked;
      bool allowed = StartsWith(target, rule->room);
      for (const std::string& prefix : rule->may_know) allowed = allowed || StartsWith(target, prefix);
      if (target == "base/version.h") allowed = true;
      EXPECT_TRUE(allowed) << file.path << ':' << i + 1 << ": " << rule->room << " may not know " << target;
    }
  }
  EXPECT_GT(checked, 50) << "the test found hardly any includes; is the source tree where it should be?";
}

TEST(ArrowsTest, SlowForeignHeadersStayOutOfHeaders) {
  const std::regex slow(R"re(^\s*#include\s+<(cpprest/|grpcpp/|yaml-cpp/|spdlog/|boost/|CLI/|prometheus/|simdjson))re");
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with(".h")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], slow)) << file.path << ':' << i + 1 << ": " << file.lines[i];
    }
  }
}

}  // namespace
}  // namespace attune::structure
