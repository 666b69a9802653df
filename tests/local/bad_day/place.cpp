#include "tests/local/bad_day/place.h"

#include <signal.h>
#include <sys/mount.h>

#include <cctype>
#include <fstream>

namespace attune {

namespace fs = std::filesystem;

std::string ContentOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Place::~Place() {
  if (mounted_) umount2((path() / "full").c_str(), MNT_DETACH);
}

std::map<std::string, std::string> Place::Environment() const {
  return {{"XDG_RUNTIME_DIR", path()}, {"HOME", path()}, {"XDG_STATE_HOME", path() / "state"}, {"KUBECONFIG", ""}};
}

bool Place::MakeFullDisk() {
  const fs::path full = path() / "full";
  fs::create_directory(full);
  mounted_ = mount("tmpfs", full.c_str(), "tmpfs", 0, "size=64k") == 0;
  if (!mounted_) return false;
  std::ofstream out(full / "ballast");
  const std::string page(4096, 'x');
  while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
  }
  return true;
}

void Place::Write(const GivenFile& file) const {
  scratch_.Write(file.path, file.content);
  if (file.executable) fs::permissions(path() / file.path, fs::perms::owner_all);
}

std::vector<std::string> Place::Processes() const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    if (ContentOf(entry.path() / "environ").find("HOME=" + path().string() + '\0') == std::string::npos) continue;
    found.push_back(name + " " + ContentOf(entry.path() / "comm"));
  }
  return found;
}

void Place::KillEverything() const {
  for (const std::string& process : Processes()) kill(std::stoi(process), SIGKILL);
}

}  // namespace attune
