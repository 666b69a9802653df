// The peers of a transport, by node.
#include "ps/transport/tcp/peer_table.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/ps/transport/manual_loop.h"

namespace attune::ps::peer_table_test {
namespace {

class PeerTableTest : public testing::Test {
 protected:
  ManualLoop loop_;
  Transport::Events events_;
  Peer::Host host_{.loop = loop_, .events = events_, .flush_at_end_of_turn = {}, .on_broken = {}};
  PeerTable peers_{host_};
};

TEST_F(PeerTableTest, APeerIsAddedOnce) {
  EXPECT_EQ(peers_.Find(NodeId(1)), nullptr);
  const auto peer = peers_.FindOrAdd(NodeId(1));
  EXPECT_EQ(peers_.FindOrAdd(NodeId(1)), peer);
  EXPECT_EQ(peers_.Find(NodeId(1)), peer);
  EXPECT_EQ(peer->counters().peer, NodeId(1));
  EXPECT_NE(peers_.FindOrAdd(NodeId(2)), peer);
  EXPECT_EQ(peers_.size(), 2U);
  EXPECT_EQ(peers_.All().size(), 2U);
}

TEST_F(PeerTableTest, ARemovedPeerIsStillThereForWhoHasIt) {
  const auto peer = peers_.FindOrAdd(NodeId(1));
  peers_.Remove(NodeId(1));
  peers_.Remove(NodeId(7));  // was never there
  EXPECT_EQ(peers_.Find(NodeId(1)), nullptr);
  EXPECT_EQ(peer->counters().peer, NodeId(1));
  EXPECT_NE(peers_.FindOrAdd(NodeId(1)), peer);
  peers_.Clear();
  EXPECT_EQ(peers_.size(), 0U);
}

TEST_F(PeerTableTest, ManyThreadsFindTheSamePeer) {
  std::vector<std::shared_ptr<Peer>> found(4);
  std::vector<std::thread> threads;
  for (std::shared_ptr<Peer>& peer : found) threads.emplace_back([&] { peer = peers_.FindOrAdd(NodeId(1)); });
  for (std::thread& thread : threads) thread.join();
  for (const std::shared_ptr<Peer>& peer : found) EXPECT_EQ(peer, found[0]);
}

}  // namespace
}  // namespace attune::ps::peer_table_test
