// A small package list with something to learn in it.
#pragma once

#include <string>

#include "base/random.h"

namespace attune::package_graph {

// Packages of four kinds; each depends on libraries of its kind, recommends tools of its kind, and lies in its section.
inline std::string SmallList(int packages = 120, uint64_t seed = 1) {
  Random random(seed);
  std::string list;
  for (int i = 0; i < packages; ++i) {
    const std::string kind = std::to_string(i % 4);
    const auto some = [&](const char* what, uint64_t of) {
      return what + kind + "-" + std::to_string(random.Below(of));
    };
    list += "Package: program" + std::to_string(i) + "\nSection: s" + kind + "\n";
    list += "Depends: " + some("lib", 8) + ", " + some("lib", 8) + " (>= 1), " + some("lib", 8) + "\n";
    list += "Recommends: " + some("tool", 6) + " | " + some("tool", 6) + "\nTag: kind::" + kind + "\n\n";
  }
  return list;
}

}  // namespace attune::package_graph
