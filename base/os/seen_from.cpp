#include "base/os/seen_from.h"

#include <system_error>

namespace attune {

std::string SeenFrom(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  return path.is_relative() && !error ? ", seen from " + here.string() : "";
}

}  // namespace attune
