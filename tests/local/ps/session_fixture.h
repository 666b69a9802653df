// Servers and sessions in one process, over real sockets on loopback.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "ps/runtime/server/server_runtime.h"
#include "tests/scratch.h"

namespace attune::ps {

inline constexpr char kJobUid[] = "uid-of-the-test";

class SessionTest : public testing::Test {
 protected:
  void TearDown() override { servers_.clear(); }

  void StartServers(uint32_t count, JobGoal goal = {}, const std::string& load = "", uint32_t backups = 0) {
    servers_.clear();
    for (uint32_t i = 0; i < count; ++i) {
      ServerRuntime::Options options{.job_uid = kJobUid, .index = i, .load_directory = load};
      if (i == 0) {
        options.coordinator_here.emplace();
        options.coordinator_here->core.job_uid = kJobUid;
        options.coordinator_here->core.servers = count;
        options.coordinator_here->core.goal = goal;
        options.coordinator_here->core.backups = backups;
      } else {
        options.coordinator = servers_[0]->coordinator_address();
      }
      auto server = ServerRuntime::Start(options, time_);
      ASSERT_TRUE(server.ok()) << server.status();
      servers_.push_back(*std::move(server));
    }
  }

  SessionOptions WorkerOptions(uint32_t index = 0) const {
    return {.job = "test",
            .job_uid = kJobUid,
            .index = index,
            .coordinator = servers_[0]->coordinator_address(),
            .model_directory = directory_ / "model",
            .connect_timeout = std::chrono::seconds(30),
            .call_timeout = std::chrono::seconds(30),
            .drain_on_sigterm = false};
  }
  std::unique_ptr<Session> Connect(uint32_t index = 0) const {
    auto session = Session::Connect(WorkerOptions(index));
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  SystemTime time_;
  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  std::vector<std::unique_ptr<ServerRuntime>> servers_;
};

inline std::vector<Key> KeysFrom(Key first, size_t count) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

}  // namespace attune::ps
