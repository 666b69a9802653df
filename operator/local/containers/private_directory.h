// Directories that other users of the machine cannot look into: they hold sockets, tokens and logs.
#pragma once

#include <filesystem>

#include "base/status.h"

namespace attune::local {

// Makes `path`, parents included, with mode 0700. One that is there gets that mode; PermissionDenied when it belongs to
// another user or is no directory, for then that user could put things into it.
Status MakePrivateDirectory(const std::filesystem::path& path);

}  // namespace attune::local
