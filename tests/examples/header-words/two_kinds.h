// Headers of two kinds for tests: those of sockets and those of strings, each with most of the names of its kind, and
// some names that both have.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/scratch.h"

namespace attune::header_words {

inline constexpr int kHeadersOfAKind = 20;
inline constexpr int kNamesOfAKind = 24;

inline std::vector<std::string> NamesOf(const std::string& kind) {
  std::vector<std::string> names;
  for (int i = 0; i < kNamesOfAKind; ++i) names.push_back(kind + "_name" + std::to_string(i));
  return names;
}

// As "socket/h7.h" and "string/h7.h". Each has three quarters of the names of its kind, once to three times.
class TwoKinds {
 public:
  TwoKinds() {
    Random random(7);
    for (const std::string kind : {"socket", "string"}) {
      for (int header = 0; header < kHeadersOfAKind; ++header) Write(kind, header, random);
    }
  }
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  void Write(const std::string& kind, int header, Random& random) const {
    std::string text = "int size_of_both; bool valid_in_both;\n";
    for (const std::string& name : NamesOf(kind)) {
      if (!random.Chance(0.75)) continue;
      for (uint64_t times = 1 + random.Below(3); times > 0; --times) text += name + ";\n";
    }
    directory_.Write(kind + "/h" + std::to_string(header) + ".h", text);
  }

  const Scratch directory_;
};

}  // namespace attune::header_words
