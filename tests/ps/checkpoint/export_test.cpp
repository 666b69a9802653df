// Exported files read back by readers that share no code with the writers; npz by NumPy too, where it is installed.
#include "ps/checkpoint/export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "tests/ps/checkpoint/test_tables.h"
#include "tests/scratch.h"

namespace attune::ps::export_test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

using Vectors = std::map<int64_t, std::vector<float>>;

template <typename T>
T At(const std::string& bytes, size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Vectors Rows(const std::string& keys, const std::string& values, size_t dim) {
  Vectors rows;
  EXPECT_EQ(keys.size() / 8 * dim * 4, values.size());
  for (size_t i = 0; i < keys.size() / 8; ++i) {
    std::vector<float>& row = rows[At<int64_t>(keys, i * 8)];
    for (size_t j = 0; j < dim; ++j) row.push_back(At<float>(values, (i * dim + j) * 4));
  }
  return rows;
}

std::map<std::string, Vectors> ReadSafetensors(const std::filesystem::path& path) {
  const std::string bytes = *ReadFile(path);
  const auto header_bytes = At<uint64_t>(bytes, 0);
  EXPECT_EQ(header_bytes % 8, 0U);
  const Json header = Json::parse(bytes.substr(8, header_bytes));
  const auto tensor = [&](const std::string& name, const char* dtype) {
    EXPECT_EQ(header.at(name).at("dtype"), dtype);
    const auto offsets = header.at(name).at("data_offsets").get<std::array<uint64_t, 2>>();
    return bytes.substr(8 + header_bytes + offsets[0], offsets[1] - offsets[0]);
  };
  std::map<std::string, Vectors> tables;
  uint64_t end = 0;
  for (const auto& [name, entry] : header.items()) {
    end = std::max(end, entry.at("data_offsets").at(1).get<uint64_t>());
    if (!name.ends_with(".values")) continue;
    const std::string table = name.substr(0, name.size() - 7);
    EXPECT_EQ(entry.at("shape").at(0), header.at(table + ".keys").at("shape").at(0));
    tables[table] = Rows(tensor(table + ".keys", "I64"), tensor(name, "F32"), entry.at("shape").at(1).get<size_t>());
  }
  EXPECT_EQ(8 + header_bytes + end, bytes.size());
  return tables;
}

// The arrays of an archive, found through its end as readers do.
std::map<std::string, std::string> ReadZip(const std::filesystem::path& path) {
  const std::string bytes = *ReadFile(path);
  const size_t end = bytes.size() - 22;
  EXPECT_EQ(At<uint32_t>(bytes, end), 0x06054b50U);
  EXPECT_EQ(At<uint32_t>(bytes, end - 20), 0x07064b50U);
  const auto end64 = At<uint64_t>(bytes, end - 20 + 8);
  EXPECT_EQ(At<uint32_t>(bytes, end64), 0x06064b50U);
  const auto count = At<uint64_t>(bytes, end64 + 32);
  auto at = At<uint64_t>(bytes, end64 + 48);
  EXPECT_EQ(at + At<uint64_t>(bytes, end64 + 40), end64);
  std::map<std::string, std::string> members;
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(At<uint32_t>(bytes, at), 0x02014b50U);
    const auto crc = At<uint32_t>(bytes, at + 16);
    const auto name_bytes = At<uint16_t>(bytes, at + 28), extra_bytes = At<uint16_t>(bytes, at + 30);
    const std::string name = bytes.substr(at + 46, name_bytes);
    const size_t extra = at + 46 + name_bytes;
    EXPECT_EQ(At<uint16_t>(bytes, extra), 1U);
    const auto size = At<uint64_t>(bytes, extra + 4), local = At<uint64_t>(bytes, extra + 20);
    EXPECT_EQ(At<uint32_t>(bytes, local), 0x04034b50U);
    const size_t data = local + 30 + At<uint16_t>(bytes, local + 26) + At<uint16_t>(bytes, local + 28);
    members[name] = bytes.substr(data, size);
    EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(&bytes[data]), static_cast<uInt>(size)), crc) << name;
    at = extra + extra_bytes;
  }
  EXPECT_EQ(at, end64);
  return members;
}

