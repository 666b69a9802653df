// A training program whose result is known exactly. Item i adds (1, 2, ..., dim) to each row of block i mod blocks, so
// a row holds the number of its block's items, and every value of a row is a known multiple of the first. bench/chaos
// drives it under faults and checks the sums against the journals, one per process:
//   I <item> <seconds>   the push of the item is about to be issued
//   A <item>             it was acknowledged
//   S <seconds>          a step ended
// Lines are written without a buffer, so those of a killed process are complete. While it trains it checks what a pull
// must never show: a torn row, a row that went back, memory that changed after the pull had returned.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "base/time_source.h"

namespace attune {
namespace {

struct Flags {
  uint64_t items = 10'000;
  uint64_t lease_items = 100;
  uint64_t blocks = 64;
  uint64_t rows_per_block = 16;
  uint32_t dim = 4;
  int pause_milliseconds = 5;
  int call_seconds = 120;         // faults last longer than the default of a call
  bool rows_may_go_back = false;  // a job without backups restores a checkpoint
  std::string journal;            // directory
};

constexpr float kPattern = -12345.0F;  // no row ever holds it

double WallSeconds() { return Seconds(std::chrono::system_clock::now().time_since_epoch()); }

class Journal {
 public:
  static StatusOr<std::unique_ptr<Journal>> Open(const std::string& directory, const std::string& name) {
    const std::string path = directory + "/" + name;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
      return Error(StatusCode::kInvalidArgument,
                   "cannot write " + path + ": " + std::strerror(errno) + "; give --journal a writable directory");
    }
    return std::unique_ptr<Journal>(new Journal(file));
  }
  ~Journal() { close(file_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Status Issued(uint64_t item) { return Write('I', item, true); }
  Status Acknowledged(uint64_t item) { return Write('A', item, false); }
  Status StepEnded() { return Line("S %.3f\n", WallSeconds()); }

 private:
  explicit Journal(int file) : file_(file) {}

  Status Write(char kind, uint64_t item, bool with_time) {
    return with_time ? Line("%c %lu %.3f\n", kind, static_cast<unsigned long>(item), WallSeconds())
                     : Line("%c %lu\n", kind, static_cast<unsigned long>(item));
  }
  template <typename... Values>
  Status Line(const char* format, Values... values) {
    char text[64];
    const int size = std::snprintf(text, sizeof text, format, values...);
    if (write(file_, text, static_cast<size_t>(size)) == size) return OkStatus();
    return Error(StatusCode::kInternal, std::string("the journal cannot be written: ") + std::strerror(errno) +
                                            "; without it the sums cannot be checked");
  }

  const int file_;
};

// Rows of one block on their way. The memory belongs to the pull until it is done; between two pulls it holds a pattern
// that must not change.
class BlockBuffer {
 public:
  explicit BlockBuffer(size_t values) : rows_(values, kPattern) {}
  ~BlockBuffer() { (void)pull_.Wait(); }  // the memory must live until then
  BlockBuffer(const BlockBuffer&) = delete;
  BlockBuffer& operator=(const BlockBuffer&) = delete;

  Status Start(const ps::Table& table, std::span<const ps::Key> keys) {
    RETURN_IF_ERROR(CheckUntouched());
    pull_ = table.PullAsync(keys, rows_);
    started_ = true;
    return OkStatus();
  }
  StatusOr<std::span<const float>> Await() {
    RETURN_IF_ERROR(pull_.Wait());
    return std::span<const float>(rows_);
  }
  bool started() const { return started_; }
  void Release() {
    std::ranges::fill(rows_, kPattern);
    started_ = false;
  }

 private:
  Status CheckUntouched() const {
    const auto changed = std::ranges::find_if(rows_, [](float value) { return value != kPattern; });
    if (changed == rows_.end()) return OkStatus();
    return Error(StatusCode::kDataLoss, "memory was written after its pull had returned: position " +
                                            std::to_string(changed - rows_.begin()) + " holds " +
                                            std::to_string(*changed));
  }

  std::vector<float> rows_;
  ps::Future pull_;
  bool started_ = false;
};

class Worker {
 public:
  Worker(const Flags& flags, ps::Session& session, const ps::Table& table, Journal& journal, uint32_t index)
      : flags_(flags),
        session_(session),
        table_(table),
        journal_(journal),
        seen_(flags.blocks * flags.rows_per_block),
        memory_file_(flags.journal + "/take-memory-" + std::to_string(index)) {
    gradients_.resize(flags.rows_per_block * flags.dim);
    for (size_t i = 0; i < gradients_.size(); ++i) gradients_[i] = -static_cast<float>(i % flags.dim + 1);
  }

  Status Train() {
    for (const ps::DataLease& lease :
         session_.DataLeases("train", {.items = flags_.items, .lease_items = flags_.lease_items})) {
      RETURN_IF_ERROR(TrainOnLease(lease));
    }
    RETURN_IF_ERROR(session_.status());
    RETURN_IF_ERROR(session_.Flush());
    return NoteAcknowledged();
  }

  // One line per row: its number and its first value.
  Status WriteSums(const std::string& path) const {
    std::vector<ps::Key> keys(flags_.blocks * flags_.rows_per_block);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> rows(keys.size() * flags_.dim);
    RETURN_IF_ERROR(table_.Pull(keys, rows));
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "we"), &std::fclose);
    if (!file) return Error(StatusCode::kInternal, "cannot write " + path + ": " + std::strerror(errno));
    double sum = 0;
    for (size_t row = 0; row < keys.size(); ++row) {
      RETURN_IF_ERROR(CheckWhole(row, std::span(rows).subspan(row * flags_.dim, flags_.dim)));
      std::fprintf(file.get(), "%zu %.0f\n", row, static_cast<double>(rows[row * flags_.dim]));
      sum += rows[row * flags_.dim];
    }
    if (std::fflush(file.get()) != 0) return Error(StatusCode::kInternal, "cannot write " + path);
    return session_.Finish({.metrics = {{"counted", sum / static_cast<double>(flags_.rows_per_block)}}});
  }

