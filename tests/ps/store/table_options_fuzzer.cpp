// Headers of table files, which carry every option of a table: whatever the bytes, they are refused with a message or
// give a table that works. Moderate options must not produce values that are not finite.
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "ps/store/optimizer.h"
#include "ps/store/table_file_format.h"
#include "ps/store/table_options.h"
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

}  // namespace
}  // namespace attune::ps

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  using namespace attune::ps;
  attune::Random random(seed);
  TableFileHeader header{.job_id = "job", .spec = {.name = "embedding", .options = {}}, .row_count = random.Next()};
  TableOptions& options = header.spec.options;
  options.dim = static_cast<uint32_t>(1 + random.Below(100));
  Emplace(options.optimizer, random.Below(std::variant_size_v<Optimizer>));
  Emplace(options.initializer, random.Below(std::variant_size_v<Initializer>));
  options.rows_max = random.Below(5);
  options.value_type = static_cast<ValueType>(random.Below(3));
  options.non_finite_gradients = static_cast<NonFiniteGradients>(random.Below(2));
  if (!std::holds_alternative<Ftrl>(options.optimizer)) {
    options.schedule = {static_cast<LearningRateDecay>(random.Below(4)), random.Below(3), 1 + random.Below(3), 0.5F};
  }
  const std::string bytes = EncodeHeader(header);
  return {bytes.begin(), bytes.end()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  const auto header = DecodeHeader({reinterpret_cast<const char*>(data), size});
  if (!header.ok()) {
    ATTUNE_CHECK(!attune::Message(header.status()).empty()) << header.status();
    return 0;
  }
  const auto again = DecodeHeader(EncodeHeader(*header));
  ATTUNE_CHECK(again.ok() && again->spec == header->spec) << Describe(header->spec.options.optimizer);
  UseTable(header->spec);
  return 0;
}
