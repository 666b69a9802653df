#include "tests/cli/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/os/file.h"

namespace attune::cli {

void ExpectGolden(const std::string& text, const std::string& name) {
  const std::string path = std::string(ATTUNE_SOURCE_DIR) + "/tests/cli/golden/" + name;
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok()) << path;
  }
  const auto want = ReadFile(path);
  ASSERT_TRUE(want.ok()) << want.status();
  EXPECT_EQ(text, *want) << name << ": record again with ATTUNE_UPDATE_GOLDEN=1 and review the difference";
}

}  // namespace attune::cli
