// A place for files in memory, whose disk is as large as a test says.
#pragma once

#include <map>
#include <string>

#include "base/sha256.h"
#include "cli/pull/copy_target.h"

namespace attune::cli {

class MemoryTarget final : public CopyTarget {
 public:
  std::map<std::string, std::string> files;
  uint64_t room = UINT64_MAX;

  StatusOr<std::optional<uint64_t>> SizeOf(const std::string& path) override {
    const auto found = files.find(path);
    return found == files.end() ? std::optional<uint64_t>() : std::optional<uint64_t>(found->second.size());
  }
  StatusOr<std::string> Sum(const std::string& path, uint64_t offset, uint64_t bytes) override {
    return Sha256Hex(std::string_view(files.at(path)).substr(offset, bytes));
  }
  StatusOr<std::unique_ptr<TargetFile>> Open(const std::string& path, uint64_t keep) override {
    files[path].resize(keep);
    return std::make_unique<File>(*this, files[path]);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    files[to] = files.at(from);
    files.erase(from);
    return OkStatus();
  }
  Status Remove(const std::string& path) override {
    files.erase(path);
    return OkStatus();
  }

 private:
  class File final : public TargetFile {
   public:
    File(MemoryTarget& target, std::string& content) : target_(target), content_(content) {}
    Status Append(std::string_view bytes) override {
      uint64_t used = bytes.size();
      for (const auto& [path, content] : target_.files) used += content.size();
      if (used > target_.room) return Error(StatusCode::kResourceExhausted, "No space left on device");
      content_ += bytes;
      return OkStatus();
    }
    Status Finish() override { return OkStatus(); }

   private:
    MemoryTarget& target_;
    std::string& content_;
  };
};

}  // namespace attune::cli
