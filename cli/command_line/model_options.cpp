#include <CLI/CLI.hpp>

#include "cli/command_line/command_options.h"
#include "cli/command_line/option_kinds.h"

namespace attune::cli {
namespace {

void AddInspect(CLI::App& app, TypedValues& values) {
  CLI::App* inspect = AddCommand(
      app, "inspect", "List the checkpoints in a directory and whether they are whole",
      "DIR holds checkpoints itself, or in tables/ (a job's model directory). SIZE (+N): N added to an earlier one.\n"
      "Exit code 1 when one is damaged.\n\n"
      "  attune inspect word2vec --verify         of the newest run of this job\n"
      "  attune inspect attune-runs/word2vec-1    of the run in this directory\n");
  inspect
      ->add_option("DIR", values.inspect.directory,
                   "Directory of checkpoints, or of a run; or the name of a\nrun or of a job (its newest run)")
      ->required();
  inspect->add_flag("--verify", values.inspect.verify, "Read every byte; otherwise sizes and directories of files");
  AddJsonOutput(*inspect, values, "json: one object per line, for programs");
}

void AddExport(CLI::App& app, TypedValues& values) {
  CLI::App* to_file = AddCommand(
      app, "export", "Write a model's rows for other programs",
      "safetensors and npz hold <table>.keys (int64) and <table>.values (float32) of every table. word2vec-text\n"
      "holds one table, a line per row; its tokens come from the vocabulary that the training program wrote.\n\n"
      "  attune export word2vec --format npz --to vectors.npz\n"
      "  attune export model --format word2vec-text --table input --vocabulary model/vocabulary.txt\n");
  to_file
      ->add_option("DIR", values.export_.directory,
                   "Directory of checkpoints, or of a run; or the name of a\nrun or of a job (its newest run)")
      ->required();
  to_file->add_option("--format", values.export_.format, "safetensors, npz or word2vec-text")
      ->required()
      ->check(OneOf({"safetensors", "npz", "word2vec-text"}))
      ->type_name("NAME");
  to_file->add_option("--table", values.export_.tables, "Only this table; may be given again\n(default: all)")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  to_file
      ->add_option("--to", values.export_.to,
                   "File to write, - for standard output\n(default: ./<table> with the format's ending)")
      ->type_name("FILE");
  to_file->add_option("--vocabulary", values.export_.vocabulary, "Tokens, one per line: line k is key k, from 0")
      ->type_name("FILE");
  to_file->add_option("--checkpoint", values.export_.checkpoint, "Its number (default: the newest that is whole)")
      ->type_name("NUMBER")
      ->check(WholeNumber(1));
  to_file->add_flag("--best", values.export_.best, "The best one (spec.checkpoint.best)")->excludes("--checkpoint");
  AddJsonOutput(*to_file, values, "json: the result as an object, for programs");
}

void AddPullModel(CLI::App& app, TypedValues& values) {
  PullModelArguments& pull = values.pull_model;
  CLI::App* command = AddCommand(
      app, "pull-model", "Copy a job's model to this machine",
      "On a cluster a pod shows the claim of the model, read-only, while it is copied. Run again, it leaves what is\n"
      "whole and continues what is not. Of a run on this machine it copies the files of its directory.\n\n"
      "  attune pull-model word2vec               into ./word2vec\n"
      "  attune pull-model word2vec models/one --checkpoints\n"
      "  attune export models/one --format npz --to vectors.npz\n");
  command->add_option("JOB", pull.job, kJobOrOnly);
  command->add_option("DIR", pull.directory, "Directory to copy to (default: ./<job>)");
  command->add_flag("--checkpoints", pull.checkpoints, "The job's checkpoints too");
  command->add_flag("--force", pull.force, "Replace files there that differ");
  command->add_option("--claim", pull.claim, "PersistentVolumeClaim (default: as the job or its pods say)")
      ->type_name("NAME");
  command->add_option("--image", pull.image, "Image of the sidecar (default: that of the job's pods)")
      ->type_name("IMAGE");
  AddTimeout(*command, pull.timeout_seconds, "Longest wait for that pod (default 300)");
  AddJsonOutput(*command, values, "json: the result as an object, for programs");
}

}  // namespace

void AddModels(CLI::App& app, TypedValues& values) {
  AddInspect(app, values);
  AddExport(app, values);
  AddPullModel(app, values);
  GroupCommands(app, "Models");
}

}  // namespace attune::cli
