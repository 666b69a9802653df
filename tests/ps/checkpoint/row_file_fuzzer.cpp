// Files of rows from any bytes, opened and merged. The checksums of header and directory are made to fit, so that what
// they say is believed as far as it can be: sizes must still be bounded by the file, reads stay inside it.
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "ps/checkpoint/format/crc32c.h"
#include "ps/checkpoint/format/row_file_reader.h"
#include "ps/checkpoint/format/row_file_writer.h"
#include "ps/checkpoint/row_merge.h"
#include "tests/fuzz/fuzz_driver.h"

namespace attune::ps {
namespace {

// Files that are strings.
class OneFile final : public FileSystem {
 public:
  explicit OneFile(std::string bytes = "") : bytes_(std::move(bytes)) {}
  std::string& bytes() { return bytes_; }

  StatusOr<std::unique_ptr<WritableFile>> Create(const std::filesystem::path&) override {
    class File final : public WritableFile {
     public:
      explicit File(std::string& bytes) : bytes_(bytes) {}
      Status Append(std::string_view more) override {
        bytes_.append(more);
        return OkStatus();
      }
      Status Sync() override { return OkStatus(); }
      Status Close() override { return OkStatus(); }

     private:
      std::string& bytes_;
    };
    return std::make_unique<File>(bytes_);
  }
  StatusOr<std::unique_ptr<ReadableFile>> Open(const std::filesystem::path&) override {
    class File final : public ReadableFile {
     public:
      explicit File(const std::string& bytes) : bytes_(bytes) {}
      uint64_t size() const override { return bytes_.size(); }
      Status ReadAt(uint64_t offset, std::span<char> to) const override {
        ATTUNE_CHECK(offset <= bytes_.size() && to.size() <= bytes_.size() - offset) << offset << "+" << to.size();
        std::memcpy(to.data(), bytes_.data() + offset, to.size());
        return OkStatus();
      }

     private:
      const std::string& bytes_;
    };
    return std::make_unique<File>(bytes_);
  }
  StatusOr<std::vector<std::string>> List(const std::filesystem::path&) override { return std::vector<std::string>(); }
  Status Rename(const std::filesystem::path&, const std::filesystem::path&) override { return OkStatus(); }
  Status Remove(const std::filesystem::path&) override { return OkStatus(); }
  Status SyncDirectory(const std::filesystem::path&) override { return OkStatus(); }
  Status CreateDirectories(const std::filesystem::path&) override { return OkStatus(); }

 private:
  std::string bytes_;
};

void Put32(std::string& bytes, size_t at, uint32_t value) { std::memcpy(&bytes[at], &value, sizeof value); }

void FitChecksums(std::string& bytes) {
  const StatusOr<uint64_t> preamble = PreambleBytes(std::string_view(bytes).substr(0, kPreambleStartBytes));
  if (!preamble.ok() || *preamble + kRowFileTrailerBytes > bytes.size()) return;
  Put32(bytes, *preamble - 4, Crc32c(0, std::string_view(bytes).substr(0, *preamble - 4)));
  const size_t digest = bytes.size() - 12;
  uint64_t directory = 0;
  std::memcpy(&directory, &bytes[bytes.size() - kRowFileTrailerBytes], sizeof directory);
  if (directory > digest) return;
  const uint32_t crc = Crc32c(0, std::string_view(bytes).substr(0, *preamble));
  Put32(bytes, digest, Crc32c(crc, std::string_view(bytes).substr(directory, digest - directory)));
}

void Read(std::string bytes) {
  OneFile files(std::move(bytes));
  const auto file = RowFileReader::Open(files, "f");
  if (!file.ok()) return;
  RowMerge merge({file->get()}, HashRanges::All());
  StoredRow row;
  uint64_t rows = 0;
  for (;;) {
    const StatusOr<bool> more = merge.Next(row);
    if (!more.ok()) {
      ATTUNE_CHECK(more.status().code() == StatusCode::kDataLoss) << more.status();
      break;
    }
    if (!*more) break;
    ++rows;
    ATTUNE_CHECK(row.values.size() == (*file)->header().value_bytes) << row.values.size();
  }
  ATTUNE_CHECK(rows <= (*file)->directory().row_count) << rows;
}

}  // namespace
}  // namespace attune::ps

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  using namespace attune::ps;
  Random random(seed);
  OneFile files;
  const RowFileHeader header{.checkpoint = 3, .job_uid = "j", .table = "t", .value_bytes = 4, .state_bytes = 4};
  const auto writer = *RowFileWriter::Create(files, "f", header, {.run_bytes = 1 + random.Below(400)});
  for (uint64_t i = random.Below(30); i > 0; --i) {
    const bool erased = random.Chance(0.1);
    (void)writer->Add({.key = random.Below(20),
                       .row_version = random.Below(5),
                       .erased = erased,
                       .values = erased ? "" : "vvvv",
                       .state = erased ? "" : "ssss"});
  }
  (void)writer->Finish();
  return {files.bytes().begin(), files.bytes().end()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  FitChecksums(bytes);
  Read(std::move(bytes));
  return 0;
}
