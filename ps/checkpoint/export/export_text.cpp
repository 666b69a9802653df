// The text format of the word2vec program, which many tools read: "rows dim", then per line a token and its values.
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "ps/checkpoint/export/export_output.h"

namespace attune::ps {
namespace {

constexpr uint64_t kVocabularyBytesMax = 4ULL << 30;
constexpr size_t kNumberBytes = 32;

// Tokens of a file with one per line.
class Vocabulary {
 public:
  static StatusOr<Vocabulary> Read(FileSystem& files, const std::filesystem::path& path) {
    Vocabulary vocabulary;
    vocabulary.path_ = path.string();
    ASSIGN_OR_RETURN(vocabulary.text_, ReadWhole(files, path, kVocabularyBytesMax));
    for (size_t at = 0; at < vocabulary.text_.size();) {
      const size_t end = std::min(vocabulary.text_.find('\n', at), vocabulary.text_.size());
      vocabulary.lines_.emplace_back(at, end);
      at = end + 1;
    }
    return vocabulary;
  }
  StatusOr<std::string_view> Token(Key key) const {
    if (key >= lines_.size()) {
      return Error(StatusCode::kInvalidArgument, "the table has key " + std::to_string(key) + ", '" + path_ + "' has " +
                                                     std::to_string(lines_.size()) +
                                                     " tokens; is it the vocabulary of this model?");
    }
    const auto [begin, end] = lines_[key];
    const std::string_view token = std::string_view(text_).substr(begin, end - begin);
    if (token.empty() || token.find_first_of(" \t\r") != std::string_view::npos) {
      return Error(StatusCode::kInvalidArgument, "line " + std::to_string(key + 1) + " of '" + path_ +
                                                     "' is no token: it is empty or has white space");
    }
    return token;
  }

 private:
  std::string path_, text_;
  std::vector<std::pair<size_t, size_t>> lines_;
};

template <typename Number>
void AppendDecimal(std::string& text, Number number) {
  const size_t size = text.size();
  text.resize(size + kNumberBytes);
  const auto end = std::to_chars(text.data() + size, text.data() + text.size(), number).ptr;  // shortest, exact
  text.resize(static_cast<size_t>(end - text.data()));
}

}  // namespace

Status WriteWord2vecText(FileSystem& files, ExportTable& table, const std::filesystem::path& vocabulary_file,
                         ExportOutput& output) {
  std::optional<Vocabulary> vocabulary;
  if (!vocabulary_file.empty()) {
    ASSIGN_OR_RETURN(vocabulary, Vocabulary::Read(files, vocabulary_file));
  }
  std::string line;
  AppendDecimal(line, table.rows());
  line.push_back(' ');
  AppendDecimal(line, table.spec().options.dim);
  line.push_back('\n');
  RETURN_IF_ERROR(output.Write(line));
  std::vector<float> values(table.spec().options.dim);
  return table.ForEach(RowMerge::Columns::kRows, [&](const StoredRow& row) -> Status {
    line.clear();
    if (vocabulary) {
      ASSIGN_OR_RETURN(const std::string_view token, vocabulary->Token(row.key));
      line.append(token);
    } else {
      AppendDecimal(line, row.key);
    }
    std::memcpy(values.data(), row.values.data(), row.values.size());
    for (const float value : values) {
      line.push_back(' ');
      AppendDecimal(line, value);
    }
    line.push_back('\n');
    return output.Write(line);
  });
}

}  // namespace attune::ps
