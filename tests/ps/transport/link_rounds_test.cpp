// What links do in the rounds of their event loop.
#include "ps/transport/tcp/link_rounds.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/ps/transport/manual_loop.h"

namespace attune::ps::link_rounds_test {
namespace {

// Writes down what it is asked to do.
class RecordingChannel final : public Channel {
 public:
  RecordingChannel(LinkCounters::Path path, std::string name, std::vector<std::string>& calls)
      : path_(path), name_(std::move(name)), calls_(calls) {}
  void Start() override {}
  void Close() override {}
  void Write() override { calls_.push_back(name_ + " writes"); }
  bool Poll() override {
    calls_.push_back(name_ + " is looked at");
    return has_work;
  }
  bool PrepareSleep() override {
    calls_.push_back(name_ + " prepares");
    return quiet;
  }
  void Awake() override { calls_.push_back(name_ + " is awake"); }
  LinkCounters::Path path() const override { return path_; }

  bool has_work = false, quiet = true;

 private:
  const LinkCounters::Path path_;
  const std::string name_;
  std::vector<std::string>& calls_;
};

class LinkRoundsTest : public testing::Test {
 protected:
  std::shared_ptr<RecordingChannel> Connect(Peer& peer, LinkCounters::Path path, const std::string& name) {
    auto channel = std::make_shared<RecordingChannel>(path, name, calls_);
    peer.Attach(channel);
    return channel;
  }
  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }

  ManualLoop loop_;
  Transport::Events events_;
  Peer::Host host_{.loop = loop_, .events = events_, .flush_at_end_of_turn = {}, .on_broken = {}};
  std::vector<std::string> calls_;
  const std::shared_ptr<Peer> near_ = std::make_shared<Peer>(NodeId(1), host_);
  const std::shared_ptr<Peer> far_ = std::make_shared<Peer>(NodeId(2), host_);
  LinkRounds rounds_;
};

using Calls = std::vector<std::string>;

TEST_F(LinkRoundsTest, OnlyConnectionsThroughSharedMemoryAreLookedAt) {
  const auto near = Connect(*near_, LinkCounters::kSharedMemory, "near");
  Connect(*far_, LinkCounters::kTcp, "far");
  rounds_.SetPeers({near_, far_, std::make_shared<Peer>(NodeId(3), host_)});
  EXPECT_FALSE(rounds_.Poll());
  near->has_work = true;
  EXPECT_TRUE(rounds_.Poll());
  EXPECT_EQ(TakeCalls(), (Calls{"near is looked at", "near is looked at"}));
  rounds_.Awake();
  EXPECT_EQ(TakeCalls(), Calls{"near is awake"});
}

TEST_F(LinkRoundsTest, AConnectionThatEndsDuringARoundIsPassedOver) {
  Connect(*near_, LinkCounters::kSharedMemory, "near");
  rounds_.SetPeers({near_});
  near_->Detach();
  EXPECT_FALSE(rounds_.Poll());
  EXPECT_TRUE(calls_.empty());
}

TEST_F(LinkRoundsTest, WhatWasCollectedIsWrittenOnceAtTheEnd) {
  Connect(*far_, LinkCounters::kTcp, "far");
  rounds_.FlushAtEnd(far_);
  EXPECT_TRUE(calls_.empty());
  rounds_.EndTurn();
  rounds_.EndTurn();
  EXPECT_EQ(TakeCalls(), Calls{"far writes"});
}

TEST_F(LinkRoundsTest, BeforeSleepEverythingIsWrittenAndEveryLinkAsked) {
  const auto near = Connect(*near_, LinkCounters::kSharedMemory, "near");
  const auto far = Connect(*far_, LinkCounters::kSharedMemory, "far");
  rounds_.SetPeers({near_, far_});
  rounds_.FlushAtEnd(near_);
  near->quiet = false;  // something has come meanwhile
  EXPECT_FALSE(rounds_.PrepareSleep());
  EXPECT_EQ(TakeCalls(), (Calls{"near writes", "near prepares", "far prepares"}));
  near->quiet = true;
  EXPECT_TRUE(rounds_.PrepareSleep());
}

}  // namespace
}  // namespace attune::ps::link_rounds_test
