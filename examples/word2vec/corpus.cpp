#include "examples/word2vec/corpus.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "examples/support/identifiers.h"
#include "examples/support/text_files.h"

namespace attune::word2vec {
namespace {

namespace fs = std::filesystem;

// Words under ids in order of appearance.
class Reader {
 public:
  void Read(const std::string& text) {
    ++files_;
    bytes_ += text.size();
    examples::ForEachIdentifier(text, [this](std::string_view word) { Add(word); });
  }

  Corpus Finish(uint64_t count_min) && {
    Corpus corpus{.vocabulary = Vocabulary(counted_, count_min), .files = files_, .bytes = bytes_};
    constexpr WordId kLeftOut = ~WordId{0};
    std::vector<WordId> final_id(counted_.size(), kLeftOut);
    for (WordId id = 0; id < corpus.vocabulary.size(); ++id) final_id[ids_[corpus.vocabulary.words[id]]] = id;
    for (WordId& id : text_) id = final_id[id];
    std::erase(text_, kLeftOut);
    corpus.text = std::move(text_);
    return corpus;
  }

 private:
  void Add(std::string_view word) {
    const auto [entry, is_new] = ids_.try_emplace(absl::string_view(word.data(), word.size()), counted_.size());
    if (is_new) counted_.emplace_back(word, 0);
    ++counted_[entry->second].second;
    text_.push_back(entry->second);
  }

  absl::flat_hash_map<std::string, WordId> ids_;
  std::vector<std::pair<std::string, uint64_t>> counted_;
  std::vector<WordId> text_;
  uint64_t files_ = 0, bytes_ = 0;
};

}  // namespace

Vocabulary::Vocabulary(std::vector<std::pair<std::string, uint64_t>> counted, uint64_t count_min) {
  std::erase_if(counted, [&](const auto& entry) { return entry.second < count_min; });
  std::sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (auto& [word, count] : counted) {
    words.push_back(std::move(word));
    counts.push_back(count);
  }
}

std::optional<WordId> Vocabulary::Find(std::string_view word) const {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<WordId>(found - words.begin());
}

std::string Corpus::Description() const {
  return "text: " + std::to_string(files) + " files, " + std::to_string(bytes / 1'000'000) + " MB, " +
         std::to_string(text.size()) + " words, vocabulary " + std::to_string(vocabulary.size());
}

StatusOr<Corpus> LoadCorpus(const CorpusOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, examples::ListFiles(options.directories));
  Reader reader;
  examples::ReadTexts(files, [&](const std::string&, const std::string& text) { reader.Read(text); });
  Corpus corpus = std::move(reader).Finish(options.count_min);
  if (corpus.vocabulary.size() >= 2) return corpus;
  std::string names;
  for (const fs::path& directory : options.directories)
    names += (names.empty() ? "'" : ", '") + directory.string() + "'";
  if (corpus.files == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "no text: 0 files of " + names +
                     " can be read as text (permitted, at most 8 MiB, without NUL bytes); "
                     "name other directories with --text");
  }
  return Error(StatusCode::kInvalidArgument, "no vocabulary: " + std::to_string(corpus.files) + " files (" +
                                                 std::to_string(corpus.bytes) + " bytes) of " + names +
                                                 " hold no two identifiers seen " + std::to_string(options.count_min) +
                                                 " times; give more text with --text or lower --min-count");
}

Chunks::Chunks(std::span<const WordId> text, uint64_t chunk_words)
    : text_(text), chunk_words_(chunk_words), count_((text.size() + chunk_words - 1) / chunk_words) {
  // Multiples of the golden ratio are spread evenly modulo 1, however many of them are taken.
  stride_ = std::max<uint64_t>(1, static_cast<uint64_t>(0.6180339887 * static_cast<double>(training_count())));
  while (std::gcd(stride_, training_count()) > 1) ++stride_;
}

std::span<const WordId> Chunks::Training(uint64_t epoch, uint64_t item) const {
  const uint64_t shuffled = (item + epoch * 7919) % training_count() * stride_ % training_count();
  return At(shuffled + shuffled / (kHeldOutEvery - 1));
}

}  // namespace attune::word2vec
