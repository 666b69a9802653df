#include "ps/checkpoint/format/crc32c.h"

#include <array>
#include <cstring>

namespace attune::ps {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// "Slicing by 8": table k gives the effect of a byte that stands k bytes before the end of a word.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < 8; ++k) {
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

uint64_t Word(const char* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t HardwareCrc32c(uint32_t crc, std::string_view bytes) {
  uint64_t state = ~crc;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) state = __builtin_ia32_crc32di(state, Word(at));
  auto narrow = static_cast<uint32_t>(state);
  for (; left > 0; --left, ++at) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
bool HasInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#else
uint32_t HardwareCrc32c(uint32_t crc, std::string_view bytes) { return PortableCrc32c(crc, bytes); }
bool HasInstruction() { return false; }
#endif

}  // namespace

uint32_t PortableCrc32c(uint32_t crc, std::string_view bytes) {
  uint32_t state = ~crc;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const uint64_t word = Word(at) ^ state;  // little-endian: the state meets the first four bytes
    uint32_t next = 0;
    for (size_t i = 0; i < 8; ++i) next ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
    state = next;
  }
  for (; left > 0; --left, ++at) state = (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(*at)) & 0xFF];
  return ~state;
}

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
  static const bool has_instruction = HasInstruction();
  return has_instruction ? HardwareCrc32c(crc, bytes) : PortableCrc32c(crc, bytes);
}

}  // namespace attune::ps
