// Who may know whom: every #include "..." of a room must lie in a room it is allowed to know. Arrows point down only.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure::arrows_test {
namespace {

struct Rule {
  std::string room;                   // path prefix; the first match of a file counts
  std::vector<std::string> may_know;  // include prefixes besides the room itself
};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = {
      {"base/os/", {"base/"}},
      {"base/files/", {"base/"}},
      {"base/net/", {"base/"}},
      {"base/", {}},
      {"proto/", {"attune/v1/", "base/"}},
      {"ps/types/", {}},
      {"ps/include/", {"attune/ps/", "base/", "ps/types/"}},
      {"ps/store/formulas/", {"base/", "ps/types/"}},
      {"ps/store/", {"base/", "ps/types/"}},
      {"ps/sampling/", {"attune/ps/", "base/", "ps/types/"}},
      {"ps/checkpoint/format/", {"base/", "ps/types/", "ps/store/", "ps/core/protocol/"}},
      {"ps/checkpoint/export/", {"base/", "ps/types/", "ps/store/", "ps/checkpoint/"}},
      {"ps/checkpoint/", {"base/", "ps/types/", "ps/store/", "ps/core/protocol/cut_record.h"}},
      // The core, from what is said to who decides. Nothing in it knows files, sockets, threads or clocks.
      {"ps/core/protocol/", {"base/", "proto/", "ps/types/", "ps/store/"}},
      {"ps/core/keys/", {"base/", "ps/types/", "ps/store/", "ps/core/protocol/"}},
      {"ps/core/intent/", {"base/", "ps/types/", "ps/core/protocol/", "ps/core/keys/"}},
      {"ps/core/check/", {"base/", "proto/", "ps/core/protocol/", "ps/core/keys/"}},
      {"ps/core/link/", {"base/", "ps/core/mutations.h", "ps/core/protocol/"}},
      {"ps/core/membership/members/", {"base/", "ps/core/protocol/"}},
      {"ps/core/membership/", {"base/", "ps/core/mutations.h", "ps/core/protocol/"}},
      {"ps/core/progress/", {"base/", "proto/", "ps/core/protocol/"}},
      {"ps/core/rows/context/",
       {"base/", "ps/store/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/rows/state/stalled_messages.h"}},
      {"ps/core/rows/state/",
       {"base/", "ps/store/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/keys/", "ps/core/link/",
        "ps/core/rows/context/row_io.h"}},
      {"ps/core/rows/replicas/",
       {"base/", "ps/store/", "ps/core/protocol/", "ps/core/keys/", "ps/core/intent/", "ps/core/rows/context/",
        "ps/core/rows/state/"}},
      {"ps/core/rows/",
       {"base/", "ps/store/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/keys/", "ps/core/link/"}},
      {"ps/core/worker/operations/",
       {"base/", "ps/store/", "ps/types/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/keys/",
        "ps/core/membership/", "ps/core/worker/worker_io.h"}},
      {"ps/core/worker/rows/",
       {"base/", "ps/store/", "ps/types/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/keys/",
        "ps/core/intent/", "ps/core/link/", "ps/core/membership/", "ps/core/rows/", "ps/core/worker/operations/",
        "ps/core/worker/worker_io.h"}},
      {"ps/core/worker/",
       {"base/", "ps/store/", "ps/types/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/keys/",
        "ps/core/intent/", "ps/core/link/", "ps/core/membership/", "ps/core/rows/"}},
      {"ps/core/server/",
       {"base/", "ps/store/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/link/", "ps/core/membership/",
        "ps/core/rows/"}},
      {"ps/core/coordinator/balance/", {"base/", "ps/core/protocol/", "ps/core/membership/"}},
      {"ps/core/coordinator/state/",
       {"base/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/link/", "ps/core/membership/",
        "ps/core/progress/", "ps/core/coordinator/coordinator_commands.h", "ps/core/coordinator/coordinator_io.h"}},
      {"ps/core/coordinator/",
       {"base/", "ps/store/", "ps/core/mutations.h", "ps/core/protocol/", "ps/core/link/", "ps/core/membership/",
        "ps/core/progress/"}},
      {"ps/core/trace/",
       {"base/", "ps/core/protocol/", "ps/core/keys/", "ps/core/rows/state/row_tables.h", "ps/core/worker/",
        "ps/core/server/"}},
      {"ps/core/", {}},
      {"ps/transport/loop/", {"base/", "ps/transport/event_loop.h"}},
      {"ps/transport/security/", {"base/", "proto/", "ps/core/protocol/", "ps/transport/stream.h"}},
      {"ps/transport/shared/", {"base/", "ps/core/protocol/", "ps/transport/"}},
      {"ps/transport/tcp/connect/",
       {"base/", "proto/", "ps/core/protocol/", "ps/transport/event_loop.h", "ps/transport/security/",
        "ps/transport/shared/", "ps/transport/stream.h"}},
      {"ps/transport/tcp/", {"base/", "proto/", "ps/core/check/", "ps/transport/"}},
      {"ps/transport/", {"base/", "proto/", "ps/core/check/", "ps/core/protocol/"}},
      {"ps/runtime/process/",
       {"attune/", "base/", "proto/", "ps/core/coordinator/coordinator_commands.h",
        "ps/core/coordinator/coordinator_io.h", "ps/core/keys/", "ps/core/progress/", "ps/core/protocol/"}},
      {"ps/runtime/control/",
       {"attune/v1/", "base/", "proto/", "ps/checkpoint/", "ps/core/check/", "ps/core/coordinator/",
        "ps/core/protocol/", "ps/runtime/process/", "ps/transport/"}},
      {"ps/runtime/worker/",
       {"attune/", "base/", "proto/", "ps/core/intent/", "ps/core/keys/", "ps/core/protocol/", "ps/core/trace/",
        "ps/core/worker/", "ps/runtime/control/", "ps/runtime/process/", "ps/store/", "ps/transport/", "ps/types/"}},
      {"ps/runtime/server/",
       {"attune/v1/", "base/", "proto/", "ps/checkpoint/", "ps/core/protocol/", "ps/core/server/", "ps/core/trace/",
        "ps/runtime/control/", "ps/runtime/process/", "ps/store/", "ps/transport/"}},
      {"ps/server/", {"base/", "proto/", "ps/runtime/process/", "ps/runtime/server/"}},
      {"sidecar/files/", {"base/"}},
      {"sidecar/relay/", {"attune/v1/", "base/", "proto/"}},
      {"sidecar/", {"attune/v1/", "base/", "proto/"}},
      {"operator/kube/credentials/", {"base/", "operator/kube/base64.h", "operator/kube/object.h"}},
      {"operator/kube/client/", {"base/", "operator/kube/"}},
      {"operator/kube/watch/", {"base/", "operator/kube/"}},
      {"operator/kube/", {"base/"}},
      {"operator/tuner/space/", {"base/"}},
      {"operator/tuner/models/random/", {"base/", "operator/tuner/space/"}},
      {"operator/tuner/models/", {"base/", "operator/tuner/space/"}},
      {"operator/tuner/records/", {"base/", "operator/tuner/space/", "operator/tuner/models/"}},
      {"operator/tuner/belief/",
       {"base/", "operator/tuner/space/", "operator/tuner/models/", "operator/tuner/records/"}},
      {"operator/tuner/choice/",
       {"base/", "operator/tuner/space/", "operator/tuner/models/", "operator/tuner/records/",
        "operator/tuner/belief/"}},
      {"operator/tuner/", {"base/"}},
      {"operator/api/pod/", {"base/", "operator/kube/", "operator/api/"}},
      {"operator/api/manifest/", {"base/", "operator/api/"}},
      {"operator/api/policy/", {"base/", "operator/kube/", "operator/api/", "operator/tuner/space/knob.h"}},
      {"operator/api/", {"base/", "proto/", "operator/kube/", "operator/tuner/space/knob.h"}},
      {"operator/policy/", {"base/", "operator/kube/", "operator/api/"}},
      {"operator/scheduler/", {"base/"}},
      {"operator/telemetry/", {"attune/v1/", "base/", "proto/", "operator/kube/", "operator/api/"}},
      {"operator/leadership/election/", {"base/", "operator/kube/object.h"}},
      {"operator/leadership/", {"base/", "operator/kube/"}},
      {"operator/local/api/rules/", {"base/", "operator/kube/"}},
      {"operator/local/api/", {"base/", "operator/kube/"}},
      {"operator/local/rest/", {"base/", "operator/kube/", "operator/local/api/"}},
      {"operator/local/containers/", {"base/", "operator/kube/", "operator/local/api/"}},
      {"operator/local/pods/", {"base/", "operator/kube/", "operator/local/api/"}},
      {"operator/local/nodes/",
       {"base/", "proto/", "operator/kube/", "operator/api/", "operator/local/api/", "operator/local/containers/",
        "operator/local/pods/"}},
      {"operator/local/", {"base/", "proto/", "operator/kube/", "operator/api/"}},
      {"operator/controller/observe/",
       {"base/", "proto/", "operator/kube/", "operator/api/", "operator/policy/", "operator/scheduler/",
        "operator/telemetry/", "operator/tuner/space/"}},
      {"operator/controller/policies/",
       {"base/", "operator/kube/", "operator/api/", "operator/policy/", "operator/tuner/space/",
        "operator/controller/observe/", "operator/controller/objects/"}},
      {"operator/controller/watches/",
       {"base/", "proto/", "operator/kube/", "operator/api/job_metadata.h", "operator/controller/observe/",
        "operator/controller/objects/", "operator/controller/policies/", "operator/controller/queue/"}},
      {"operator/controller/queue/",
       {"base/", "proto/pod_number.h", "operator/api/", "operator/kube/", "operator/controller/observe/",
        "operator/controller/actions/", "operator/controller/objects/", "operator/controller/policies/",
        "operator/controller/plan/suspension/", "operator/controller/status/status.h"}},
      {"operator/controller/actions/",
       {"attune/v1/", "base/", "operator/kube/", "operator/api/", "operator/controller/observe/"}},
      {"operator/controller/objects/",
       {"base/", "proto/", "operator/kube/", "operator/api/", "operator/controller/observe/",
        "operator/controller/actions/"}},
      {"operator/controller/members/",
       {"base/", "proto/pod_number.h", "operator/api/", "operator/controller/observe/",
        "operator/controller/actions/"}},
      {"operator/controller/plan/suspension/",
       {"attune/v1/", "base/", "proto/pod_number.h", "operator/api/", "operator/scheduler/",
        "operator/controller/observe/", "operator/controller/actions/", "operator/controller/members/",
        "operator/controller/plan/"}},
      {"operator/controller/plan/requests/",
       {"base/", "proto/", "operator/api/", "operator/controller/observe/", "operator/controller/actions/",
        "operator/controller/plan/"}},
      {"operator/controller/plan/",
       {"base/", "proto/", "operator/api/", "operator/controller/observe/", "operator/controller/actions/",
        "operator/controller/objects/", "operator/controller/members/"}},
      {"operator/controller/status/",
       {"attune/v1/", "base/", "proto/", "operator/api/", "operator/tuner/", "operator/controller/observe/",
        "operator/controller/actions/", "operator/controller/objects/", "operator/controller/members/",
        "operator/controller/plan/"}},
      {"operator/controller/tuning/state/",
       {"base/", "operator/api/", "operator/tuner/", "operator/controller/observe/"}},
      {"operator/controller/tuning/",
       {"base/", "proto/", "operator/kube/quantity.h", "operator/api/", "operator/policy/", "operator/tuner/",
        "operator/controller/observe/", "operator/controller/objects/", "operator/controller/members/",
        "operator/controller/plan/", "operator/controller/status/"}},
      {"operator/controller/metrics/", {"base/", "operator/kube/", "operator/controller/observe/"}},
      {"operator/controller/execute/",
       {"attune/v1/", "base/", "proto/", "operator/kube/", "operator/api/", "operator/telemetry/", "operator/tuner/",
        "operator/controller/"}},
      // Plan(), a function of all policies.
      {"operator/controller/",
       {"operator/api/", "operator/controller/observe/", "operator/controller/actions/", "operator/controller/objects/",
        "operator/controller/members/", "operator/controller/plan/", "operator/controller/policies/",
        "operator/controller/queue/", "operator/controller/status/"}},
      {"operator/", {"attune/v1/", "base/", "proto/", "operator/controller/execute/", "operator/kube/"}},
      {"cli/command_line/", {"base/", "operator/api/", "operator/tuner/space/", "cli/arguments.h"}},
      {"cli/runs/", {"base/", "proto/", "operator/", "ps/checkpoint/", "cli/application.h", "cli/failure.h"}},
      {"cli/display/job/",
       {"operator/", "cli/runs/", "cli/display/local_time.h", "cli/display/screen.h", "cli/display/table.h",
        "cli/display/trend.h"}},
      {"cli/display/", {"base/", "operator/", "cli/application.h", "cli/failure.h", "cli/runs/"}},
      {"cli/report/", {"operator/", "cli/display/", "cli/runs/"}},
      {"cli/dashboard/",
       {"base/", "operator/kube/base64.h", "operator/local/api/rules/", "operator/local/rest/", "cli/display/",
        "cli/report/", "cli/runs/"}},
      {"cli/policies/", {"base/", "operator/", "cli/display/", "cli/runs/"}},
      {"cli/requests/", {"base/", "operator/", "cli/display/", "cli/runs/"}},
      {"cli/simulation/",
       {"base/", "operator/", "cli/arguments.h", "cli/display/", "cli/requests/tune_request.h", "cli/runs/"}},
      {"cli/doctor/", {"base/", "proto/", "operator/", "cli/display/", "cli/runs/", "cli/process_limits.h"}},
      {"cli/pull/", {"base/", "proto/", "operator/"}},
      {"cli/top/", {"base/", "proto/", "operator/", "cli/"}},
      {"cli/launch/", {"base/", "operator/", "cli/"}},
      {"cli/commands/", {"base/", "proto/", "operator/", "ps/checkpoint/", "cli/"}},
      {"cli/", {"base/", "operator/"}},
      {"examples/", {"attune/ps/", "base/", "ps/types/", "ps/store/", "ps/checkpoint/"}},
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
  const std::regex slow(R"re(^\s*#include\s+<(cpprest/|grpcpp/|yaml-cpp/|spdlog/|boost/|CLI/|prometheus/))re");
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with(".h")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], slow)) << file.path << ':' << i + 1 << ": " << file.lines[i];
    }
  }
}

}  // namespace
}  // namespace attune::structure::arrows_test
