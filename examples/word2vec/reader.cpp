#include "examples/word2vec/reader.h"

#include <cstdio>
#include <numeric>

#include "examples/word2vec/evaluation.h"
#include "ps/checkpoint/saved_table.h"

namespace attune::word2vec {
namespace {

// Row i is key i; rows that no worker has pushed to have their initial values.
StatusOr<std::vector<float>> ReadTable(const ps::OpenedCheckpoint& checkpoint, const char* name, size_t rows,
                                       size_t& dim) {
  ASSIGN_OR_RETURN(const ps::SavedTable table, ps::SavedTable::Open(ps::RealFileSystem(), checkpoint, name));
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::TableStore> store, ps::TableStore::Create(table.spec()));
  RETURN_IF_ERROR(table.Load(ps::HashRanges::All(), *store).status());
  dim = table.spec().options.dim;
  std::vector<ps::Key> keys(rows);
  std::iota(keys.begin(), keys.end(), ps::Key{0});
  std::vector<float> values(rows * dim);
  store->Pull(keys, values);
  return values;
}

}  // namespace

Status RunReader(const Flags& flags) {
  ps::FileSystem& files = ps::RealFileSystem();
  ASSIGN_OR_RETURN(const ps::OpenedCheckpoint checkpoint,
                   ps::OpenCheckpoint(files, ps::FindCheckpoints(files, flags.model)));
  for (const std::string& skipped : checkpoint.skipped) std::printf("passing over %s\n", skipped.c_str());
  ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(flags.corpus));
  std::puts(corpus.Description().c_str());
  Model model;
  ASSIGN_OR_RETURN(model.inputs, ReadTable(checkpoint, "input", corpus.vocabulary.size(), model.dim));
  ASSIGN_OR_RETURN(model.outputs, ReadTable(checkpoint, "output", corpus.vocabulary.size(), model.dim));
  if (model.inputs.size() != model.outputs.size()) {
    return Error(StatusCode::kInvalidArgument, "the tables 'input' and 'output' have different dims");
  }
  const Chunks chunks(corpus.text, flags.chunk_words);
  BatchBuilder builder(corpus.vocabulary, flags.batch);
  const double held_out_loss = HeldOutLoss(model, chunks, builder);
  for (const std::string& word : flags.neighbors) std::puts(Neighbors(model, corpus.vocabulary, word).c_str());
  std::printf("result mode=reader checkpoint=%llu held_out_loss=%.4f\n",
              static_cast<unsigned long long>(checkpoint.manifest.number), held_out_loss);
  return OkStatus();
}

}  // namespace attune::word2vec
