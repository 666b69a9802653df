#include "base/os/file_descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace attune {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int FileDescriptor::Release() { return std::exchange(fd_, -1); }

int FileDescriptor::Close() {
  if (fd_ < 0) return 0;
  const int before = errno;
  // Not again after EINTR: on Linux the descriptor is free by then, and may be another thread's.
  const int error = ::close(Release()) == 0 ? 0 : errno;
  errno = before;
  return error;
}

}  // namespace attune
