#include "ps/core/protocol/sync_mode.h"

#include <gtest/gtest.h>

namespace attune::ps {
namespace {

TEST(SyncMode, IsReadAndWritten) {
  for (const char* text : {"async", "bsp", "ssp:4"}) EXPECT_EQ(ToString(*ParseSyncMode(text)), text);
  EXPECT_EQ(*ParseSyncMode("SSP:0"), SyncMode::Bsp());
  for (const char* text : {"", "ssp", "ssp:", "ssp:-1", "ssp:1x", "ssp:99999999999", "sma"}) {
    EXPECT_EQ(ParseSyncMode(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace attune::ps
