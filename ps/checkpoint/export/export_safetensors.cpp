// safetensors: u64 length of a JSON header | header: name -> dtype, shape, place | bytes of the tensors without gaps.
#include <nlohmann/json.hpp>

#include "ps/checkpoint/export/export_output.h"
#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/table_spec_json.h"
#include "ps/checkpoint/store_rows.h"

namespace attune::ps {
namespace {

constexpr uint64_t kHeaderAlignment = 8;  // the data begins at a multiple, as readers that map the file like it

std::string Header(const std::vector<ExportTable>& tables) {
  nlohmann::json header = nlohmann::json::object();
  uint64_t offset = 0;
  for (const ExportTable& table : tables) {
    const std::string name = EscapeText(table.spec().name);
    const uint64_t key_bytes = table.rows() * sizeof(Key);
    const uint64_t value_bytes = table.rows() * RowSizesOf(table.spec()).value_bytes;
    header[name + ".keys"] = {
        {"dtype", "I64"}, {"shape", {table.rows()}}, {"data_offsets", {offset, offset + key_bytes}}};
    offset += key_bytes;
    header[name + ".values"] = {{"dtype", "F32"},
                                {"shape", {table.rows(), table.spec().options.dim}},
                                {"data_offsets", {offset, offset + value_bytes}}};
    offset += value_bytes;
  }
  std::string text = header.dump();
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  return text;
}

}  // namespace

Status WriteSafetensors(std::vector<ExportTable>& tables, ExportOutput& output) {
  const std::string header = Header(tables);
  ByteWriter length;
  length.Put(uint64_t{header.size()});
  RETURN_IF_ERROR(output.Write(length.bytes()));
  RETURN_IF_ERROR(output.Write(header));
  for (ExportTable& table : tables) {
    RETURN_IF_ERROR(table.ForEach(RowMerge::Columns::kKeys, [&](const StoredRow& row) {
      return output.Write({reinterpret_cast<const char*>(&row.key), sizeof row.key});
    }));
    RETURN_IF_ERROR(
        table.ForEach(RowMerge::Columns::kRows, [&](const StoredRow& row) { return output.Write(row.values); }));
  }
  return OkStatus();
}

}  // namespace attune::ps
