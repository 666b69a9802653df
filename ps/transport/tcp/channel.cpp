// The two ways a link's frames travel.
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "base/mutex.h"
#include "ps/transport/shared/shared_ring.h"
#include "ps/transport/tcp/peer.h"

namespace attune::ps {
namespace {

constexpr int kReadsPerTurn = 16;  // then others get their turn
constexpr size_t kBytesPerWrite = 256 << 10;
constexpr size_t kFramesPerPoll = 16;

class StreamChannel final : public Channel, public std::enable_shared_from_this<StreamChannel> {
 public:
  StreamChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream)
      : peer_(peer), stream_(std::move(stream)), encrypted_(stream_->encrypted()) {}

  void Start() override {
    watch_ = peer_->loop().WatchFile(stream_->fd(), [weak = weak_from_this()](bool readable, bool writable) {
      if (const auto self = weak.lock()) self->OnReady(readable, writable);
    });
    watch_->Want(true, false);
    Read();  // TLS may hold bytes that came with the handshake
    const MutexLock lock(peer_->mutex());
    Write();
  }

  void Close() override {
    const MutexLock lock(peer_->mutex());
    closed_ = true;
    watch_.reset();
    stream_->Shut();
  }

  void Write() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(peer_->mutex()) {
    LinkSender& sender = peer_->sender();
    if (closed_ || waits_for_room_) return;
    while (sender.has_unwritten() || stream_->wants_write()) {
      std::array<iovec, 64> parts;
      const int count = sender.Gather(parts, kBytesPerWrite, peer_->StampDelivered());
      const IoResult result = stream_->Write(std::span(parts).first(static_cast<size_t>(count)));
      sender.Written(result.bytes);
      peer_->CountSent(result.bytes);
      if (result.outcome == IoResult::kEnded) return stream_->Shut();  // the reading side finds out and closes
      if (result.outcome == IoResult::kAgain) return WaitForRoom();
    }
  }

  void Unplace(std::span<const float> rows) override {
    std::lock_guard lock(read_mutex_);
    reader_.Unplace(rows);
  }

  LinkCounters::Path path() const override { return encrypted_ ? LinkCounters::kTls : LinkCounters::kTcp; }

 private:
  // Watches belong to the loop.
  void WaitForRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(peer_->mutex()) {
    waits_for_room_ = true;
    if (peer_->loop().InLoop()) {
      watch_->Want(true, true);
      return;
    }
    peer_->loop().Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self != nullptr && self->watch_ != nullptr) self->watch_->Want(true, true);
    });
  }

  void OnReady(bool readable, bool writable) {
    if (writable) {
      const MutexLock lock(peer_->mutex());
      if (watch_ == nullptr) return;
      waits_for_room_ = false;
      watch_->Want(true, false);
      Write();
    }
    if (readable) Read();
  }

  void Read() {
    // Held while handlers run too: Unplace, by another thread, waits until this one has released the rows. A handler
    // may call it as well.
    std::lock_guard lock(read_mutex_);
    for (int turn = 0; turn < kReadsPerTurn; ++turn) {
      if (watch_ == nullptr) return;  // closed by a handler
      std::array<iovec, FrameReader::kSpacePartsMax> parts;
      const size_t count = reader_.Space(parts);
      const IoResult result = stream_->Read(std::span(parts).first(count));
      if (result.bytes > 0) {
        if (const Status status = reader_.Filled(result.bytes, *peer_); !status.ok()) return Fail(status);
      }
      if (result.outcome == IoResult::kEnded) return Fail(result.error);
      if (result.outcome == IoResult::kAgain) return;
    }
    // More may be waiting, also where the socket would not report again (inside TLS).
    peer_->loop().Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Read();
    });
  }

  void Fail(const Status& reason) {
    if (watch_ == nullptr) return;
    peer_->Broken(this, reason);
  }

  const std::shared_ptr<Peer> peer_;
  const std::unique_ptr<Stream> stream_;
  const bool encrypted_;
  std::unique_ptr<EventLoop::Watch> watch_;  // of the loop; null once closed
  // Guards reader_. Taken again by handlers, a recursion that the thread-safety analysis does not know.
  std::recursive_mutex read_mutex_;
  FrameReader reader_;
  bool closed_ ABSL_GUARDED_BY(peer_->mutex()) = false;
  bool waits_for_room_ ABSL_GUARDED_BY(peer_->mutex()) = false;
};

