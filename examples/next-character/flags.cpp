#include "examples/next-character/flags.h"

#include <CLI/CLI.hpp>

#include "examples/support/flag_checks.h"
#include "examples/support/text_files.h"

namespace attune::next_character {

using examples::Number;
using examples::PositiveNumber;
using examples::WholeNumber;

ps::TableOptions Flags::TableOf(size_t layer) const {
  const LayerShape shape = Shapes(network)[layer];
  ps::TableOptions options{.dim = static_cast<uint32_t>(shape.columns),
                           .optimizer = ps::RowAdam{.rate = rate},
                           .initializer = ps::XavierInitializer{.fan_in = static_cast<uint32_t>(shape.rows),
                                                                .fan_out = static_cast<uint32_t>(shape.columns)},
                           .seed = seed};
  if (layer == 0) options.initializer = ps::NormalInitializer{0, 0.3F};
  if (layer + 1 == kLayers) options.optimizer = ps::Momentum{.rate = output_rate, .momentum = 0.9F};
  return options;
}

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& f = parsed.flags;
  CLI::App app(
      "Learns which character comes next in C and C++ text, with a small dense network: as a worker of an Attune job, "
      "or "
      "alone with --standalone.");
  app.option_defaults()->always_capture_default();
  std::vector<std::string> text;
  for (const auto& directory : examples::DefaultTextDirectories()) text.push_back(directory.string());
  app.add_option("--text", text, "Directories of text, with commas (default: C and C++ headers of Attune's libraries)")
      ->delimiter(',')
      ->default_str("");
  app.add_flag("--list-text", f.list_text, "Print the files of the text, and nothing else");
  app.add_option("--context", f.network.context, "Characters looked at")->check(WholeNumber(1, 256));
  app.add_option("--embedding", f.network.embedding, "Values per character")->check(WholeNumber(1, 1024));
  app.add_option("--hidden1", f.network.hidden1, "Units of the first hidden layer")->check(WholeNumber(1, 16384));
  app.add_option("--hidden2", f.network.hidden2, "Units of the second hidden layer")->check(WholeNumber(1, 16384));
  app.add_option("--batch", f.batch, "Characters of a step")->check(WholeNumber(1, 1 << 16));
  app.add_option("--epoch-batches", f.epoch_batches, "Steps of an epoch")->check(WholeNumber(1));
  app.add_option("--rate", f.rate, "Adam's rate")->check(PositiveNumber());
  app.add_option("--output-rate", f.output_rate, "Rate of the output layer, with momentum")->check(PositiveNumber());
  app.add_option("--seed", f.seed, "Seed of everything random")->check(WholeNumber(0));
  app.add_option("--judged-characters", f.judged_characters, "Held-out characters that are judged")
      ->check(WholeNumber(1));
  app.add_option("--prompt", f.sampling.prompt, "What the text made up at the end begins with");
  app.add_option("--temperature", f.sampling.temperature, "Of that text; lower is more likely, higher wilder")
      ->check(Number(0.05, 5));
  app.add_flag("--save-tables", f.save_tables, "Have the servers save their rows");
  app.add_option("--trace", f.trace, "A directory: workers write time, loss and samples of every step into it");
  app.add_option("--worker-threads-max", f.worker_threads_max,
                 "A worker computes with one thread until the job asks for more, at most these")
      ->check(WholeNumber(1, 256));
  app.add_flag("--standalone", f.standalone, "Train in this process, without servers");
  app.add_option("--threads", f.threads, "Threads of --standalone")->check(WholeNumber(1, 256));
  app.add_option("--epochs", f.epochs, "Epochs of --standalone")->check(WholeNumber(1));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  f.text.assign(text.begin(), text.end());
  return parsed;
}

}  // namespace attune::next_character
