// Feeds a fuzz target seeded random inputs. Usage: see fuzz_driver.h. Input i depends on seed + i and the corpus alone,
// so the number printed at a crash replays it; the input itself is kept as well.
#include "tests/fuzz/fuzz_driver.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

char keep_as[512];  // a file name; empty: not kept
const std::vector<uint8_t>* running = nullptr;

void PrintReplay() {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, replay, std::strlen(replay));
  if (keep_as[0] == 0 || running == nullptr) return;
  const int file = open(keep_as, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  written = write(file, running->data(), running->size());
  close(file);
}

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

using Corpus = std::vector<std::vector<uint8_t>>;

std::vector<uint8_t> InputOf(uint64_t seed, const Corpus& corpus) {
  Random random(seed);
  if (!corpus.empty() && random.Chance(0.2)) {
    std::vector<uint8_t> bytes = corpus[random.Below(corpus.size())];
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) Damage(bytes, random);
    return bytes;
  }
  if (Example == nullptr || random.Chance(0.1)) return RandomBytes(random);
  std::vector<uint8_t> bytes = Example(random.Next());
  if (random.Chance(0.1)) return bytes;  // undamaged
  for (uint64_t n = 1 + random.Below(4); n > 0; --n) Damage(bytes, random);
  return bytes;
}

// On the heap and of exactly this size, so that the address sanitizer sees a read beyond its end.
void RunOne(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  running = &exact;
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  running = nullptr;
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

// In the order of their names, so that a seed means the same everywhere.
std::vector<std::string> FilesOf(const std::string& directory) {
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

int Main(int argc, char** argv) {
  uint64_t runs = 2000;
  std::chrono::seconds seconds{0};
  std::string corpus_directory, keep_directory;
  const char* from_environment = std::getenv("ATTUNE_TEST_SEED");
  uint64_t seed = from_environment != nullptr ? std::strtoull(from_environment, nullptr, 10) : std::random_device{}();
  std::vector<const char*> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::chrono::seconds(std::strtoull(argv[++i], nullptr, 10));
      runs = UINT64_MAX;
    } else if (argument == "--corpus" && i + 1 < argc) {
      corpus_directory = argv[++i];
    } else if (argument == "--keep" && i + 1 < argc) {
      keep_directory = argv[++i];
    } else if (argument.starts_with("-")) {
      std::fprintf(stderr,
                   "usage: %s [--runs N | --seconds N] [--seed S] [--corpus DIRECTORY] [--keep DIRECTORY] [FILE...]\n",
                   argv[0]);
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
  Corpus corpus;
  for (const std::string& file : corpus_directory.empty() ? std::vector<std::string>() : FilesOf(corpus_directory)) {
    if (const int result = RunFile(argv[0], file.c_str()); result != 0) return result;
    std::ifstream bytes(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(bytes), std::istreambuf_iterator<char>());
  }
  std::printf("seed %llu, %zu files of a corpus\n", static_cast<unsigned long long>(seed), corpus.size());
  std::fflush(stdout);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  const auto end = std::chrono::steady_clock::now() + seconds;
  uint64_t i = 0;
  for (; i < runs && (seconds.count() == 0 || std::chrono::steady_clock::now() < end); ++i) {
    const std::string with = corpus_directory.empty() ? "" : " --corpus " + corpus_directory;
    std::snprintf(replay, sizeof replay, "\nfailing input: replay with %s --seed %llu --runs 1%s\n", argv[0],
                  static_cast<unsigned long long>(seed + i), with.c_str());
    if (!keep_directory.empty()) {
      std::snprintf(keep_as, sizeof keep_as, "%s/%s-%llu", keep_directory.c_str(), name.c_str(),
                    static_cast<unsigned long long>(seed + i));
    }
    RunOne(InputOf(seed + i, corpus));
  }
  std::printf("%llu inputs, no finding\n", static_cast<unsigned long long>(i));
  return 0;
}

}  // namespace
}  // namespace attune::fuzz

int main(int argc, char** argv) { return attune::fuzz::Main(argc, argv); }
