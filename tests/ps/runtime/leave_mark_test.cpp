#include "ps/runtime/process/leave_mark.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/os/file.h"
#include "proto/contract.h"

namespace attune::ps::leave_mark_test {
namespace {

class LeaveMarkTest : public ::testing::Test {
 protected:
  LeaveMarkTest() { std::filesystem::remove(file_); }
  ~LeaveMarkTest() override { std::filesystem::remove(file_); }
  std::string Content() const {
    const StatusOr<std::string> content = ReadFile(file_);
    return content.ok() ? *content : "";
  }

  const std::filesystem::path file_ = std::filesystem::path(::testing::TempDir()) / "leave_mark_test.log";
  const std::string line_ = std::string(contract::kLeftInOrder) + "\n";
};

TEST_F(LeaveMarkTest, IsALineOfItsOwnAfterWhatTheProgramWrote) {
  std::ofstream(file_) << "a note";
  LeaveMark(file_).Write();
  EXPECT_EQ(Content(), "a note\n" + line_);
}

TEST_F(LeaveMarkTest, IsErasedWhenTheSessionDidNotGetToLeave) {
  std::ofstream(file_) << "a note";
  LeaveMark(file_).Write();
  LeaveMark(file_).Erase();
  EXPECT_EQ(Content(), "a note");
}

TEST_F(LeaveMarkTest, ErasesNothingElse) {
  std::ofstream(file_) << "a note";
  LeaveMark(file_).Erase();
  EXPECT_EQ(Content(), "a note");
}

TEST_F(LeaveMarkTest, TheCoordinatorsProcessSaysHowTheJobHasFinished) {
  ::setenv(contract::kEnvTerminationLog, file_.c_str(), 1);
  const auto line = [](const char* text) { return "\n" + std::string(text) + "\n"; };
  NoteJobFinished({});
  EXPECT_EQ(Content(), line(contract::kJobFinished));
  std::filesystem::remove(file_);
  NoteJobFinished({.closing_work = true, .lost_rows = true});
  ::unsetenv(contract::kEnvTerminationLog);
  EXPECT_EQ(Content(),
            line(contract::kJobFinished) + line(contract::kClosingWorkDone) + line(contract::kModelLostRows));
}

TEST_F(LeaveMarkTest, AWorkerSaysThatItCameWhenTheJobWasFinished) {
  ::setenv(contract::kEnvTerminationLog, file_.c_str(), 1);
  NoteCameTooLate();
  ::unsetenv(contract::kEnvTerminationLog);
  EXPECT_EQ(Content(), "\n" + std::string(contract::kCameTooLate) + "\n");
}

TEST_F(LeaveMarkTest, AProcessWithoutATerminationMessageLeavesNothingBehind) {
  LeaveMark("").Write();
  LeaveMark("").Erase();
  LeaveMark("/nowhere/at/all").Write();  // said in the log, and no more
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace attune::ps::leave_mark_test
