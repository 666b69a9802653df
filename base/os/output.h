// Where a result goes that a user asked for by a name, as in `--to NAME`: the one mechanism of all commands that write.
// A regular file is replaced whole or not at all; its mode stays, and a symbolic link still leads to it. Devices
// and pipes are written to, never replaced. "-", and any name that leads there, is standard output. Directories,
// sockets and disks are refused.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/file_descriptor.h"
#include "base/status.h"

namespace attune {

struct OutputPlace {
  enum class Kind { kFile, kStream, kStandardOutput } kind = Kind::kFile;
  std::filesystem::path path;  // of a file: with symbolic links followed
  unsigned mode = 0644;        // of a file: the permission it has, or is to have
};

// Errors are those that writing would meet, as far as they can be known before: call it before long work.
StatusOr<OutputPlace> FindOutputPlace(const std::string& name);

// A device, a pipe or standard output, written front to back.
class OutputStream {
 public:
  // Of a place that is no file. Blocks at a pipe until it is read.
  static StatusOr<std::unique_ptr<OutputStream>> Open(const OutputPlace& place);

  Status Write(std::string_view bytes);
  Status Close();  // once; some devices report a failed write only here

 private:
  OutputStream(FileDescriptor descriptor, std::string name)
      : descriptor_(std::move(descriptor)), name_(std::move(name)) {}
  FileDescriptor descriptor_;
  const std::string name_;
};

Status WriteOutput(const OutputPlace& place, std::string_view content);

// What was printed with stdio has arrived, or why it has not. For the end of a program.
Status FlushStandardOutput();

}  // namespace attune
