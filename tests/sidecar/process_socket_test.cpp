#include "sidecar/process_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tests/scratch.h"
#include "tests/sidecar/test_process.h"

namespace attune::sidecar::process_socket_test {
namespace {

namespace fs = std::filesystem;

v1::ProcessMessage Window(uint64_t sequence) {
  v1::ProcessMessage message;
  message.mutable_window()->set_sequence(sequence);
  return message;
}

class ProcessSocketTest : public testing::Test {
 protected:
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

  // Admits hellos of the job "first", "second" and "uid".
  static StatusOr<std::unique_ptr<ProcessSocket>> Listen(const fs::path& path) {
    return ProcessSocket::Listen(path, [](const v1::ProcessMessage& first) {
      const std::string& job = first.hello().job_uid();
      return job == "first" || job == "second" || job == "uid" ? std::string() : "not of job '" + job + "'";
    });
  }

  const Scratch scratch_;
  const fs::path path_ = scratch_.path() / "sidecar.sock";
  std::vector<SocketEvent> waiting_;
};

TEST_F(ProcessSocketTest, TellsThePeersProcessIdAndItsMessages) {
  auto socket = Listen(path_);
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
  auto socket = Listen(path_);
  TestProcess first(path_);
  first.Hello("first", "worker", 0);
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
  EXPECT_EQ(Next(**socket, waiting_).message.hello().job_uid(), "first");
  first.Send(Window(7));
  TestProcess second(path_);
  second.Hello("second", "worker", 0);
  EXPECT_EQ(Next(**socket, waiting_).message.window().sequence(), 7U);
  const SocketEvent connected = Next(**socket, waiting_);
  EXPECT_EQ(connected.kind, SocketEvent::Kind::kConnected);
  EXPECT_EQ(connected.connection, 2U);
  EXPECT_EQ(Next(**socket, waiting_).message.hello().job_uid(), "second");
  (*socket)->Send(1, v1::ProcessDirective());  // what was meant for the first one does not reach the second
  (*socket)->Close(1);
  second.Send(Window(8));
  EXPECT_EQ(Next(**socket, waiting_).message.window().sequence(), 8U);
  EXPECT_FALSE(first.Receive()) << "the old connection is closed";
}

TEST_F(ProcessSocketTest, WhatStrangersSendIsRefusedAndTheProcessIsNotDisturbed) {
  auto socket = Listen(path_);
  TestProcess process(path_);
  process.Hello("uid", "worker", 0);
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kMessage);
  v1::ProcessMessage foreign;
  foreign.mutable_hello()->set_job_uid("another");
  uint64_t sequence = 0;
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), EncodeFrame("\xff\xff\xff not a message"),
                                   EncodeFrame(foreign.SerializeAsString()), EncodeFrame("")}) {
    TestProcess stranger(path_);
    stranger.SendBytes(bytes);
    const SocketEvent refused = Next(**socket, waiting_);
    EXPECT_EQ(refused.kind, SocketEvent::Kind::kRefused);
    EXPECT_FALSE(refused.reason.ok());
    process.Send(Window(++sequence));
    EXPECT_EQ(Next(**socket, waiting_).message.window().sequence(), sequence);
  }
}

TEST_F(ProcessSocketTest, StrangersThatSayNothingAreBoundedAndTheProcessGetsIn) {
  auto socket = Listen(path_);
  std::vector<std::unique_ptr<TestProcess>> silent;
  for (size_t i = 0; i < 3 * ProcessSocket::kStrangersMax; ++i) {
    silent.push_back(std::make_unique<TestProcess>(path_));
    if (i % 2 == 0) silent.back()->SendBytes(std::string("\x10\x00\x00", 3));  // a header that never ends
    EXPECT_TRUE((*socket)->Handle().empty());
  }
  TestProcess process(path_);
  process.Hello("uid", "worker", 0);
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
  EXPECT_FALSE(silent.front()->Receive()) << "the oldest give way";
}

TEST_F(ProcessSocketTest, AHelloThatWasNotReadYetIsNotGivenUpForStrangersThatCameAfterIt) {
  auto socket = Listen(path_);
  TestProcess process(path_);
  process.Hello("uid", "worker", 0);
  std::vector<std::unique_ptr<TestProcess>> silent;
  for (size_t i = 0; i < ProcessSocket::kStrangersMax; ++i) silent.push_back(std::make_unique<TestProcess>(path_));
  EXPECT_EQ(Next(**socket, waiting_).kind, SocketEvent::Kind::kConnected);
}

TEST_F(ProcessSocketTest, AProcessThatDoesNotReadIsLetGoInsteadOfWaitedFor) {
  auto socket = Listen(path_);
  TestProcess process(path_);
  process.Hello("uid", "worker", 0);
  const uint64_t connection = Next(**socket, waiting_).connection;
  Next(**socket, waiting_);
  v1::ProcessDirective directive;
  directive.mutable_directive()->mutable_drain()->set_reason(std::string(32 << 10, 'x'));
  for (int i = 0; i < 64; ++i) (*socket)->Send(connection, directive);
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
  auto socket = Listen(path_);
  ASSERT_TRUE(socket.ok()) << ToString(socket.status());
  EXPECT_EQ(Listen(path_).status().code(), StatusCode::kAlreadyExists);
  socket->reset();
  EXPECT_FALSE(fs::exists(path_)) << "the file goes with its sidecar";
}

TEST_F(ProcessSocketTest, PathsThatCannotBeAreNamed) {
  EXPECT_EQ(Listen(scratch_.path() / "missing" / "s").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Listen(scratch_.path() / std::string(200, 'x')).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(path_) << "a file";
  EXPECT_EQ(Listen(path_).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(path_)) << "another program's file is left alone";
}

}  // namespace
}  // namespace attune::sidecar::process_socket_test
