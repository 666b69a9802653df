#include "examples/word2vec/flags.h"

#include <CLI/CLI.hpp>

#include "examples/support/flag_checks.h"
#include "examples/support/text_files.h"

namespace attune::word2vec {

using examples::Number;
using examples::PositiveNumber;
using examples::WholeNumber;

ps::TableOptions Flags::InputTable() const {
  const float bound = 0.5F / static_cast<float>(dim);
  return {.dim = dim,
          .optimizer = ps::Adagrad{.rate = rate, .initial_accumulator = 1e-3F},
          .initializer = ps::UniformInitializer{-bound, bound},
          .seed = seed};
}

ps::TableOptions Flags::OutputTable() const {
  ps::TableOptions options = InputTable();
  options.initializer = ps::ConstantInitializer{0};
  return options;
}

uint64_t Flags::BatchSeed(uint64_t epoch, uint64_t item) const {
  return SplitMix64(SplitMix64(SplitMix64(seed) + epoch) + item);
}

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& f = parsed.flags;
  CLI::App app(
      "Trains word vectors (skip-gram with negative sampling) on the identifiers of a directory of C and C++ text: "
      "as a worker of an Attune job, or alone with --standalone.");
  app.option_defaults()->always_capture_default();
  std::vector<std::string> text;
  for (const auto& directory : examples::DefaultTextDirectories()) text.push_back(directory.string());
  app.add_option("--text", text, "Directories of text, with commas (default: C and C++ headers of Attune's libraries)")
      ->delimiter(',')
      ->default_str("");
  app.add_flag("--list-text", f.list_text, "Print the files of the text, and nothing else");
  app.add_option("--min-count", f.corpus.count_min, "Leave out rarer words")->check(WholeNumber(1));
  app.add_option("--dim", f.dim, "Values per vector")->check(WholeNumber(1, 4096));
  app.add_option("--window", f.batch.window, "Neighbors on each side")->check(WholeNumber(1, 20));
  app.add_option("--negatives", f.batch.negatives, "Weight of negatives per pair")->check(Number(0.1, 100));
  app.add_option("--subsample", f.batch.subsample, "Frequency above which words are thinned")->check(PositiveNumber());
  app.add_option("--chunk-words", f.chunk_words, "Words of a step")->check(WholeNumber(16, 1 << 20));
  app.add_option("--rate", f.rate, "Adagrad's rate")->check(PositiveNumber());
  app.add_option("--seed", f.seed, "Seed of everything random")->check(WholeNumber(0));
  app.add_option("--neighbors", f.neighbors, "Words whose nearest neighbors are shown, with commas")->delimiter(',');
  app.add_flag("--announce", f.announce,
               "Announce the rows of the next steps; where machines are near it costs more than it gains");
  app.add_flag("--save-tables", f.save_tables, "Have the servers save their rows too");
  app.add_option("--model", f.model, "Judge the model that servers saved in this directory, without training");
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

}  // namespace attune::word2vec
