// What a process leaves behind for the process that judges its end, while or without an operator. Of the coordinator's:
// that the job is finished, whether there was a data set for the closing work, and whether rows of the model were lost.
// Of a worker's: that its session has left the job in order. A program that fails after that has left something undone
// which no other process sees; one that fails before it is lost to the coordinator, which waits for another
// (docs/decisions/0037). One that came when the job was finished says that, too: whatever its program makes of it, it
// is no failure.
//
// It is a line of the container's termination message. A process without one (started by hand) leaves nothing behind,
// and a file that cannot be written is no reason to stay in the job.
#pragma once

#include <filesystem>

namespace attune::ps {

// Written before the session leaves: a process that is killed in between must not look as if it had never left.
class LeaveMark {
 public:
  // "" for `file`: does nothing.
  explicit LeaveMark(std::filesystem::path file) : file_(std::move(file)) {}
  // Of this process, by its environment: the message is the process's, whatever options its session has.
  static LeaveMark OfProcess();

  void Write() const;
  // The session did not get to leave.
  void Erase() const;

 private:
  std::filesystem::path file_;
};

// How a job has finished.
struct JobEnd {
  bool closing_work = false;  // there was a data set for it
  bool lost_rows = false;     // RecoveryLedger::model_lost
};
// Of the coordinator's process, by its environment.
void NoteJobFinished(const JobEnd& end);
// Of the process of a worker that was to join a job that was finished.
void NoteCameTooLate();

}  // namespace attune::ps