std::string NpyData(const std::string& member, const std::string& want_header) {
  EXPECT_EQ(member.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const auto header_bytes = At<uint16_t>(member, 8);
  EXPECT_EQ((10 + header_bytes) % 64, 0);
  EXPECT_THAT(member.substr(10, header_bytes), HasSubstr(want_header));
  return member.substr(10 + size_t{header_bytes});
}

class ExportTest : public testing::Test {
 protected:
  void SetUp() override {
    const SystemTime time;
    CheckpointWriter writer(RealFileSystem(), time, {.job_uid = "job-1"});
    const auto plan = writer.Begin(directory_.path());
    ASSERT_TRUE(plan.ok());
    CheckpointParts parts;
    for (const auto& [name, dim] : {std::pair<std::string, uint32_t>{"in/put", 3}, {"bias", 1}}) {
      const auto store = *TableStore::Create({name, {.dim = dim, .optimizer = Adagrad{}}});
      for (Key key = 0; key < (dim == 3 ? 2000 : 5); ++key) {
        std::vector<float> gradient(dim, static_cast<float>(key) + 0.5F);
        gradient.front() = -1.0F / 3;
        ASSERT_TRUE(store->Push({&key, 1}, gradient).ok());
      }
      store->ForEachRow([&](const RowView& row) {
        want_[name][static_cast<int64_t>(row.key)].assign(row.values.begin(), row.values.end());
      });
      StoreRowSource source(*store);
      Throttle throttle(0, time);
      const auto part = WritePart(RealFileSystem(),
                                  {.directory = directory_.path(), .checkpoint = 1, .job_uid = "job-1", .part = "0"},
                                  {&source}, {}, throttle);
      ASSERT_TRUE(part.ok()) << part.status();
      parts.tables.push_back({.spec = store->spec(), .rows = store->row_count(), .files = {part->tables[0].file}});
    }
    ASSERT_TRUE(writer.Commit(*plan, parts).ok());
    output_ = directory_.path() / "out";
  }
  StatusOr<ExportResult> Run(ExportFormat format, std::vector<std::string> tables = {},
                             const std::filesystem::path& vocabulary = {}) {
    const auto checkpoint = OpenCheckpoint(RealFileSystem(), directory_.path());
    RETURN_IF_ERROR(checkpoint.status());
    return Export(RealFileSystem(), *checkpoint,
                  {.format = format,
                   .tables = std::move(tables),
                   .output = output_,
                   .vocabulary = vocabulary,
                   .progress = progress_});
  }

  Scratch directory_;
  std::filesystem::path output_;
  std::map<std::string, Vectors> want_;
  std::function<bool(uint64_t, uint64_t)> progress_;
};

TEST_F(ExportTest, Safetensors) {
  const auto result = Run(ExportFormat::kSafetensors);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(ReadSafetensors(output_), want_);
  EXPECT_EQ(result->bytes, std::filesystem::file_size(output_));
  ASSERT_EQ(result->tables.size(), 2U);
  EXPECT_EQ(result->tables[0].rows, 2000U);
}

TEST_F(ExportTest, NpzThroughTheArchivesDirectory) {
  ASSERT_TRUE(Run(ExportFormat::kNpz).ok());
  const auto members = ReadZip(output_);
  ASSERT_EQ(members.size(), 4U);
  const std::string keys =
      NpyData(members.at("in.put.keys.npy"), "{'descr': '<i8', 'fortran_order': False, 'shape': (2000,), }");
  const std::string values = NpyData(members.at("in.put.values.npy"), "'shape': (2000, 3)");
  EXPECT_EQ(Rows(keys, values, 3), want_.at("in/put"));
  EXPECT_EQ(Rows(NpyData(members.at("bias.keys.npy"), "(5,)"), NpyData(members.at("bias.values.npy"), "(5, 1)"), 1),
            want_.at("bias"));
}

TEST_F(ExportTest, NpzThroughNumpy) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-numpy is not installed";
  ASSERT_TRUE(Run(ExportFormat::kNpz).ok());
  const std::string program =
      "import numpy, zipfile\n"
      "assert zipfile.ZipFile('" +
      output_.string() +
      "').testzip() is None\n"
      "m = numpy.load('" +
      output_.string() +
      "')\n"
      "k, v = m['in.put.keys'], m['in.put.values']\n"
      "assert k.dtype == numpy.int64 and v.dtype == numpy.float32 and v.shape == (2000, 3) and len(k) == 2000\n"
      "for i in range(2000): print(k[i], *[x.hex() for x in v[i].astype(float)])\n";
  ASSERT_TRUE(WriteFileAtomically(directory_.path() / "read.py", program).ok());
  FILE* pipe = ::popen(("/usr/bin/python3 " + (directory_.path() / "read.py").string()).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  Vectors rows;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::istringstream words(line.data());
    int64_t key = 0;
    words >> key;
    for (std::string word; words >> word;) rows[key].push_back(std::strtof(word.c_str(), nullptr));
  }
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(rows, want_.at("in/put"));
}

