// A directory of a test's own with files in it, removed at the end.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"

namespace attune {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-test.XXXXXX").string();
    ATTUNE_CHECK(::mkdtemp(name.data()) != nullptr) << "cannot make " << name << ": " << std::strerror(errno);
    path_ = std::filesystem::canonical(name);
  }
  ~Scratch() {
    std::error_code error;  // a process that still runs may write to it
    std::filesystem::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void Write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "(no file)";
  }

 private:
  std::filesystem::path path_;
};

}  // namespace attune
