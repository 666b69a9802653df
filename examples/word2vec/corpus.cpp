#include "examples/word2vec/corpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

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
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (!entry->is_regular_file(ignored) || entry->is_symlink(ignored)) continue;
    const uint64_t bytes = entry->file_size(ignored);
    if (!ignored && bytes > 0 && bytes <= kFileBytesMax) files.push_back({entry->path().string(), bytes});
  }
  if (files.empty()) {
    return Error(StatusCode::kNotFound,
                 "the text directory '" + directory.string() + "' holds no text; name another with --text");
  }
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return files;
}

// Takes a file whenever the sample is behind its share of what was passed, so that the sample is spread evenly.
std::vector<TextFile> Sample(std::vector<TextFile> files, double megabytes) {
  uint64_t total = 0;
  for (const TextFile& file : files) total += file.bytes;
  const double share = megabytes > 0 ? megabytes * 1e6 / static_cast<double>(total) : 1;
  if (share >= 1) return files;
  std::vector<TextFile> sample;
  double passed = 0, taken = 0;
  for (TextFile& file : files) {
    passed += static_cast<double>(file.bytes);
    if (taken + static_cast<double>(file.bytes) / 2 > passed * share) continue;
    taken += static_cast<double>(file.bytes);
    sample.push_back(std::move(file));
  }
  return sample;
}

// What one thread found in its files: words under ids of its own, in order of appearance.
class PartialCorpus {
 public:
  void Read(const TextFile& file) {
    buffer_.resize(kFileBytesMax);
    const int fd = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    size_t size = 0;
    for (ssize_t n = 1; n > 0 && size < buffer_.size(); size += static_cast<size_t>(std::max<ssize_t>(n, 0))) {
      n = ::read(fd, buffer_.data() + size, buffer_.size() - size);
    }
    ::close(fd);
    if (std::memchr(buffer_.data(), '\0', size) != nullptr) return;
    bytes_ += size;
    ForEachIdentifier({buffer_.data(), size}, [&](std::string_view word) { Add(word); });
  }

  std::vector<std::string> words;  // by local id
  std::vector<uint64_t> counts;    // by local id
  std::vector<WordId> stream;      // local ids
  uint64_t bytes() const { return bytes_; }

 private:
  void Add(std::string_view word) {
    const auto [entry, is_new] = ids_.try_emplace(absl::string_view(word.data(), word.size()), words.size());
    if (is_new) {
      words.emplace_back(word);
      counts.push_back(0);
    }
    ++counts[entry->second];
    stream.push_back(entry->second);
  }

  absl::flat_hash_map<std::string, WordId> ids_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// Consecutive files of about equal size in sum for each thread.
std::vector<PartialCorpus> ReadAll(const std::vector<TextFile>& files, uint32_t threads) {
  uint64_t total = 0;
  for (const TextFile& file : files) total += file.bytes;
  std::vector<PartialCorpus> parts(std::max(threads, 1U));
  std::vector<std::jthread> readers;
  size_t next = 0;
  uint64_t passed = 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    const size_t begin = next;
    while (next < files.size() && passed < total * (part + 1) / parts.size()) passed += files[next++].bytes;
    readers.emplace_back([&files, &part_corpus = parts[part], begin, end = next] {
      for (size_t i = begin; i < end; ++i) part_corpus.Read(files[i]);
    });
  }
  readers.clear();  // joins
  return parts;
}

Corpus Merge(std::vector<PartialCorpus> parts, const CorpusOptions& options) {
  absl::flat_hash_map<std::string, uint64_t> counts;
  for (const PartialCorpus& part : parts) {
    for (size_t id = 0; id < part.words.size(); ++id) counts[part.words[id]] += part.counts[id];
  }
  Corpus corpus;
  corpus.vocabulary = Vocabulary({counts.begin(), counts.end()}, options.count_min, options.vocabulary_max);
  absl::flat_hash_map<std::string, WordId> ids;
  for (size_t id = 0; id < corpus.vocabulary.size(); ++id) ids[corpus.vocabulary.word(id)] = static_cast<WordId>(id);
  corpus.words.reserve(corpus.vocabulary.total_count());
  constexpr WordId kLeftOut = ~WordId{0};
  for (const PartialCorpus& part : parts) {
    std::vector<WordId> global(part.words.size(), kLeftOut);
    for (size_t id = 0; id < part.words.size(); ++id) {
      if (const auto found = ids.find(part.words[id]); found != ids.end()) global[id] = found->second;
    }
    for (const WordId id : part.stream) {
      if (global[id] != kLeftOut) corpus.words.push_back(global[id]);
    }
    corpus.bytes += part.bytes();
  }
  return corpus;
}

}  // namespace

StatusOr<Corpus> LoadCorpus(const CorpusOptions& options) {
  ASSIGN_OR_RETURN(std::vector<TextFile> files, ListFiles(options.directory));
  files = Sample(std::move(files), options.megabytes);
  Corpus corpus = Merge(ReadAll(files, options.threads), options);
  corpus.files = files.size();
  if (corpus.vocabulary.size() < 2) {
    return Error(StatusCode::kInvalidArgument,
                 "no vocabulary: " + std::to_string(files.size()) + " files (" + std::to_string(corpus.bytes) +
                     " bytes) of '" + options.directory.string() + "' hold no two identifiers seen " +
                     std::to_string(options.count_min) + " times; give more text or lower --min-count");
  }
  return corpus;
}

}  // namespace attune::word2vec
