// A target with a planted mistake behind a magic number: if the driver did not find it, no other target's silence would
// mean anything. Its test passes when it fails.
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/fuzz_driver.h"

namespace {
constexpr uint8_t kMagic[] = {'A', 'T', 'T', 'U'};
}

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  std::vector<uint8_t> bytes(std::begin(kMagic), std::end(kMagic));
  bytes.resize(8 + seed % 8);
  bytes[4] = 3;  // a length that fits
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8 || std::memcmp(data, kMagic, sizeof kMagic) != 0) return 0;
  if (data[4] > size) std::abort();  // the mistake: a length that is believed
  return 0;
}