 private:
  // The inner loop ends when the worker is asked to leave, as in README's "A worker".
  Status TrainOnLease(const ps::DataLease& lease) {
    const size_t values = gradients_.size();
    BlockBuffer buffers[2] = {BlockBuffer(values), BlockBuffer(values)};
    for (uint64_t item = lease.begin(); item < lease.end() && !session_.draining(); ++item) {
      BlockBuffer& current = buffers[item % 2];
      if (!current.started()) RETURN_IF_ERROR(current.Start(table_, KeysOf(item)));
      if (item + 1 < lease.end()) RETURN_IF_ERROR(buffers[(item + 1) % 2].Start(table_, KeysOf(item + 1)));
      ASSIGN_OR_RETURN(const std::span<const float> rows, current.Await());
      ASSIGN_OR_RETURN(const double mean, CheckBlock(item, rows));
      current.Release();
      RETURN_IF_ERROR(journal_.Issued(item));
      pushes_.emplace_back(item, table_.PushAsync(KeysOf(item), gradients_));
      lease.Advance(item + 1);
      RETURN_IF_ERROR(NoteAcknowledged());
      RETURN_IF_ERROR(session_.Step({.loss = 1 / (1 + mean), .samples = 1}));
      RETURN_IF_ERROR(journal_.StepEnded());
      TakeMemoryIfAsked();
      std::this_thread::sleep_for(std::chrono::milliseconds(flags_.pause_milliseconds));
    }
    return OkStatus();
  }

  std::vector<ps::Key> KeysOf(uint64_t item) const {
    std::vector<ps::Key> keys(flags_.rows_per_block);
    std::iota(keys.begin(), keys.end(), item % flags_.blocks * flags_.rows_per_block);
    return keys;
  }

