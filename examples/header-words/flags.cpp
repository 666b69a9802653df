#include "examples/header-words/flags.h"

#include <CLI/CLI.hpp>

#include "examples/support/flag_checks.h"
#include "examples/support/text_files.h"

namespace attune::header_words {

using examples::Number;
using examples::PositiveNumber;
using examples::WholeNumber;

ps::TableOptions Flags::Table() const {
  return {.dim = dim + 1,
          .optimizer = ps::Adagrad{.rate = rate, .initial_accumulator = 1e-3F},
          .initializer = ps::NormalInitializer{0, 0.1F},
          .seed = seed};
}

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& f = parsed.flags;
  CLI::App app(
      "Learns which identifiers occur how often in which header (matrix factorization): as a worker of an Attune job, "
      "or alone with --standalone.");
  app.option_defaults()->always_capture_default();
  std::vector<std::string> text;
  for (const auto& directory : examples::DefaultTextDirectories()) text.push_back(directory.string());
  app.add_option("--text", text, "Directories of text, with commas (default: C and C++ headers of Attune's libraries)")
      ->delimiter(',')
      ->default_str("");
  app.add_flag("--list-text", f.list_text, "Print the files of the text, and nothing else");
  app.add_option("--min-headers", f.corpus.headers_min, "Leave out identifiers of fewer headers")
      ->check(WholeNumber(1));
  app.add_option("--min-identifiers", f.corpus.identifiers_min, "Leave out headers with fewer of the others")
      ->check(WholeNumber(1));
  app.add_option("--headers", f.headers, "Headers of a step")->check(WholeNumber(1, 4096));
  app.add_option("--dim", f.dim, "Values per vector")->check(WholeNumber(1, 4095));
  app.add_option("--regularization", f.regularization, "Weight of the vectors' squares")->check(Number(0));
  app.add_option("--rate", f.rate, "Adagrad's rate")->check(PositiveNumber());
  app.add_flag("--announce", f.announce,
               "Announce the rows of the next steps; where machines are near it costs more than it gains");
  app.add_option("--seed", f.seed, "Seed of everything random")->check(WholeNumber(0));
  app.add_option("--shown", f.shown, "Headers of which is shown what they resemble and lack, with commas")
      ->delimiter(',');
  app.add_flag("--save-tables", f.save_tables, "Have the servers save their rows");
  app.add_option("--trace", f.trace, "A directory: workers write time, loss and samples of every step into it");
  app.add_flag("--standalone", f.standalone, "Train in this process, without servers");
  app.add_option("--threads", f.threads, "Threads of --standalone")->check(WholeNumber(1, 256));
  app.add_option("--epochs", f.epochs, "Epochs of --standalone")->check(WholeNumber(1));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  f.corpus.directories.assign(text.begin(), text.end());
  return parsed;
}

}  // namespace attune::header_words
