// Starting containers as processes under a shim (pod_shim.cpp) and finding what belongs to one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/file_descriptor.h"
#include "base/status.h"

namespace attune::local {

// Descriptor of the shim's end of the socket between agent and shim. Nothing is said on it: its closing is the message.
inline constexpr int kShimSocket = 3;
// Environment variable that marks every process of a container with the container's id.
inline constexpr char kContainerMark[] = "ATTUNE_CONTAINER_ID";

struct ProcessOptions {
  std::vector<std::string> shim_command;  // program and first arguments
  std::string container_id;               // unique over all agents of the machine
  std::filesystem::path program;          // absolute
  std::vector<std::string> arguments;     // without the program
  std::vector<std::string> environment;   // "NAME=value"
  std::filesystem::path directory;        // to start in
  std::filesystem::path log_file;
  uint64_t log_bytes_max = 10 << 20;      // of each of the two files
  std::vector<std::string> cgroup_files;  // cgroup.procs files the container joins
};

// One running container. Movable handle; not thread-safe. Destruction ends the container at once (the socket
// closes).
class Process {
 public:
  static StatusOr<Process> Start(const ProcessOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // Readable (at end of file) when the shim has ended: for poll().
  int descriptor() const { return socket_.get(); }
  pid_t shim() const { return shim_; }
  // True once the container has ended; `exit_code` is then 0-255, 128 + n for signal n.
  bool Poll(int& exit_code);
  void Terminate();  // SIGTERM to the main process
  void Kill();       // ends everything; Poll says when it is done

 private:
  Process(pid_t shim, FileDescriptor socket, std::string container_id)
      : shim_(shim), socket_(std::move(socket)), container_id_(std::move(container_id)) {}
  void Release();

  pid_t shim_ = -1;
  FileDescriptor socket_;
  std::string container_id_;
  bool kill_asked_ = false;
};

// Children of `process`, their children and so on, as /proc shows them now.
std::vector<pid_t> Descendants(pid_t process);
// Kills every process that carries the mark of this container, until none is left or a short time is over.
void KillMarked(const std::string& container_id);

// Looks `name` up. A path, which is what holds a '/', is taken as it is, from `base` where it is relative, and never
// for another file of the same last name. A plain name is sought in `directories`, then in the directories of `path`
// ("a:b"). NotFound lists where it looked; PermissionDenied: it is there and not executable.
StatusOr<std::filesystem::path> FindProgram(const std::string& name,
                                            const std::vector<std::filesystem::path>& directories,
                                            const std::string& path, const std::filesystem::path& base);

}  // namespace attune::local
