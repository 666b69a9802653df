#include "ps/store/table_file_format.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <variant>

#include "ps/store/optimizer.h"

namespace attune::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "table files are little-endian");

enum class OptimizerKind : uint32_t { kSgd = 0, kAdagrad = 1 };
enum class InitializerKind : uint32_t { kConstant = 0, kUniform = 1, kNormal = 2 };
constexpr uint32_t kStringBytesMax = kJobIdBytesMax;  // a table's name is shorter

class Writer {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void PutString(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads past the end give zeros and are remembered.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T Get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      ok_ = false;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string GetString() {
    const auto size = Get<uint32_t>();
    if (size > kStringBytesMax || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  bool IsComplete() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// Both kinds of settings take the same room, whatever the kind: a number and three floats.
void PutOptimizer(const Optimizer& optimizer, Writer& writer) {
  const bool is_adagrad = std::holds_alternative<Adagrad>(optimizer);
  const Adagrad settings = is_adagrad ? std::get<Adagrad>(optimizer) : Adagrad{.rate = std::get<Sgd>(optimizer).rate};
  writer.Put(is_adagrad ? OptimizerKind::kAdagrad : OptimizerKind::kSgd);
  writer.Put(settings.rate);
  writer.Put(settings.initial_accumulator);
  writer.Put(settings.epsilon);
}

StatusOr<Optimizer> GetOptimizer(Reader& reader) {
  const auto kind = reader.Get<OptimizerKind>();
  Adagrad settings;
  settings.rate = reader.Get<float>();
  settings.initial_accumulator = reader.Get<float>();
  settings.epsilon = reader.Get<float>();
  if (kind == OptimizerKind::kSgd) return Optimizer(Sgd{.rate = settings.rate});
  if (kind == OptimizerKind::kAdagrad) return Optimizer(settings);
  return Error(StatusCode::kInvalidArgument,
               "its optimizer is of unknown kind " + std::to_string(static_cast<uint32_t>(kind)));
}

void PutInitializer(const Initializer& initializer, Writer& writer) {
  writer.Put(static_cast<InitializerKind>(initializer.index()));
  float a = 0, b = 0;
  if (const auto* constant = std::get_if<ConstantInitializer>(&initializer)) a = constant->value;
  if (const auto* uniform = std::get_if<UniformInitializer>(&initializer)) a = uniform->low, b = uniform->high;
  if (const auto* normal = std::get_if<NormalInitializer>(&initializer)) {
    a = normal->mean;
    b = normal->standard_deviation;
  }
  writer.Put(a);
  writer.Put(b);
}

StatusOr<Initializer> GetInitializer(Reader& reader) {
  const auto kind = reader.Get<InitializerKind>();
  const auto a = reader.Get<float>();
  const auto b = reader.Get<float>();
  switch (kind) {
    case InitializerKind::kConstant:
      return Initializer(ConstantInitializer{a});
    case InitializerKind::kUniform:
      return Initializer(UniformInitializer{a, b});
    case InitializerKind::kNormal:
      return Initializer(NormalInitializer{a, b});
  }
  return Error(StatusCode::kInvalidArgument,
               "its initializer is of unknown kind " + std::to_string(static_cast<uint32_t>(kind)));
}

}  // namespace

uint32_t Crc32(uint32_t crc, std::string_view bytes) {
  if (bytes.empty()) return crc;  // zlib starts over when given a null pointer
  return static_cast<uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint64_t RowBytes(const TableSpec& spec) {
  const uint64_t floats = uint64_t{spec.options.dim} * (1 + StatesPerValue(spec.options.optimizer));
  return sizeof(Key) + sizeof(RowVersion) + floats * sizeof(float);
}

uint64_t BlockRowsMax(const TableSpec& spec) { return std::max<uint64_t>(1, kBlockBytes / RowBytes(spec)); }

std::string EncodeHeader(const TableFileHeader& header) {
  Writer writer;
  writer.PutString(header.job_id);
  writer.PutString(header.spec.name);
  writer.Put(header.spec.options.dim);
  PutOptimizer(header.spec.options.optimizer, writer);
  PutInitializer(header.spec.options.initializer, writer);
  writer.Put(header.spec.options.seed);
  writer.Put(header.spec.options.rows_max);
  writer.Put(header.row_count);
  return writer.Take();
}

StatusOr<TableFileHeader> DecodeHeader(std::string_view bytes) {
  Reader reader(bytes);
  TableFileHeader header;
  header.job_id = reader.GetString();
  header.spec.name = reader.GetString();
  header.spec.options.dim = reader.Get<uint32_t>();
  ASSIGN_OR_RETURN(header.spec.options.optimizer, GetOptimizer(reader));
  ASSIGN_OR_RETURN(header.spec.options.initializer, GetInitializer(reader));
  header.spec.options.seed = reader.Get<uint64_t>();
  header.spec.options.rows_max = reader.Get<uint64_t>();
  header.row_count = reader.Get<uint64_t>();
  if (!reader.IsComplete()) return Error(StatusCode::kInvalidArgument, "its header has the wrong length");
  RETURN_IF_ERROR(Validate(header.spec));
  return header;
}

}  // namespace attune::ps
