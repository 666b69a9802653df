// A file descriptor with an owner: closed once, when the owner ends. What a system call returns for a failure, a
// negative number, owns nothing.
#pragma once

namespace attune {

// Moved, never copied; one thread at a time, as for an int.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;  // closes what it had
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // The caller owns it from now on.
  int Release();
  // The error number of close(2), where some file systems and devices first report a failed write; 0 when it is fine,
  // and when there is nothing to close. `errno` stays what it was, so that an earlier failure can still be reported.
  int Close();

 private:
  int fd_ = -1;
};

}  // namespace attune
