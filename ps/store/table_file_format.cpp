#include "ps/store/table_file_format.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <variant>

#include "ps/store/optimizer.h"
#include "ps/store/table_options.h"

namespace attune::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "table files are little-endian");

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

// The number of the kind, then its fields, four bytes each.
template <typename Variant>
void PutVariant(const Variant& variant, Writer& writer) {
  writer.Put(static_cast<uint32_t>(variant.index()));
  std::visit(
      [&](const auto& option) {
        ForEachField(option, [&](const char*, const auto& value) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
            writer.Put(value ? uint32_t{1} : uint32_t{0});
          } else {
            static_assert(sizeof value == sizeof(uint32_t));
            writer.Put(value);
          }
        });
      },
      variant);
}

template <typename Variant>
StatusOr<Variant> GetVariant(const char* what, Reader& reader) {
  Variant variant;
  const auto kind = reader.Get<uint32_t>();
  if (!Emplace(variant, kind)) {
    return Error(StatusCode::kInvalidArgument, std::string("its ") + what + " is of unknown kind " +
                                                   std::to_string(kind) + "; a later release has written it");
  }
  std::visit(
      [&](auto& option) {
        ForEachField(option, [&](const char*, auto& value) {
          using Value = std::remove_reference_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, bool>) {
            value = reader.Get<uint32_t>() != 0;
          } else {
            value = reader.Get<Value>();
          }
        });
      },
      variant);
  return variant;
}

template <typename Enum>
StatusOr<Enum> GetEnum(const char* what, Enum last, Reader& reader) {
  const auto number = reader.Get<uint8_t>();
  if (number <= static_cast<uint8_t>(last)) return static_cast<Enum>(number);
  return Error(StatusCode::kInvalidArgument, std::string("its ") + what + " is of unknown kind " +
                                                 std::to_string(number) + "; a later release has written it");
}

}  // namespace

uint32_t Crc32(uint32_t crc, std::string_view bytes) {
  if (bytes.empty()) return crc;  // zlib starts over when given a null pointer
  return static_cast<uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint64_t RowBytes(const TableSpec& spec) {
  const uint64_t floats = spec.options.dim + StateFloats(spec.options.optimizer, spec.options.dim);
  return sizeof(Key) + sizeof(RowVersion) + floats * sizeof(float);
}

uint64_t BlockRowsMax(const TableSpec& spec) { return std::max<uint64_t>(1, kBlockBytes / RowBytes(spec)); }

std::string EncodeHeader(const TableFileHeader& header) {
  Writer writer;
  writer.PutString(header.job_id);
  writer.PutString(header.spec.name);
  writer.Put(header.spec.options.dim);
  PutVariant(header.spec.options.optimizer, writer);
  PutVariant(header.spec.options.initializer, writer);
  writer.Put(header.spec.options.seed);
  writer.Put(header.spec.options.rows_max);
  const LearningRateSchedule& schedule = header.spec.options.schedule;
  writer.Put(schedule.decay);
  writer.Put(schedule.warmup_steps);
  writer.Put(schedule.decay_steps);
  writer.Put(schedule.final_factor);
  writer.Put(header.spec.options.value_type);
  writer.Put(header.spec.options.non_finite_gradients);
  writer.Put(header.row_count);
  return writer.Take();
}

StatusOr<TableFileHeader> DecodeHeader(std::string_view bytes) {
  Reader reader(bytes);
  TableFileHeader header;
  header.job_id = reader.GetString();
  header.spec.name = reader.GetString();
  header.spec.options.dim = reader.Get<uint32_t>();
  TableOptions& options = header.spec.options;
  ASSIGN_OR_RETURN(options.optimizer, GetVariant<Optimizer>("optimizer", reader));
  ASSIGN_OR_RETURN(options.initializer, GetVariant<Initializer>("initializer", reader));
  options.seed = reader.Get<uint64_t>();
  options.rows_max = reader.Get<uint64_t>();
  ASSIGN_OR_RETURN(options.schedule.decay, GetEnum("schedule", LearningRateDecay::kInverseSquareRoot, reader));
  options.schedule.warmup_steps = reader.Get<uint64_t>();
  options.schedule.decay_steps = reader.Get<uint64_t>();
  options.schedule.final_factor = reader.Get<float>();
  ASSIGN_OR_RETURN(options.value_type, GetEnum("value type", ValueType::kBfloat16, reader));
  ASSIGN_OR_RETURN(options.non_finite_gradients, GetEnum("policy for gradients", NonFiniteGradients::kSkipRow, reader));
  header.row_count = reader.Get<uint64_t>();
  if (!reader.IsComplete()) return Error(StatusCode::kInvalidArgument, "its header has the wrong length");
  RETURN_IF_ERROR(Validate(header.spec));
  return header;
}

}  // namespace attune::ps
