#include "cli/move_arguments.h"

#include <CLI/CLI.hpp>
#include <string>

#include "base/number_text.h"

namespace attune::cli {

void AddMove(CLI::App& app, MoveArguments& values) {
  CLI::App* move = app.add_subcommand("move", "Give a pod another machine during training");
  move->fallthrough();
  move->footer(
      "A worker goes once another one has begun there; a server's rows move to the others first.\n\n"
      "  attune move word2vec worker-1 --to node-2\n"
      "  attune move word2vec server-0                any other machine\n");
  move->add_option("JOB", values.job, "Name of a job; may be left out where there is one");
  move->add_option("POD", values.pod, "worker-N or server-N");
  move->add_option("--to", values.to, "The machine to prefer; another one where it has no\nroom")->type_name("NODE");
  constexpr int64_t kDay = 86400;
  const CLI::Validator seconds([](std::string& text) { return ProblemOfWholeNumber(text, 1, kDay); }, "");
  move->add_option("--timeout", values.timeout_seconds, "Longest wait (default 600)")
      ->type_name("SECONDS")
      ->check(seconds);
}

}  // namespace attune::cli
