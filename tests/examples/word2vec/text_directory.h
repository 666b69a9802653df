// A temporary directory of text for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace attune::word2vec {

class TextDirectory {
 public:
  TextDirectory() {
    std::string name = testing::TempDir() + "word2vec_test.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TextDirectory() { std::filesystem::remove_all(path_); }
  TextDirectory(const TextDirectory&) = delete;
  TextDirectory& operator=(const TextDirectory&) = delete;

  void Add(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace attune::word2vec
