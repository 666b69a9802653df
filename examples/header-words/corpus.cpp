#include "examples/header-words/corpus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "examples/support/identifiers.h"
#include "examples/support/text_files.h"

namespace attune::header_words {
namespace {

constexpr uint64_t kHeldOutEvery = 50;

struct Count {
  uint32_t word = 0, times = 0;
};
struct CountedHeader {
  std::string path;
  std::vector<Count> words;
};

// Counts the words of headers, under ids in order of appearance.
class Counter {
 public:
  void Read(const std::string& path, const std::string& text) {
    absl::flat_hash_map<uint32_t, uint32_t> times;
    examples::ForEachIdentifier(text, [&](std::string_view word) { ++times[IdOf(word)]; });
    CountedHeader& header = headers_.emplace_back(CountedHeader{.path = path, .words = {}});
    header.words.reserve(times.size());
    for (const auto& [word, count] : times) {
      header.words.push_back({word, count});
      ++headers_with_[word];
    }
  }

  Corpus Finish(const CorpusOptions& options) && {
    Corpus corpus;
    constexpr IdentifierId kLeftOut = ~IdentifierId{0};
    std::vector<IdentifierId> final_id(words_.size(), kLeftOut);
    for (const uint32_t word : MostWidespread(options.headers_min)) {
      final_id[word] = static_cast<IdentifierId>(corpus.identifiers.size());
      corpus.identifiers.push_back(words_[word]);
    }
    for (CountedHeader& header : headers_) {
      std::erase_if(header.words, [&](const Count& count) { return final_id[count.word] == kLeftOut; });
      if (header.words.size() < options.identifiers_min) continue;
      corpus.headers.push_back(std::move(header.path));
      corpus.begin.push_back(corpus.cells.size());
      for (const Count& count : header.words) {
        corpus.cells.push_back({final_id[count.word], std::log1p(static_cast<float>(count.times))});
      }
      std::sort(corpus.cells.begin() + static_cast<std::ptrdiff_t>(corpus.begin.back()), corpus.cells.end(),
                [](const Cell& a, const Cell& b) { return a.identifier < b.identifier; });
    }
    corpus.begin.push_back(corpus.cells.size());
    return corpus;
  }

 private:
  uint32_t IdOf(std::string_view word) {
    const auto [entry, is_new] =
        ids_.try_emplace(absl::string_view(word.data(), word.size()), static_cast<uint32_t>(words_.size()));
    if (is_new) {
      words_.emplace_back(word);
      headers_with_.push_back(0);
    }
    return entry->second;
  }

  std::vector<uint32_t> MostWidespread(uint32_t headers_min) const {
    std::vector<uint32_t> words(words_.size());
    std::iota(words.begin(), words.end(), 0U);
    std::erase_if(words, [&](uint32_t word) { return headers_with_[word] < headers_min; });
    std::sort(words.begin(), words.end(), [&](uint32_t a, uint32_t b) {
      return headers_with_[a] != headers_with_[b] ? headers_with_[a] > headers_with_[b] : words_[a] < words_[b];
    });
    return words;
  }

  absl::flat_hash_map<std::string, uint32_t> ids_;
  std::vector<std::string> words_;
  std::vector<uint32_t> headers_with_;  // by word
  std::vector<CountedHeader> headers_;
};

}  // namespace

float Corpus::ValueAt(HeaderId header, IdentifierId identifier) const {
  const std::span<const Cell> own = CellsOf(header);
  const auto found = std::ranges::lower_bound(own, identifier, {}, &Cell::identifier);
  return found != own.end() && found->identifier == identifier ? found->value : 0;
}

HeaderId Corpus::Find(std::string_view name) const {
  const auto is_named = [&](std::string_view path) {
    if (path == name) return true;
    return path.size() > name.size() && path.ends_with(name) && path[path.size() - name.size() - 1] == '/';
  };
  return static_cast<HeaderId>(std::ranges::find_if(headers, is_named) - headers.begin());
}

std::string Corpus::Description() const {
  return "text: " + std::to_string(headers.size()) + " headers, " + std::to_string(identifiers.size()) +
         " identifiers, " + std::to_string(cells.size()) + " cells that are not 0";
}

StatusOr<Corpus> LoadCorpus(const CorpusOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, examples::ListFiles(options.directories));
  Counter counter;
  examples::ReadTexts(files, [&](const std::string& file, const std::string& text) { counter.Read(file, text); });
  Corpus corpus = std::move(counter).Finish(options);
  if (corpus.headers.size() >= 2) return corpus;
  return Error(StatusCode::kInvalidArgument,
               "no two of " + std::to_string(files.size()) + " files have " + std::to_string(options.identifiers_min) +
                   " identifiers each that occur in " + std::to_string(options.headers_min) +
                   " files; give more text with --text, or lower --min-headers or --min-identifiers");
}

bool IsHeldOut(HeaderId header, IdentifierId identifier) {
  return SplitMix64((uint64_t{header} << 32) + identifier) % kHeldOutEvery == 0;
}

}  // namespace attune::header_words
