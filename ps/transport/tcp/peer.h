// A node this one is linked to, over all connections of the pair: what waits to be sent, what has been handled, and the
// present connection. Sending may happen on any thread; everything else on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "base/status.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/frame_reader.h"
#include "ps/transport/security/handshake.h"
#include "ps/transport/shared/shared_memory.h"
#include "ps/transport/stream.h"
#include "ps/transport/tcp/link_state.h"
#include "ps/transport/transport.h"

namespace attune::ps {

class Peer;

// The present connection of a peer: bytes over a stream, or frames through shared memory. It does not know whose it is,
// so what requires the peer's mutex is annotated in the implementations.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual void Start() = 0;
  // Without a message to the other side.
  virtual void Close() = 0;
  // Requires the peer's mutex; any thread. Moves on what the peer's sender has.
  virtual void Write() = 0;
  // Requires the peer's mutex; any thread. Memory that frames to this peer need not be copied from; null: none.
  virtual std::shared_ptr<void> Reserve(size_t) { return nullptr; }
  // Any thread: nothing more is written into `rows`.
  virtual void Unplace(std::span<const float>) {}
  // Work that no file descriptor reports (EventLoop::Participant).
  virtual bool Poll() { return false; }
  virtual bool PrepareSleep() { return true; }
  virtual void Awake() {}
  virtual LinkCounters::Path path() const = 0;
};

class Peer : public FrameReader::Sink, public std::enable_shared_from_this<Peer> {
 public:
  static constexpr size_t kKeptBytesMax = 64 << 20;  // waiting to be sent, or to be confirmed
  static constexpr size_t kFlushBytes = 16 << 10;    // more than this is sent before the turn ends
  static constexpr uint64_t kUnconfirmedFramesMax =
      64;  // then the other side gets a confirmation, if nothing else is to say
  static constexpr size_t kUnconfirmedBytesMax = 1 << 20;

  // What the transport does for its peers, on the loop except where said.
  struct Host {
    EventLoop& loop;
    Transport::Events& events;
    std::function<void(const std::shared_ptr<Peer>& peer)> flush_at_end_of_turn;
    std::function<void(NodeId peer, const Channel* channel, const Status& reason)> on_broken;
    std::atomic<uint64_t> bytes_sent = 0, bytes_received = 0;
  };

  Peer(NodeId node, Host& host);

  // Any thread.
  Status Send(OutgoingFrame frame);
  std::shared_ptr<void> Reserve(size_t bytes);
  void Unplace(std::span<const float> rows);
  LinkCounters counters() const;

  LinkMemory memory() const { return memory_; }
  bool connected() const { return channel_on_loop_ != nullptr; }
  Channel* channel() const { return channel_on_loop_.get(); }
  MonotonicTime ended_at() const { return ended_at_; }  // the last connection

  // What the peer said in the handshake of a new connection: which process it is, whether it remembers this one, and
  // how many of its frames it has handled. Another incarnation voids what was kept, and so does a peer that has
  // forgotten what it had confirmed: both sides then number from 1 again.
  struct PeerState {
    uint64_t incarnation = 0;
    bool remembers = false;
    uint64_t delivered = 0;
  };
  Status Resume(const PeerState& peer, uint64_t connection);
  // As if the two had never met.
  void Forget();
  void SetDialError(const Status& status);
  void Attach(std::shared_ptr<Channel> channel);
  // Ends the present connection without a message. What is kept stays.
  void Detach();
  void Flush();

  // FrameReader::Sink
  std::span<float> Place(const wire::FrameHeader& header) override;
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override;

  // For channels.
  Mutex& mutex() ABSL_LOCK_RETURNED(mutex_) { return mutex_; }
  LinkSender& sender() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return sender_; }
  // What a header written now says.
  uint64_t StampDelivered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountSent(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Broken(const Channel* channel, const Status& reason) { host_.on_broken(node_, channel, reason); }
  EventLoop& loop() { return host_.loop; }

 private:
  void ConfirmLater();
  void StartOver(uint64_t incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const NodeId node_;
  Host& host_;

  mutable Mutex mutex_;
  std::shared_ptr<Channel> channel_ ABSL_GUARDED_BY(mutex_);
  LinkSender sender_ ABSL_GUARDED_BY(mutex_);
  LinkReceiver receiver_ ABSL_GUARDED_BY(mutex_);
  LinkCounters counters_ ABSL_GUARDED_BY(mutex_);
  uint64_t told_ ABSL_GUARDED_BY(mutex_) = 0;  // what the peer knows to be handled
  bool flush_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  size_t unconfirmed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of the loop.
  std::shared_ptr<Channel> channel_on_loop_;
  MonotonicTime ended_at_{};
  LinkMemory memory_;  // changed with mutex_ held, so that Send may read it
  std::unique_ptr<EventLoop::Timer> confirm_timer_;
  bool confirm_set_ = false;
};

std::shared_ptr<Channel> NewStreamChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream);
// The stream only says whether the peer is alive.
std::shared_ptr<Channel> NewRingChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream,
                                        std::shared_ptr<RingArea> out, std::shared_ptr<RingArea> in,
                                        std::function<void()> ring_peer);

}  // namespace attune::ps