class RingChannel final : public Channel, public std::enable_shared_from_this<RingChannel> {
 public:
  RingChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream, std::shared_ptr<RingArea> out,
              std::shared_ptr<RingArea> in, const std::function<void()>& ring_peer)
      : peer_(peer),
        stream_(std::move(stream)),
        writer_(std::move(out), ring_peer),
        reader_(std::move(in), ring_peer) {}

  void Start() override {
    watch_ = peer_->loop().WatchFile(stream_->fd(), [weak = weak_from_this()](bool, bool) {
      if (const auto self = weak.lock()) self->OnConnection();
    });
    watch_->Want(true, false);
    const MutexLock lock(peer_->mutex());
    Write();
  }

  void Close() override {
    const MutexLock lock(peer_->mutex());
    closed_ = true;
    watch_.reset();
    stream_->Shut();
  }

  void Write() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(peer_->mutex()) {
    if (closed_) return;
    LinkSender& sender = peer_->sender();
    // What the reader has handled needs no confirmation in a frame.
    (void)sender.Delivered(writer_.Handled());
    bool asked = false;
    while (const OutgoingFrame* frame = sender.NextWhole(peer_->StampDelivered())) {
      if (!writer_.Write(*frame)) {
        if (std::exchange(asked, true)) {
          blocked_ = true;
          return;
        }
        writer_.AskForRoom();
        continue;
      }
      asked = false;
      peer_->CountSent(frame->bytes());
      sender.WrittenWhole();
    }
    sender.DropDelivered();
    blocked_ = false;
  }

  std::shared_ptr<void> Reserve(size_t bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(peer_->mutex()) {
    if (closed_) return nullptr;
    (void)peer_->sender().Delivered(writer_.Handled());
    return writer_.Reserve(bytes);
  }

  bool Poll() override {
    if (watch_ == nullptr) return false;
    const StatusOr<size_t> frames = reader_.Poll(*peer_, kFramesPerPoll);
    if (!frames.ok()) {
      Fail(frames.status());
      return true;
    }
    if (blocked_) {
      const MutexLock lock(peer_->mutex());
      Write();
    }
    return *frames > 0;
  }
  bool PrepareSleep() override { return watch_ == nullptr || reader_.PrepareSleep(); }
  void Awake() override { reader_.Awake(); }

  LinkCounters::Path path() const override { return LinkCounters::kSharedMemory; }

 private:
  // Nothing is said over the connection any more: it ends, or the peer does not keep to the rules.
  void OnConnection() {
    if (watch_ == nullptr) return;
    char byte;
    iovec part{&byte, 1};
    const IoResult result = stream_->Read(std::span(&part, 1));
    if (result.outcome == IoResult::kAgain && result.bytes == 0) return;
    while (Poll()) {  // what the peer said before it went
    }
    Fail(result.outcome == IoResult::kEnded
             ? result.error
             : Error(StatusCode::kInvalidArgument, "the peer writes to a connection that shared memory has replaced"));
  }

  void Fail(const Status& reason) {
    if (watch_ == nullptr) return;
    peer_->Broken(this, reason);
  }

  const std::shared_ptr<Peer> peer_;
  const std::unique_ptr<Stream> stream_;
  std::unique_ptr<EventLoop::Watch> watch_;  // of the loop; null once closed
  RingWriter writer_ ABSL_GUARDED_BY(peer_->mutex());
  RingReader reader_;  // of the loop
  bool closed_ ABSL_GUARDED_BY(peer_->mutex()) = false;
  std::atomic<bool> blocked_ = false;  // something waits for room
};

}  // namespace

std::shared_ptr<Channel> NewStreamChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream) {
  return std::make_shared<StreamChannel>(peer, std::move(stream));
}

std::shared_ptr<Channel> NewRingChannel(const std::shared_ptr<Peer>& peer, std::unique_ptr<Stream> stream,
                                        std::shared_ptr<RingArea> out, std::shared_ptr<RingArea> in,
                                        std::function<void()> ring_peer) {
  return std::make_shared<RingChannel>(peer, std::move(stream), std::move(out), std::move(in), ring_peer);
}

}  // namespace attune::ps
