// Feeds a fuzz target seeded random inputs. Usage: see fuzz_driver.h. Input i depends on seed + i alone, so the number
// printed at a crash replays it.
#include "tests/fuzz/fuzz_driver.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/random.h"

// Of the sanitizers' runtime, when there is one: they end the process themselves.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace attune::fuzz {
namespace {

constexpr size_t kBytesMax = 4096;
char replay[4352];  // what a crash prints; written before each input, because a signal handler may not format

void PrintReplay() { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, replay, std::strlen(replay)); }

void OnCrash(int signal) {
  PrintReplay();
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void WatchForCrashes() {
  ::signal(SIGABRT, OnCrash);
  if (__sanitizer_set_death_callback != nullptr) return __sanitizer_set_death_callback(PrintReplay);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(signal, OnCrash);
}

std::vector<uint8_t> RandomBytes(Random& random) {
  std::vector<uint8_t> bytes(random.Below(random.Chance(0.5) ? 64 : kBytesMax));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return bytes;
}

// Numbers that sizes and counts go wrong at.
uint64_t NotableNumber(Random& random) {
  constexpr uint64_t kNotable[] = {0,      1,          0x7F,       0x80,       0xFF,        0x7FFF,
                                   0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, ~uint64_t{0}};
  return kNotable[random.Below(std::size(kNotable))] + random.Below(3) - 1;
}

void Damage(std::vector<uint8_t>& bytes, Random& random) {
  const size_t at = bytes.empty() ? 0 : random.Below(bytes.size());
  const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
  switch (random.Below(7)) {
    case 0:
      if (!bytes.empty()) bytes[at] ^= static_cast<uint8_t>(1U << random.Below(8));
      break;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<uint8_t>(random.Next());
      break;
    case 2: {  // a number
      const uint64_t number = NotableNumber(random);
      const size_t width = std::min(bytes.size() - at, size_t{1} << random.Below(4));
      if (width > 0) std::memcpy(bytes.data() + at, &number, width);
      break;
    }
    case 3:  // cut off
      bytes.resize(at);
      break;
    case 4:  // a piece is missing
      bytes.erase(place, place + static_cast<ptrdiff_t>(std::min<size_t>(bytes.size() - at, 1 + random.Below(16))));
      break;
    case 5: {  // a piece comes twice
      const std::vector<uint8_t> piece(
          place, place + static_cast<ptrdiff_t>(std::min<size_t>(bytes.size() - at, 1 + random.Below(64))));
      bytes.insert(place, piece.begin(), piece.end());
      break;
    }
    default:  // something follows
      for (uint64_t n = 1 + random.Below(16); n > 0; --n) bytes.push_back(static_cast<uint8_t>(random.Next()));
  }
}

std::vector<uint8_t> InputOf(uint64_t seed) {
  Random random(seed);
  if (Example == nullptr || random.Chance(0.1)) return RandomBytes(random);
  std::vector<uint8_t> bytes = Example(random.Next());
  if (random.Chance(0.1)) return bytes;  // undamaged
  for (uint64_t n = 1 + random.Below(4); n > 0; --n) Damage(bytes, random);
  return bytes;
}

// On the heap and of exactly this size, so that the address sanitizer sees a read beyond its end.
void RunOne(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

int RunFile(const char* program, const char* path) {
  std::snprintf(replay, sizeof replay, "\nfailing input: replay with %s %s\n", program, path);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot read %s\n", program, path);
    return 2;
  }
  RunOne({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  return 0;
}

int Main(int argc, char** argv) {
  uint64_t runs = 2000;
  const char* from_environment = std::getenv("ATTUNE_TEST_SEED");
  uint64_t seed = from_environment != nullptr ? std::strtoull(from_environment, nullptr, 10) : std::random_device{}();
  std::vector<const char*> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument.starts_with("-")) {
      std::fprintf(stderr, "usage: %s [--runs N] [--seed S] [FILE...]\n", argv[0]);
      return 2;
    } else {
      files.push_back(argv[i]);
    }
  }
  WatchForCrashes();
  for (const char* file : files) {
    if (const int result = RunFile(argv[0], file); result != 0) return result;
  }
  if (!files.empty()) return 0;
  std::printf("%llu inputs from seed %llu\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (uint64_t i = 0; i < runs; ++i) {
    std::snprintf(replay, sizeof replay, "\nfailing input: replay with %s --seed %llu --runs 1\n", argv[0],
                  static_cast<unsigned long long>(seed + i));
    RunOne(InputOf(seed + i));
  }
  return 0;
}

}  // namespace
}  // namespace attune::fuzz

int main(int argc, char** argv) { return attune::fuzz::Main(argc, argv); }
