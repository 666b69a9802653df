// Manifests and filter records from any bytes. Damaged examples get a checksum that fits half the time, because
// otherwise nothing behind the checksum would be reached. What is understood is written and understood again.
#include <cstdio>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "ps/checkpoint/crc32c.h"
#include "ps/checkpoint/filter_file.h"
#include "ps/checkpoint/manifest.h"
#include "tests/fuzz/fuzz_driver.h"

namespace attune::ps {
namespace {

Manifest Some(Random& random) {
  Manifest manifest{.number = 1 + random.Below(9), .base = random.Below(9), .job_uid = "job"};
  manifest.cut = {.synchronization = "ssp:4",
                  .clock = random.Next(),
                  .data_sets = {{.name = "train", .items = 100, .done = {{0, 0, 50}}, .open = {{0, 50, 60, 55}}}}};
  manifest.tables.push_back({.spec = {"in/out", {.dim = 4, .optimizer = Adagrad{}, .initializer = UniformInitializer{}}},
                             .files = {{.name = "00000001.t.0.rows", .checkpoint = 1, .rows = random.Next()}},
                             .rows = 4});
  return manifest;
}

std::string WithFittingChecksum(std::string text) {
  const size_t end = text.find('\n');
  if (end == std::string::npos) return text;
  const std::string rest = text.substr(end + 1);
  char line[64];
  std::snprintf(line, sizeof line, "{\"crc32c\": \"%08x\",\n", Crc32c(0, rest));
  return line + rest;
}

void ReadManifest(const std::string& text) {
  const StatusOr<Manifest> manifest = DecodeManifest(text);
  if (!manifest.ok()) return;
  const std::string again = EncodeManifest(*manifest);
  const StatusOr<Manifest> twice = DecodeManifest(again);
  ATTUNE_CHECK(twice.ok()) << twice.status() << again;
  ATTUNE_CHECK(EncodeManifest(*twice) == again) << again;
}

void ReadFilter(std::string bytes) {
  if (bytes.size() >= 4) {
    const uint32_t crc = Crc32c(0, std::string_view(bytes).substr(0, bytes.size() - 4));
    bytes.replace(bytes.size() - 4, 4, reinterpret_cast<const char*>(&crc), 4);
  }
  const StatusOr<FilterRecords> records = DecodeFilterRecords(7, bytes);
  if (!records.ok()) return;
  ATTUNE_CHECK(EncodeFilterRecords(7, *records) == bytes) << bytes.size() << " bytes";
}

}  // namespace
}  // namespace attune::ps

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  const std::string bytes =
      random.Chance(0.7)
          ? ps::EncodeManifest(ps::Some(random))
          : ps::EncodeFilterRecords(7, {.origins = {{1, 2}}, .pushes = {{.origin = 1, .sequence = 3, .keys = {4, 5}}}});
  return {bytes.begin(), bytes.end()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  ReadManifest(bytes);
  ReadManifest(WithFittingChecksum(bytes));
  ReadFilter(bytes);
  return 0;
}
