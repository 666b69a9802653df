// Certificates for tests and measurements: an authority, and what it signs for the nodes of a job.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace attune::ps {

class TestAuthority {
 public:
  TestAuthority();
  ~TestAuthority();

  struct Certificate {
    std::string name = "uid";  // among the subject alternative names
    long valid_from = -3600;   // seconds from now
    long valid_to = 3600;
  };
  // Writes tls.crt, tls.key and ca.crt. The directory is created.
  void Write(const std::filesystem::path& directory, const Certificate& certificate) const;

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
};

}  // namespace attune::ps
