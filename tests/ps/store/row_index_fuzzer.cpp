// Operations on a row index, read off the input, against std::unordered_map. Keys come from a small set, and part of
// them share a hash prefix, so that long chains, wraps and gaps are frequent.
#include <unordered_map>

#include "base/check.h"
#include "ps/store/row_index.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"

namespace attune::ps {
namespace {

// The key whose hash this is: SplitMix64 undone. Lets the input choose hashes.
Key KeyOfHash(uint64_t hash) {
  const auto unshift = [](uint64_t x, int shift) {
    for (uint64_t y = x >> shift; y != 0; y >>= shift) x ^= y;
    return x;
  };
  uint64_t x = unshift(hash, 31);
  x *= 0x319642B2D24D8EC3ULL;  // inverse of 0x94D049BB133111EB
  x = unshift(x, 27);
  x *= 0x96DE1B173F119089ULL;  // inverse of 0xBF58476D1CE4E5B9
  x = unshift(x, 30);
  return x - 0x9E3779B97F4A7C15ULL;
}

Key TakeKey(fuzz::Input& input) {
  const auto number = input.Take<uint16_t>();
  if (number % 4 == 0) return number;
  // The high bits choose part and bucket: few different ones.
  return KeyOfHash((uint64_t{number % 8U} << 58) | (uint64_t{~0U} << 26) | number / 8);
}

}  // namespace
}  // namespace attune::ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  attune::fuzz::Input input(data, size);
  RowIndex index;
  std::unordered_map<Key, uint32_t> twin;
  uint32_t slot = 0;
  while (!input.empty()) {
    const Key key = TakeKey(input);
    const uint64_t hash = RowIndex::Hash(key);
    const auto found = twin.find(key);
    const uint32_t want = found == twin.end() ? RowIndex::kAbsent : found->second;
    ATTUNE_CHECK(index.Find(key, hash) == want) << "key " << key;
    if (input.Take<uint8_t>() % 3 == 0) {
      ATTUNE_CHECK(index.Erase(key, hash) == want) << "key " << key;
      twin.erase(key);
    } else if (want == RowIndex::kAbsent) {
      index.Insert(key, hash, slot);
      twin[key] = slot++;
    }
  }
  size_t visited = 0;
  index.ForEach([&](Key key, uint32_t at) {
    const auto found = twin.find(key);
    ATTUNE_CHECK(found != twin.end() && found->second == at) << "key " << key;
    ++visited;
  });
  ATTUNE_CHECK(visited == twin.size()) << visited << " of " << twin.size();
  for (const auto& [key, at] : twin) ATTUNE_CHECK(index.Find(key, RowIndex::Hash(key)) == at) << "key " << key;
  return 0;
}
