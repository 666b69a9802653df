#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/object_text.h"
#include "cli/display/terminal.h"
#include "cli/doctor/cluster_answers.h"
#include "cli/doctor/machine_facts.h"

namespace attune::cli {
namespace {

struct Examined {
  Findings findings;
  std::string what;
};

std::string KubectlOf(const Target& target) {
  std::string text = "kubectl";
  if (!target.kubeconfig.empty()) text += " --kubeconfig " + target.kubeconfig;
  if (!target.context.empty()) text += " --context " + target.context;
  return text;
}

Examined ExamineCluster(const Target& target) {
  const auto connection = ConnectToCluster(target);
  if (!connection.ok()) {
    return {{Problem("kubeconfig", std::string(Message(connection.status())),
                     "see docs/clusters.md; attune doctor without --context looks at this machine")},
            "a cluster"};
  }
  const SystemTime time;
  ClusterAnswers answers = AskCluster(*connection->api, connection->name_space, time);
  answers.where = connection->description;
  answers.kubectl = KubectlOf(target);
  return {JudgeCluster(answers), answers.where};
}

}  // namespace

int Doctor(const DoctorArguments& arguments, const Target& target) {
  const Examined examined = WantsCluster(target)
                                ? ExamineCluster(target)
                                : Examined{JudgeMachine(LookAtMachine()), "this machine, for attune run"};
  if (arguments.json) {
    std::fputs(JsonText(FindingsJson(examined.findings, examined.what)).c_str(), stdout);
  } else {
    for (const std::string& line : FindingLines(examined.findings, examined.what, CurrentScreen()))
      std::puts(line.c_str());
  }
  return HasProblem(examined.findings) ? kExitFailed : kExitOk;
}

}  // namespace attune::cli
