// Manifests and filter records from any bytes. Damaged examples get a checksum that fits half the time, because
// otherwise nothing behind the checksum would be reached. What is understood is written and understood again.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "ps/checkpoint/format/crc32c.h"
#include "ps/checkpoint/format/filter_file.h"
#include "ps/checkpoint/format/manifest.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/formulas/table_options.h"
#include "tests/fuzz/fuzz_driver.h"

namespace attune::ps {
namespace {

// A working table of these options; rows wider than that prove nothing more.
constexpr uint32_t kDimMax = 64;

// Whether the options are such as people choose; enormous rates may well end in infinity and worse.
bool AreModerate(const TableOptions& options) {
  bool moderate = true;
  const auto check = [&](const auto& option) {
    ForEachField(option, [&](const char*, const auto& value) {
      const double size = std::fabs(static_cast<double>(value));
      moderate = moderate && (size == 0 || (size > 1e-9 && size < 1e6));
    });
  };
  std::visit(check, options.optimizer);
  std::visit(check, options.initializer);
  return moderate;
}

// Options that are accepted give a table that works; moderate ones no values that are not finite.
void UseTable(TableSpec spec) {
  spec.options.dim = std::min(spec.options.dim, kDimMax);
  auto store = TableStore::Create(spec);
  ATTUNE_CHECK(store.ok()) << store.status();
  const std::vector<Key> keys = {1, 2, 3};
  std::vector<float> rows(keys.size() * spec.options.dim);
  (*store)->Pull(keys, rows);
  for (const float value : rows) ATTUNE_CHECK(std::isfinite(value)) << Describe(spec.options.initializer);
  const std::vector<float> gradients(rows.size(), 0.25F);
  for (uint64_t step = 0; step < 3; ++step) {
    const auto pushed = (*store)->Push(keys, gradients, {.step = step});
    ATTUNE_CHECK(pushed.ok() || pushed.status().code() == StatusCode::kResourceExhausted) << pushed.status();
  }
  (*store)->ForEachRow([&](const RowView& row) {
    ATTUNE_CHECK(row.state.size() == StateFloats(spec.options.optimizer, spec.options.dim)) << row.state.size();
    if (!AreModerate(spec.options)) return;
    for (const float value : row.values) ATTUNE_CHECK(std::isfinite(value)) << Describe(spec.options.optimizer);
  });
}

TableOptions SomeOptions(Random& random) {
  TableOptions options{.dim = static_cast<uint32_t>(1 + random.Below(100))};
  Emplace(options.optimizer, random.Below(std::variant_size_v<Optimizer>));
  Emplace(options.initializer, random.Below(std::variant_size_v<Initializer>));
  options.rows_max = random.Below(5);
  options.value_type = static_cast<ValueType>(random.Below(3));
  options.non_finite_gradients = static_cast<NonFiniteGradients>(random.Below(2));
  if (!std::holds_alternative<Ftrl>(options.optimizer)) {
    options.schedule = {static_cast<LearningRateDecay>(random.Below(4)), random.Below(3), 1 + random.Below(3), 0.5F};
  }
  return options;
}

Manifest Some(Random& random) {
  Manifest manifest{.number = 1 + random.Below(9), .base = random.Below(9), .job_uid = "job"};
  manifest.cut = {.synchronization = "ssp:4",
                  .clock = random.Next(),
                  .data_sets = {{.name = "train", .items = 100, .done = {{0, 0, 50}}, .open = {{0, 50, 60, 55}}}}};
  manifest.tables.push_back({.spec = {"in/out", SomeOptions(random)},
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
  for (size_t i = 0; i < manifest->tables.size(); ++i) {
    ATTUNE_CHECK(twice->tables[i].spec == manifest->tables[i].spec) << again;
    UseTable(manifest->tables[i].spec);
  }
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
          : ps::EncodeFilterRecords(7, {.origins = {{1, 2}},
                                        .pushes = {{.origin = 1, .sequence = 3, .keys = {4, 5}, .positions = {0, 1}}}});
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
