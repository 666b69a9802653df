// npz: a zip archive of .npy arrays, stored, not compressed. Sizes are known before the bytes, their CRC-32 after them:
// it stands in a data descriptor and in the central directory. Always with the zip64 fields, so that nothing is limited
// to 4 GiB (PKWARE's APPNOTE 6.3.9, sections 4.3, 4.4, 4.5.3; NumPy's NEP 1).
#include <zlib.h>

#include <string>

#include "ps/checkpoint/export/export_output.h"
#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/table_spec_json.h"
#include "ps/checkpoint/store_rows.h"

namespace attune::ps {
namespace {

constexpr uint16_t kZip64Version = 45;
constexpr uint16_t kFlags = (1 << 3) | (1 << 11);       // sizes follow the data; names are UTF-8
constexpr uint16_t kDosDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01: the same rows give the same bytes
constexpr uint32_t kIn64 = 0xFFFFFFFF;

struct Member {
  std::string name;
  uint64_t offset = 0, bytes = 0;
  uint32_t crc = 0;
};

std::string NpyHeader(const char* dtype, const std::string& shape) {
  std::string text = std::string("{'descr': '") + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
  constexpr size_t kStart = 10, kAlignment = 64;
  text.append(kAlignment - (kStart + text.size() + 1) % kAlignment, ' ');
  text.push_back('\n');
  ByteWriter header;
  header.PutBytes("\x93NUMPY\x01");
  header.Put(uint8_t{0});
  header.Put(static_cast<uint16_t>(text.size()));
  header.PutBytes(text);
  return std::move(header.bytes());
}

class ZipWriter {
 public:
  explicit ZipWriter(ExportOutput& output) : output_(output) {}

  Status Begin(const std::string& name, uint64_t bytes) {
    members_.push_back({.name = name, .offset = output_.bytes(), .bytes = bytes});
    ByteWriter header;
    header.Put(uint32_t{0x04034b50});
    PutCommon(header, 0, kIn64, kIn64);
    header.Put(static_cast<uint16_t>(name.size()));
    header.Put(uint16_t{20});  // the zip64 field
    header.PutBytes(name);
    header.Put(uint16_t{1});
    header.Put(uint16_t{16});
    header.Put(bytes);
    header.Put(bytes);
    return output_.Write(header.bytes());
  }
  Status Write(std::string_view bytes) {
    Member& member = members_.back();
    member.crc =
        static_cast<uint32_t>(::crc32_z(member.crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    return output_.Write(bytes);
  }
  Status End() {
    ByteWriter descriptor;
    descriptor.Put(uint32_t{0x08074b50});
    descriptor.Put(members_.back().crc);
    descriptor.Put(members_.back().bytes);
    descriptor.Put(members_.back().bytes);
    return output_.Write(descriptor.bytes());
  }
  Status Finish() {
    const uint64_t start = output_.bytes();
    for (const Member& member : members_) RETURN_IF_ERROR(output_.Write(CentralHeader(member)));
    return output_.Write(EndRecords(start, output_.bytes() - start));
  }

 private:
  static void PutCommon(ByteWriter& header, uint32_t crc, uint32_t compressed, uint32_t plain) {
    header.Put(kZip64Version);
    header.Put(kFlags);
    header.Put(uint16_t{0});  // stored
    header.Put(uint16_t{0});  // time
    header.Put(kDosDate);
    header.Put(crc);
    header.Put(compressed);
    header.Put(plain);
  }
  static std::string CentralHeader(const Member& member) {
    ByteWriter header;
    header.Put(uint32_t{0x02014b50});
    header.Put(uint16_t{(3 << 8) | kZip64Version});  // made on Unix
    PutCommon(header, member.crc, kIn64, kIn64);
    header.Put(static_cast<uint16_t>(member.name.size()));
    header.Put(uint16_t{28});  // the zip64 field
    header.Put(uint16_t{0});   // comment
    header.Put(uint16_t{0});   // disk
    header.Put(uint16_t{0});   // internal attributes
    header.Put(uint32_t{0100644U << 16});
    header.Put(kIn64);
    header.PutBytes(member.name);
    header.Put(uint16_t{1});
    header.Put(uint16_t{24});
    header.Put(member.bytes);
    header.Put(member.bytes);
    header.Put(member.offset);
    return std::move(header.bytes());
  }
  std::string EndRecords(uint64_t start, uint64_t bytes) const {
    ByteWriter end;
    end.Put(uint32_t{0x06064b50});
    end.Put(uint64_t{44});  // of this record from here on
    end.Put(uint16_t{(3 << 8) | kZip64Version});
    end.Put(kZip64Version);
    end.Put(uint32_t{0});
    end.Put(uint32_t{0});
    end.Put(uint64_t{members_.size()});
    end.Put(uint64_t{members_.size()});
    end.Put(bytes);
    end.Put(start);
    end.Put(uint32_t{0x07064b50});  // where that record is
    end.Put(uint32_t{0});
    end.Put(start + bytes);
    end.Put(uint32_t{1});
    end.Put(uint32_t{0x06054b50});
    end.Put(uint16_t{0});
    end.Put(uint16_t{0});
    end.Put(uint16_t{0xFFFF});
    end.Put(uint16_t{0xFFFF});
    end.Put(kIn64);
    end.Put(kIn64);
    end.Put(uint16_t{0});
    return std::move(end.bytes());
  }

  ExportOutput& output_;
  std::vector<Member> members_;
};

std::string MemberName(const TableSpec& spec, const char* array) {
  // A slash would make a directory of it, which numpy reads and people do not expect.
  std::string name = EscapeText(spec.name);
  for (char& c : name) c = c == '/' ? '.' : c;
  return name + "." + array + ".npy";
}

}  // namespace

Status WriteNpz(std::vector<ExportTable>& tables, ExportOutput& output) {
  ZipWriter zip(output);
  for (ExportTable& table : tables) {
    const std::string rows = std::to_string(table.rows());
    std::string header = NpyHeader("<i8", "(" + rows + ",)");
    RETURN_IF_ERROR(zip.Begin(MemberName(table.spec(), "keys"), header.size() + table.rows() * sizeof(Key)));
    RETURN_IF_ERROR(zip.Write(header));
    RETURN_IF_ERROR(table.ForEach(RowMerge::Columns::kKeys, [&](const StoredRow& row) {
      return zip.Write({reinterpret_cast<const char*>(&row.key), sizeof row.key});
    }));
    RETURN_IF_ERROR(zip.End());

    header = NpyHeader("<f4", "(" + rows + ", " + std::to_string(table.spec().options.dim) + ")");
    const uint64_t value_bytes = table.rows() * RowSizesOf(table.spec()).value_bytes;
    RETURN_IF_ERROR(zip.Begin(MemberName(table.spec(), "values"), header.size() + value_bytes));
    RETURN_IF_ERROR(zip.Write(header));
    RETURN_IF_ERROR(
        table.ForEach(RowMerge::Columns::kRows, [&](const StoredRow& row) { return zip.Write(row.values); }));
    RETURN_IF_ERROR(zip.End());
  }
  return zip.Finish();
}

}  // namespace attune::ps
