#include "sidecar/process_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tests/sidecar/test_process.h"

namespace attune::sidecar {
namespace {

namespace fs = std::filesystem;

class ProcessSocketTest : public testing::Test {
 protected:
  ProcessSocketTest() {
    std::string pattern = "/tmp/attune_socket_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "sidecar.sock";
  }
  ~ProcessSocketTest() override { fs::remove_all(directory_); }

  // Waits for the next event, at most five seconds.
  static SocketEvent Next(ProcessSocket& socket, std::vector<SocketEvent>& waiting) {
    for (int round = 0; waiting.empty() && round < 50; ++round) {
      std::vector<pollfd> waits;
      socket.AddTo(waits);
      poll(waits.data(), waits.size(), 100);
      waiting = socket.Handle();
    }
    if (waiting.empty()) {
      ADD_FAILURE() << "no event within five seconds";
      return {.kind = SocketEvent::Kind::kGone};
    }
    SocketEvent event = waiting.front();
    waiting.erase(waiting.begin());
    return event;
  }

  fs::path directory_, path_;
  std::vector<SocketEvent> waiting_;
};

TEST_F(ProcessSocketTest, TellsThePeersProcessIdAndItsMessages) {
  auto socket = ProcessSocket::Listen(path_);
  ASSERT_TRUE(socket.ok()) << ToString(socket.status());
  TestProcess process(path_);
  process.Hello("uid", "worker", 0);
  const SocketEvent connected = Next(**socket, waiting_);
  EXPECT_EQ(connected.kind, SocketEvent::Kind::kConnected);
  EXPECT_EQ(connected.peer_pid, getpid());
  EXPECT_EQ(Next(**socket, waiting_).message.hello().job_uid(), "uid");
  process.Close();
  const SocketEvent gone = Next(**socket, waiting_);
  EXPECT_EQ(gone.kind, SocketEvent::Kind::kGone);
  EXPECT_TRUE(gone.reason.ok());
}

TEST_F(ProcessSocketTest, ANewProcessReplacesTheOldWhoseLastWordsComeFirst) {
  auto socket = ProcessSocket::Listen(path_);
  TestProcess first(path_);
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
  first.Hello("first", "worker", 0);
  TestProcess second(path_);
  second.Hello("second", "worker", 0);
  EXPECT_EQ(Next(**socket, waiting_).message.hello().job_uid(), "first");
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
  EXPECT_EQ(Next(**socket, waiting_).message.hello().job_uid(), "second");
  EXPECT_FALSE(first.Receive()) << "the old connection is closed";
}

TEST_F(ProcessSocketTest, GarbageAndOversizedFramesEndTheConnectionWithAReason) {
  auto socket = ProcessSocket::Listen(path_);
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), EncodeFrame("\xff\xff\xff not a message")}) {
    TestProcess process(path_);
    process.SendBytes(bytes);
    EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
    const SocketEvent gone = Next(**socket, waiting_);
    EXPECT_EQ(gone.kind, SocketEvent::Kind::kGone);
    EXPECT_FALSE(gone.reason.ok());
  }
}

TEST_F(ProcessSocketTest, AProcessThatDoesNotReadIsLetGoInsteadOfWaitedFor) {
  auto socket = ProcessSocket::Listen(path_);
  TestProcess process(path_);
  Next(**socket, waiting_);
  v1::ProcessDirective directive;
  directive.mutable_directive()->mutable_drain()->set_reason(std::string(32 << 10, 'x'));
  for (int i = 0; i < 64; ++i) (*socket)->Send(directive);
  const SocketEvent gone = Next(**socket, waiting_);
  EXPECT_EQ(gone.kind, SocketEvent::Kind::kGone);
  EXPECT_EQ(gone.reason.code(), StatusCode::kResourceExhausted);
}

TEST_F(ProcessSocketTest, AStaleFileIsReplacedAndALivingSidecarIsNot) {
  {
    const int leftover = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    ASSERT_EQ(bind(leftover, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(leftover);
  }
  auto socket = ProcessSocket::Listen(path_);
  ASSERT_TRUE(socket.ok()) << ToString(socket.status());
  EXPECT_EQ(ProcessSocket::Listen(path_).status().code(), StatusCode::kAlreadyExists);
  socket->reset();
  EXPECT_FALSE(fs::exists(path_)) << "the file goes with its sidecar";
}

TEST_F(ProcessSocketTest, PathsThatCannotBeAreNamed) {
  EXPECT_EQ(ProcessSocket::Listen(directory_ / "missing" / "s").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ProcessSocket::Listen(directory_ / std::string(200, 'x')).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(path_) << "a file";
  EXPECT_EQ(ProcessSocket::Listen(path_).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(path_)) << "somebody's file is left alone";
}

}  // namespace
}  // namespace attune::sidecar
