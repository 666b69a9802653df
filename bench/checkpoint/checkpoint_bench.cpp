// Checkpoints against plain write() and read() of as many bytes to the same directory, side by side, in MB/s.
//   bench_checkpoint --help
// Writing ends with a sync in both. Reading finds the files in the page cache in both. Loading also builds the store.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "ps/checkpoint/checkpoint_writer.h"
#include "ps/checkpoint/format/crc32c.h"
#include "ps/checkpoint/part_writer.h"
#include "ps/checkpoint/saved_table.h"

namespace attune::ps {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 5;
const TableSpec kSpec{"bench", {.dim = 64, .optimizer = Adagrad{}}};

double Best(const std::function<void()>& run, double& best) {
  const auto start = std::chrono::steady_clock::now();
  run();
  best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return best;
}

void PlainWrite(const fs::path& path, uint64_t bytes) {
  static const std::string buffer(1 << 20, 'x');
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  for (uint64_t left = bytes; left > 0;) {
    const ssize_t n = ::write(fd, buffer.data(), std::min<uint64_t>(left, buffer.size()));
    ATTUNE_CHECK(n > 0) << path;
    left -= static_cast<uint64_t>(n);
  }
  ATTUNE_CHECK(::fsync(fd) == 0 && ::close(fd) == 0) << path;
}

void PlainRead(const fs::path& path) {
  static std::string buffer(1 << 20, 'x');
  const int fd = ::open(path.c_str(), O_RDONLY);
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  ::close(fd);
}

std::unique_ptr<TableStore> Trained(uint64_t rows) {
  auto store = *TableStore::Create(kSpec);
  constexpr uint64_t kBatch = 256;
  std::vector<Key> keys(kBatch);
  std::vector<float> gradients(kBatch * kSpec.options.dim, 0.5F);
  for (uint64_t row = 0; row < rows; row += kBatch) {
    for (uint64_t i = 0; i < kBatch; ++i) keys[i] = (row + i) * 7919;
    ATTUNE_CHECK(store->Push(keys, gradients).ok()) << row;
  }
  return store;
}

void Run(const fs::path& parent, uint64_t rows) {
  const fs::path directory = parent / ("attune-bench-" + std::to_string(::getpid()));
  fs::create_directories(directory);
  const SystemTime time;
  const auto store = Trained(rows);
  double write = 1e9, plain_write = 1e9, load = 1e9, merge = 1e9, plain_read = 1e9;
  uint64_t bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    CheckpointWriter writer(RealFileSystem(), time, {.job_uid = "bench", .retained = 1});
    Best(
        [&] {
          const CheckpointPlan plan = *writer.Begin(directory);
          StoreRowSource source(*store);
          Throttle throttle(0, time);
          const auto part = WritePart(
              RealFileSystem(), {.directory = directory, .checkpoint = plan.number, .job_uid = "bench", .part = "0"},
              {&source}, {}, throttle);
          ATTUNE_CHECK(part.ok()) << part.status();
          bytes = part->tables[0].file.bytes;
          const Status status = writer.Commit(
              plan,
              {.tables = {{.spec = kSpec, .rows = rows, .files = {part->tables[0].file}}}, .filters = {}, .cut = {}});
          ATTUNE_CHECK(status.ok()) << status;
        },
        write);
    Best([&] { PlainWrite(directory / ("plain" + std::to_string(round)), bytes); }, plain_write);
    const auto opened = OpenCheckpoint(RealFileSystem(), directory);
    ATTUNE_CHECK(opened.ok()) << opened.status();
    Best(
        [&] {
          const auto loaded = *TableStore::Create(kSpec);
          const auto table = SavedTable::Open(RealFileSystem(), *opened, "bench");
          const auto count = table->Load(HashRanges::All(), *loaded);
          ATTUNE_CHECK(count.ok() && *count == store->row_count()) << count.status();
        },
        load);
    Best(
        [&] {
          const auto table = SavedTable::Open(RealFileSystem(), *opened, "bench");
          RowMerge all = table->Rows(HashRanges::All());
          StoredRow row;
          while (*all.Next(row)) {
          }
        },
        merge);
    Best([&] { PlainRead(directory / ("plain" + std::to_string(round))); }, plain_read);
    fs::remove(directory / ("plain" + std::to_string(round)));
  }
  double crc = 1e9;
  const std::string block(256 << 10, 'x');
  Best(
      [&] {
        uint32_t sum = 0;
        for (uint64_t done = 0; done < bytes; done += block.size()) sum = Crc32c(sum, block);
        ATTUNE_CHECK(sum != 1) << sum;
      },
      crc);
  fs::remove_all(directory);
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("%.0f MB, %llu rows of dim 64 with Adagrad's state; best of %d rounds\n", megabytes,
              static_cast<unsigned long long>(store->row_count()), kRounds);
  std::printf("write: checkpoint %6.0f MB/s, write() %6.0f MB/s, ratio %.2f\n", megabytes / write,
              megabytes / plain_write, plain_write / write);
  std::printf("load:  into a store %6.0f MB/s, read() %6.0f MB/s, ratio %.2f\n", megabytes / load,
              megabytes / plain_read, plain_read / load);
  std::printf("read:  checked and merged %6.0f MB/s, read() %6.0f MB/s, ratio %.2f\n", megabytes / merge,
              megabytes / plain_read, plain_read / merge);
  std::printf("checksum alone %.0f MB/s\n", megabytes / crc);
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  std::filesystem::path directory = std::filesystem::temp_directory_path();
  uint64_t rows = 500'000;
  CLI::App app("Checkpoints against plain write() and read() of as many bytes to the same directory");
  app.add_option("directory", directory, "Where")->check(CLI::ExistingDirectory)->capture_default_str();
  app.add_option("rows", rows, "Rows; 500,000 are 264 MB")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  attune::ps::Run(directory, rows);
  return 0;
}
