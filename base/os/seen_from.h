// What a relative path is relative to, for errors about files that are not there.
#pragma once

#include <filesystem>
#include <string>

namespace attune {

// ", seen from /home/me" for a relative path; "" for an absolute one.
std::string SeenFrom(const std::filesystem::path& path);

}  // namespace attune