TEST_F(ExportTest, Word2vecTextWithAndWithoutAVocabulary) {
  const auto vocabulary = directory_.path() / "vocabulary.txt";
  {
    std::ofstream file(vocabulary);
    for (int i = 0; i < 2000; ++i) file << "word_" << i << "\n";
  }
  for (const bool named : {false, true}) {
    const auto result = Run(ExportFormat::kWord2vecText, {"in/put"}, named ? vocabulary : "");
    ASSERT_TRUE(result.ok()) << result.status();
    std::ifstream file(output_);
    int rows = 0, dim = 0;
    file >> rows >> dim;
    EXPECT_EQ(rows, 2000);
    EXPECT_EQ(dim, 3);
    Vectors found;
    std::string token;
    while (file >> token) {
      if (named) {
        ASSERT_TRUE(token.starts_with("word_"));
        token.erase(0, 5);
      }
      std::vector<float>& row = found[std::stoll(token)];
      for (int i = 0; i < 3; ++i) {
        std::string number;
        file >> number;
        row.push_back(std::strtof(number.c_str(), nullptr));
      }
    }
    EXPECT_EQ(found, want_.at("in/put")) << "numbers are written so that they are read back exactly";
  }
}

TEST_F(ExportTest, MistakesAreNamedAndNothingIsLeft) {
  const auto short_vocabulary = directory_.path() / "short.txt";
  std::ofstream(short_vocabulary) << "one\ntwo\n";
  const auto spaces = directory_.path() / "spaces.txt";
  {
    std::ofstream file(spaces);
    for (int i = 0; i < 2000; ++i) file << "two words\n";
  }
  struct Case {
    const char* name;
    ExportFormat format;
    std::vector<std::string> tables;
    std::filesystem::path vocabulary;
    const char* want;
  };
  const Case kTable[] = {
      {"a table that is not there", ExportFormat::kNpz, {"inptu"}, "", "it has 'in/put', 'bias'"},
      {"text of two tables", ExportFormat::kWord2vecText, {}, "", "choose one with --table"},
      {"a vocabulary for numbers", ExportFormat::kNpz, {}, "v", "word2vec-text only"},
      {"a vocabulary that is not there", ExportFormat::kWord2vecText, {"bias"}, "/absent", "/absent"},
      {"a vocabulary of another model", ExportFormat::kWord2vecText, {"in/put"}, short_vocabulary, "has 2 tokens"},
      {"tokens with white space", ExportFormat::kWord2vecText, {"bias"}, spaces, "white space"},
  };
  for (const Case& test : kTable) {
    const Status status = Run(test.format, test.tables, test.vocabulary).status();
    EXPECT_FALSE(status.ok()) << test.name;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(test.want)) << test.name;
    EXPECT_FALSE(std::filesystem::exists(output_)) << test.name;
    EXPECT_FALSE(std::filesystem::exists(output_.string() + ".part")) << test.name;
  }
  EXPECT_FALSE(ParseExportFormat("onnx").ok());
}

TEST_F(ExportTest, ProgressRunsToTheEndAndCanEndIt) {
  uint64_t last = 0, total = 0;
  progress_ = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    last = done, total = all;
    return true;
  };
  for (const ExportFormat format : {ExportFormat::kSafetensors, ExportFormat::kNpz}) {
    last = 0;
    ASSERT_TRUE(Run(format).ok());
    EXPECT_EQ(last, total);
  }
  last = 0;
  ASSERT_TRUE(Run(ExportFormat::kWord2vecText, {"bias"}).ok());
  EXPECT_EQ(last, total);
  progress_ = [](uint64_t, uint64_t) { return false; };
  std::filesystem::remove(output_);
  EXPECT_EQ(Run(ExportFormat::kNpz).status().code(), StatusCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(output_));
}

}  // namespace
}  // namespace attune::ps::export_test
