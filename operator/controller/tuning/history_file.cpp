#include "operator/controller/tuning/history_file.h"

#include <utility>

#include "base/os/file.h"

namespace attune::controller {

StatusOr<tuner::JobHistory> HistoryFile::Read() const {
  StatusOr<std::string> text = ReadFile(path_, tuner::JobHistory::kBytesMax);
  if (text.status().code() == StatusCode::kNotFound) return tuner::JobHistory();
  if (!text.ok()) return text.status();
  StatusOr<tuner::JobHistory> history = tuner::JobHistory::Load(*text);
  if (!history.ok()) return Annotate(history.status(), "reading " + path_.string());
  return history;
}

Status HistoryFile::Open() {
  history_ = {};
  if (path_.empty()) return OkStatus();
  ASSIGN_OR_RETURN(history_, Read());
  return OkStatus();
}

Status HistoryFile::Add(tuner::HistoryEntry entry) {
  if (path_.empty()) {
    history_.Add(std::move(entry));
    return OkStatus();
  }
  if (auto others = Read(); others.ok()) {
    history_ = *std::move(others);
  } else {
    std::error_code ignored;  // writing says what is wrong, if anything still is
    std::filesystem::rename(path_, path_.string() + ".damaged", ignored);
  }
  history_.Add(std::move(entry));
  return WriteFileAtomically(path_, history_.Save());
}

}  // namespace attune::controller