  // Mean of the rows' counts.
  StatusOr<double> CheckBlock(uint64_t item, std::span<const float> rows) {
    const uint64_t first = item % flags_.blocks * flags_.rows_per_block;
    double sum = 0;
    for (uint64_t i = 0; i < flags_.rows_per_block; ++i) {
      const std::span<const float> row = rows.subspan(i * flags_.dim, flags_.dim);
      RETURN_IF_ERROR(CheckWhole(first + i, row));
      float& seen = seen_[first + i];
      if (row[0] < seen && !flags_.rows_may_go_back) {
        return Error(StatusCode::kDataLoss, "row " + std::to_string(first + i) + " went back from " +
                                                std::to_string(seen) + " to " + std::to_string(row[0]));
      }
      seen = row[0];
      sum += row[0];
    }
    return sum / static_cast<double>(flags_.rows_per_block);
  }

  static Status CheckWhole(uint64_t key, std::span<const float> row) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == row[0] * static_cast<float>(i + 1) && row[i] >= 0) continue;
      std::string values;
      for (const float value : row) values += " " + std::to_string(value);
      return Error(StatusCode::kDataLoss, "row " + std::to_string(key) + " is torn:" + values);
    }
    return OkStatus();
  }

  // Memory beyond any limit, once, when bench/chaos asks for it by a file.
  void TakeMemoryIfAsked() {
    if (unlink(memory_file_.c_str()) == 0) taken_.resize(size_t{2} << 30, 'x');
  }

  Status NoteAcknowledged() {
    while (!pushes_.empty() && pushes_.front().second.Done()) {
      RETURN_IF_ERROR(pushes_.front().second.Wait());
      RETURN_IF_ERROR(journal_.Acknowledged(pushes_.front().first));
      pushes_.pop_front();
    }
    return OkStatus();
  }

  const Flags& flags_;
  ps::Session& session_;
  const ps::Table& table_;
  Journal& journal_;
  std::vector<float> seen_;  // first value of each row when last pulled
  std::vector<float> gradients_;
  std::deque<std::pair<uint64_t, ps::Future>> pushes_;
  const std::string memory_file_;
  std::vector<char> taken_;
};

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  options.call_timeout = std::chrono::seconds(flags.call_seconds);
  options.connect_timeout = options.call_timeout;
  const std::string name = std::to_string(options.index) + "-" + std::to_string(getpid()) + "-" +
                           std::to_string(static_cast<long>(WallSeconds() * 1e3));
  ASSIGN_OR_RETURN(const std::unique_ptr<Journal> journal, Journal::Open(flags.journal, "journal-" + name));
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  session->SetSampleUnit("items");
  // SGD subtracts, so that rows grow by the gradients' negatives.
  ASSIGN_OR_RETURN(const ps::Table table,
                   session->OpenTable("sums", {.dim = flags.dim, .optimizer = ps::Sgd{.rate = 1.0F}}));
  Worker worker(flags, *session, table, *journal, options.index);
  RETURN_IF_ERROR(worker.Train());
  for ([[maybe_unused]] const ps::DataLease& lease : session->DataLeases("check", {.items = 1, .epochs = 1})) {
    RETURN_IF_ERROR(worker.WriteSums(flags.journal + "/sums-" + name));
  }
  return session->status();
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Flags flags;
  CLI::App app("Training program whose sums are known exactly; bench/chaos checks them");
  app.add_option("--items", flags.items, "Items of the one epoch")->capture_default_str();
  app.add_option("--lease-items", flags.lease_items, "Items handed out at a time")->capture_default_str();
  app.add_option("--blocks", flags.blocks, "Blocks of rows")->capture_default_str();
  app.add_option("--rows-per-block", flags.rows_per_block, "Rows of a step")->capture_default_str();
  app.add_option("--dim", flags.dim, "Values per row")->capture_default_str();
  app.add_option("--pause", flags.pause_milliseconds, "Milliseconds that a step computes")->capture_default_str();
  app.add_option("--call-seconds", flags.call_seconds, "Deadline of every call")->capture_default_str();
  app.add_flag("--rows-may-go-back", flags.rows_may_go_back, "The job restores a checkpoint when it loses a server");
  app.add_option("--journal", flags.journal, "Directory of journals and sums")->required();
  CLI11_PARSE(app, argc, argv);
  const attune::Status status = attune::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-tally: %s\n", attune::ToString(status).c_str());
  return 1;
}
