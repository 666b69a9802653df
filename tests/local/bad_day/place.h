// A directory in which a case happens, with what must be there, and what is left of it afterwards.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/scratch.h"

namespace attune {

struct GivenFile {
  std::string path;  // below the directory that the program is started in
  std::string content;
  bool executable = false;
};

std::string ContentOf(const std::filesystem::path& file);

class Place {
 public:
  Place() = default;
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::filesystem::path& path() const { return scratch_.path(); }
  // Nothing of the user's own is read or written.
  std::map<std::string, std::string> Environment() const;
  // "full": a file system without space. False without the right to mount one.
  bool MakeFullDisk();
  void Write(const GivenFile& file) const;
  // Processes that were started here: "4711 attune".
  std::vector<std::string> Processes() const;
  void KillEverything() const;

 private:
  const Scratch scratch_;
  bool mounted_ = false;
};

}  // namespace attune
