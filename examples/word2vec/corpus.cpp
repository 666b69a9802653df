#include "examples/word2vec/corpus.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "examples/word2vec/tokenizer.h"

namespace attune::word2vec {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFileBytesMax = 8ULL << 20;

struct TextFile {
  std::string path;
  std::string group;  // subdirectory of the text directory; empty: none
  uint64_t bytes;
};

StatusOr<std::vector<TextFile>> ListFiles(const fs::path& directory) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  if (error) {
    return Error(StatusCode::kNotFound, "cannot read the text directory '" + directory.string() +
                                            "': " + error.message() + "; name one with --text");
  }
  std::vector<TextFile> files;
  const size_t prefix = (directory / "").string().size();
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (entry->is_symlink(ignored) || !entry->is_regular_file(ignored)) continue;
    const uint64_t bytes = entry->file_size(ignored);
    if (ignored || bytes == 0 || bytes > kFileBytesMax) continue;
    std::string path = entry->path().string();
    std::string group = path.substr(prefix, entry.depth() == 0 ? 0 : path.find('/', prefix) - prefix);
    files.push_back({std::move(path), std::move(group), bytes});
  }
  if (files.empty()) {
    return Error(StatusCode::kNotFound,
                 "the text directory '" + directory.string() + "' holds no text; name another with --text");
  }
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return files;
}

// The most that a group may take so that all together take `budget`: small groups are whole, large ones equal.
double GroupLimit(std::vector<double> sizes, double budget) {
  std::sort(sizes.begin(), sizes.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double share = budget / static_cast<double>(sizes.size() - i);
    if (sizes[i] > share) return share;
    budget -= sizes[i];
  }
  return sizes.empty() ? 0 : sizes.back();
}

// Files spread evenly within their group: one is taken whenever its group is behind its share of what was passed.
std::vector<TextFile> Sample(std::vector<TextFile> files, const CorpusOptions& options) {
  struct Group {
    double size = 0, share = 1, passed = 0, taken = 0;
  };
  std::map<std::string, Group> groups;
  for (const TextFile& file : files) groups[file.group].size += static_cast<double>(file.bytes);
  double budget = options.megabytes * 1e6;
  std::vector<double> sizes;
  const auto is_whole = [&](const std::string& name) { return std::ranges::count(options.whole, name) > 0; };
  for (const auto& [name, group] : groups) {
    if (!is_whole(name)) {
      sizes.push_back(group.size);
    } else {
      budget -= group.size;
    }
  }
  const double limit = GroupLimit(sizes, std::max(budget, 0.0));
  for (auto& [name, group] : groups) {
    if (!is_whole(name)) group.share = std::min(1.0, limit / group.size);
  }
  std::erase_if(files, [&](const TextFile& file) {
    Group& group = groups[file.group];
    const auto bytes = static_cast<double>(file.bytes);
    group.passed += bytes;
    if (group.share < 1 && group.taken + bytes / 2 > group.passed * group.share) return true;
    group.taken += bytes;
    return false;
  });
  return files;
}

// Words under ids in order of appearance.
class Reader {
 public:
  void Read(const TextFile& file) {
    const StatusOr<std::string> text = ReadFile(file.path, kFileBytesMax);
    if (!text.ok() || text->find('\0') != std::string::npos) return;
    ++files_;
    bytes_ += text->size();
    ForEachIdentifier(*text, [this](std::string_view word) { Add(word); });
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

StatusOr<Corpus> LoadCorpus(const CorpusOptions& options) {
  ASSIGN_OR_RETURN(std::vector<TextFile> files, ListFiles(options.directory));
  if (options.megabytes > 0) files = Sample(std::move(files), options);
  Reader reader;
  for (const TextFile& file : files) reader.Read(file);
  Corpus corpus = std::move(reader).Finish(options.count_min);
  if (corpus.vocabulary.size() >= 2) return corpus;
  return Error(StatusCode::kInvalidArgument,
               "no vocabulary: " + std::to_string(corpus.files) + " files (" + std::to_string(corpus.bytes) +
                   " bytes) of '" + options.directory.string() + "' hold no two identifiers seen " +
                   std::to_string(options.count_min) + " times; give more text or lower --min-count");
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
