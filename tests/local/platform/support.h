// Waiting for conditions with a deadline, temporary directories, and looking at processes.
#pragma once

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace attune::local::testing {

// True as soon as `condition` holds; false after 20 seconds.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    poll(nullptr, 0, 5);
  }
  return condition();
}

// Living processes (zombies left out) that carry `marker` in their environment.
inline std::vector<int> ProcessesWith(const std::string& marker) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (text.find(marker) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

inline std::string Contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace attune::local::testing
