#include "examples/package-graph/flags.h"

#include <CLI/CLI.hpp>

#include <map>

#include "examples/support/flag_checks.h"

namespace attune::package_graph {

using examples::Number;
using examples::PositiveNumber;
using examples::WholeNumber;

ps::TableOptions Flags::EntityTable() const {
  return {.dim = dim,
          .optimizer = ps::Adagrad{.rate = rate, .initial_accumulator = 1e-3F},
          .initializer = ps::NormalInitializer{0, 0.1F},
          .seed = seed};
}

ps::TableOptions Flags::RelationTable() const {
  ps::TableOptions options = EntityTable();
  options.initializer = ps::NormalInitializer{0, 0.5F};
  return options;
}

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& f = parsed.flags;
  CLI::App app(
      "Learns the graph of Debian's packages (ComplEx, negative sampling) from the package lists of this machine: as a "
      "worker of an Attune job, or alone with --standalone.");
  app.option_defaults()->always_capture_default();
  std::vector<std::string> lists;
  app.add_option("--lists", lists, "Package lists or directories of them, with commas (default: this machine's)")
      ->delimiter(',')
      ->default_str("");
  app.add_flag("--list-files", f.list_files, "Print the names of the package lists, and nothing else");
  app.add_option("--min-links", f.graph.links_min, "Leave out what has fewer links (0: 10, or 4 where there are few)")
      ->check(WholeNumber(0));
  app.add_option("--held-out", f.graph.held_out_percent, "Percent of pairs kept from training")
      ->check(WholeNumber(0, 50));
  app.add_option("--dim", f.dim, "Values per vector, two for each complex number")->check(WholeNumber(2, 4096));
  app.add_option("--batch-links", f.batch.links, "Links of a step")->check(WholeNumber(1, 1 << 16));
  app.add_option("--negatives", f.batch.negatives, "Negatives of a step")->check(WholeNumber(1, 1 << 16));
  app.add_option("--sampling", f.sampling,
                 "How a worker draws negatives: each by itself, from a pool, or from rows at hand")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, ps::SamplingMode>{{"independent", ps::SamplingMode::kIndependent},
                                                  {"pool", ps::SamplingMode::kPool},
                                                  {"local", ps::SamplingMode::kLocal}}))
      ->default_str("independent");
  app.add_flag("--announce", f.announce,
               "Announce the rows of the next steps; where cores are busy it costs more than it gains");
  app.add_option("--rate", f.rate, "Adagrad's rate")->check(PositiveNumber());
  app.add_option("--regularization", f.regularization, "Weight of N3")->check(Number(0));
  app.add_option("--seed", f.seed, "Seed of everything random, and of what is held out")->check(WholeNumber(0));
  app.add_option("--judged-links", f.judged_links, "Held-out links that are ranked")->check(WholeNumber(1));
  app.add_option("--packages", f.packages, "Packages whose likely links are shown, with commas")->delimiter(',');
  app.add_flag("--save-tables", f.save_tables, "Have the servers save their rows");
  app.add_option("--trace", f.trace, "A directory: workers write time, loss and samples of every step into it");
  app.add_flag("--standalone", f.standalone, "Train in this process, without servers");
  app.add_option("--threads", f.threads, "Threads of --standalone")->check(WholeNumber(1, 256));
  app.add_option("--epochs", f.epochs, "Epochs of --standalone")->check(WholeNumber(1));
  try {
    app.parse(argc, argv);
    if (f.dim % 2 != 0) throw CLI::ValidationError("--dim", "must be even: two values make a complex number");
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  f.graph.lists.assign(lists.begin(), lists.end());
  f.graph.seed = f.seed;
  return parsed;
}

}  // namespace attune::package_graph
