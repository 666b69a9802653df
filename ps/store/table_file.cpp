#include "ps/store/table_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "ps/store/table_file_format.h"

namespace attune::ps {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status SystemError(const std::filesystem::path& path, std::string_view doing, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const StatusCode code = error == ENOENT                     ? StatusCode::kNotFound
                          : error == EACCES || error == EROFS ? StatusCode::kPermissionDenied
                          : is_full                           ? StatusCode::kResourceExhausted
                                                              : StatusCode::kUnavailable;
  return Error(code, std::string(doing) + " table file '" + path.string() + "': " + ErrnoText(error) +
                         (is_full ? "; make room and save again, what was saved before is untouched" : ""));
}

// --- writing

class FileWriter {
 public:
  FileWriter(const std::filesystem::path& path, int fd) : path_(path), fd_(fd) {}

  Status Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(path_, "cannot write", errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return OkStatus();
  }
  // `bytes` and behind them their checksum.
  Status WriteChecked(std::string bytes) {
    const uint32_t crc = Crc32(0, bytes);
    bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    return Write(bytes);
  }

 private:
  const std::filesystem::path& path_;
  int fd_;
};

void AppendU32(std::string& bytes, uint32_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void AppendFloats(std::string& bytes, std::span<const float> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

Status WriteRows(FileWriter& file, const TableStore& store) {
  const uint64_t block_rows_max = BlockRowsMax(store.spec());
  uint64_t rows_left = store.row_count();
  uint64_t block_rows = 0;
  std::string block;
  Status status = OkStatus();
  store.ForEachRow([&](const RowView& row) {
    if (!status.ok()) return;
    if (block_rows == 0) {
      block_rows = std::min(rows_left, block_rows_max);
      rows_left -= block_rows;
      block.clear();
      block.reserve(block_rows * RowBytes(store.spec()) + 2 * sizeof(uint32_t));
      AppendU32(block, static_cast<uint32_t>(block_rows));
    }
    block.append(reinterpret_cast<const char*>(&row.key), sizeof row.key);
    const uint64_t version = row.version.value();
    block.append(reinterpret_cast<const char*>(&version), sizeof version);
    AppendFloats(block, row.values);
    AppendFloats(block, row.state);
    if (--block_rows == 0) status = file.WriteChecked(std::move(block));
  });
  RETURN_IF_ERROR(status);
  std::string end;
  AppendU32(end, 0);
  return file.WriteChecked(std::move(end));
}

Status WriteContent(const std::filesystem::path& path, int fd, std::string_view job_id, const TableStore& store) {
  const std::string header =
      EncodeHeader({.job_id = std::string(job_id), .spec = store.spec(), .row_count = store.row_count()});
  std::string preamble(kTableFileMagic);
  AppendU32(preamble, kTableFileVersion);
  AppendU32(preamble, static_cast<uint32_t>(header.size()));
  FileWriter file(path, fd);
  RETURN_IF_ERROR(file.WriteChecked(preamble + header));
  RETURN_IF_ERROR(WriteRows(file, store));
  if (::fchmod(fd, 0644) != 0) return SystemError(path, "cannot set the mode of", errno);
  if (::fsync(fd) != 0) return SystemError(path, "cannot sync", errno);
  return OkStatus();
}

// A file above the process's size limit raises SIGXFSZ, whose default ends the process; blocked, write returns EFBIG.
class BlockedFileSizeSignal {
 public:
  BlockedFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~BlockedFileSizeSignal() {
    const timespec at_once{};
    if (::sigismember(&before_, SIGXFSZ) == 0) ::sigtimedwait(&signal_, nullptr, &at_once);  // take a pending one
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedFileSizeSignal(const BlockedFileSizeSignal&) = delete;
  BlockedFileSizeSignal& operator=(const BlockedFileSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
};

// --- reading

class FileReader {
 public:
  FileReader(const std::filesystem::path& path, int fd) : path_(path), fd_(fd) {}

  // Exactly bytes.size() bytes; `what` they are goes into the message when the file ends before.
  Status Read(std::span<char> bytes, std::string_view what) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::read(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(path_, "cannot read", errno);
      if (n == 0)
        return Damaged("it ends within " + std::string(what) + ", at byte " + std::to_string(position_ + done));
      done += static_cast<size_t>(n);
    }
    position_ += done;
    return OkStatus();
  }
  StatusOr<uint32_t> ReadU32(std::string_view what) {
    uint32_t value = 0;
    RETURN_IF_ERROR(Read({reinterpret_cast<char*>(&value), sizeof value}, what));
    return value;
  }
  // Compares the checksum that follows with `crc`.
  Status ReadChecksum(uint32_t crc, std::string_view what) {
    const uint64_t at = position_;
    ASSIGN_OR_RETURN(const uint32_t expected, ReadU32(what));
    if (crc == expected) return OkStatus();
    return Damaged("the checksum of " + std::string(what) + " before byte " + std::to_string(at) + " does not fit");
  }
  Status ExpectEnd() {
    char byte = 0;
    const ssize_t n = ::read(fd_, &byte, 1);
    if (n < 0) return SystemError(path_, "cannot read", errno);
    if (n > 0) return Damaged("it goes on after its end, at byte " + std::to_string(position_));
    return OkStatus();
  }
  Status Damaged(const std::string& how) const {
    return Error(StatusCode::kDataLoss,
                 "table file '" + path_.string() + "' is damaged: " + how + "; restore it or use an older model");
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path& path_;
  int fd_;
  uint64_t position_ = 0;
};

std::string_view AsText(const uint32_t& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

StatusOr<TableFileHeader> ReadHeader(FileReader& file) {
  std::string magic(kTableFileMagic.size(), '\0');
  RETURN_IF_ERROR(file.Read(magic, "the magic number"));
  if (magic != kTableFileMagic) return file.Damaged("it does not start as a table file does");
  ASSIGN_OR_RETURN(const uint32_t version, file.ReadU32("the format version"));
  if (version != kTableFileVersion) {
    return Error(StatusCode::kFailedPrecondition, "table file '" + file.path().string() + "' has format version " +
                                                      std::to_string(version) + ", this program reads version " +
                                                      std::to_string(kTableFileVersion));
  }
  ASSIGN_OR_RETURN(const uint32_t header_bytes, file.ReadU32("the header's length"));
  if (header_bytes > kHeaderBytesMax)
    return file.Damaged("its header claims " + std::to_string(header_bytes) + " bytes");
  std::string bytes(header_bytes, '\0');
  RETURN_IF_ERROR(file.Read(bytes, "the header"));
  const uint32_t preamble_crc = Crc32(Crc32(Crc32(0, magic), AsText(version)), AsText(header_bytes));
  RETURN_IF_ERROR(file.ReadChecksum(Crc32(preamble_crc, bytes), "the header"));
  StatusOr<TableFileHeader> header = DecodeHeader(bytes);
  if (!header.ok()) return file.Damaged(std::string(Message(header.status())));
  return header;
}

// One block's rows into the store; `rows` of them, already checked.
Status InsertBlock(const std::vector<char>& block, uint64_t rows, TableStore& store) {
  const size_t dim = store.spec().options.dim;
  const uint64_t row_bytes = RowBytes(store.spec());
  std::vector<float> floats((row_bytes - sizeof(Key) - sizeof(uint64_t)) / sizeof(float));
  for (uint64_t i = 0; i < rows; ++i) {
    const char* bytes = block.data() + i * row_bytes;
    RowView row{};
    std::memcpy(&row.key, bytes, sizeof row.key);
    uint64_t version = 0;
    std::memcpy(&version, bytes + sizeof row.key, sizeof version);
    std::memcpy(floats.data(), bytes + sizeof row.key + sizeof version, floats.size() * sizeof(float));
    row.version = RowVersion(version);
    row.values = std::span(floats).first(dim);
    row.state = std::span(floats).subspan(dim);
    RETURN_IF_ERROR(store.Insert(row));
  }
  return OkStatus();
}

Status ReadRows(FileReader& file, const TableFileHeader& header, TableStore& store) {
  const uint64_t block_rows_max = BlockRowsMax(header.spec);
  std::vector<char> block;
  for (uint64_t rows_read = 0;;) {
    ASSIGN_OR_RETURN(const uint32_t rows, file.ReadU32("the length of a block of rows"));
    if (rows > block_rows_max || rows > header.row_count - rows_read) {
      return file.Damaged("a block claims " + std::to_string(rows) + " rows");
    }
    block.resize(rows * RowBytes(header.spec));
    RETURN_IF_ERROR(file.Read(block, "a block of rows"));
    const uint32_t crc = Crc32(Crc32(0, AsText(rows)), {block.data(), block.size()});
    RETURN_IF_ERROR(file.ReadChecksum(crc, "a block of rows"));
    RETURN_IF_ERROR(InsertBlock(block, rows, store));
    rows_read += rows;
    if (rows > 0) continue;
    if (rows_read != header.row_count || store.row_count() != header.row_count) {
      return file.Damaged("it holds " + std::to_string(store.row_count()) + " different rows, its header says " +
                          std::to_string(header.row_count));
    }
    return file.ExpectEnd();
  }
}

bool SameInitializer(const Initializer& a, const Initializer& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<ConstantInitializer>(&a)) return x->value == std::get<ConstantInitializer>(b).value;
  if (const auto* x = std::get_if<UniformInitializer>(&a)) {
    const auto& y = std::get<UniformInitializer>(b);
    return x->low == y.low && x->high == y.high;
  }
  const auto& x = std::get<NormalInitializer>(a);
  const auto& y = std::get<NormalInitializer>(b);
  return x.mean == y.mean && x.standard_deviation == y.standard_deviation;
}

std::string Difference(const TableFileHeader& found, std::string_view job_id, const TableSpec& wanted) {
  const TableOptions& f = found.spec.options;
  const TableOptions& w = wanted.options;
  if (!job_id.empty() && found.job_id != job_id) {
    return "is of job '" + found.job_id + "', wanted is job '" + std::string(job_id) + "'";
  }
  if (found.spec.name != wanted.name) return "holds table '" + found.spec.name + "', wanted is '" + wanted.name + "'";
  if (f.dim != w.dim) return "has dim " + std::to_string(f.dim) + ", wanted is " + std::to_string(w.dim);
  if (f.optimizer.index() != w.optimizer.index()) return "was trained with another optimizer";
  if (!SameInitializer(f.initializer, w.initializer)) return "was trained with another initializer";
  if (f.seed != w.seed) return "has seed " + std::to_string(f.seed) + ", wanted is " + std::to_string(w.seed);
  return "";
}

}  // namespace

Status WriteTableFile(const std::filesystem::path& path, std::string_view job_id, const TableStore& store) {
  if (job_id.size() > kJobIdBytesMax) {
    return Error(StatusCode::kInvalidArgument, "the job id has " + std::to_string(job_id.size()) +
                                                   " bytes, a table file takes " + std::to_string(kJobIdBytesMax));
  }
  std::string temporary = path.string() + ".XXXXXX";
  const BlockedFileSizeSignal blocked;
  const Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return SystemError(path, "cannot create a file beside", errno);
  Status status = WriteContent(path, fd.get(), job_id, store);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    status = SystemError(path, "cannot replace", errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

StatusOr<TableFileHeader> ReadTableFileHeader(const std::filesystem::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError(path, "cannot open", errno);
  FileReader file(path, fd.get());
  return ReadHeader(file);
}

StatusOr<std::unique_ptr<TableStore>> ReadTableFile(const std::filesystem::path& path, std::string_view job_id,
                                                    const TableSpec& spec) {
  ASSIGN_OR_RETURN(auto store, TableStore::Create(spec));
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError(path, "cannot open", errno);
  FileReader file(path, fd.get());
  ASSIGN_OR_RETURN(const TableFileHeader header, ReadHeader(file));
  if (const std::string difference = Difference(header, job_id, spec); !difference.empty()) {
    return Error(StatusCode::kFailedPrecondition, "table file '" + path.string() + "' " + difference);
  }
  if (Status status = ReadRows(file, header, *store); !status.ok()) return status;
  return store;
}

}  // namespace attune::ps
