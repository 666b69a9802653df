#include "ps/runtime/model_directory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random.h"
#include "ps/store/table_file.h"
#include "ps/store/table_options.h"

namespace attune::ps {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr size_t kNamePartMax = 200;

Status CreateDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return OkStatus();
  return Error(StatusCode::kFailedPrecondition,
               "cannot create '" + directory.string() + "': " + error.message() + "; check the volume mounted there");
}

Json FieldsOf(const Optimizer& optimizer) {
  return std::visit(
      [](const auto& option) {
        std::string kind = OptionFields<std::remove_cvref_t<decltype(option)>>::kName;
        std::ranges::transform(kind, kind.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
        Json fields = {{"kind", kind}};
        ForEachField(option, [&](const char* name, const auto& value) { fields[name] = value; });
        return fields;
      },
      optimizer);
}

Json DescribeTable(const ManifestOrder& order, size_t index, uint64_t& rows) {
  const TableSpec& spec = order.tables[index];
  Json files = Json::array();
  for (const WrittenFile& file : order.files) {
    if (file.table.value() != index + 1) continue;
    files.push_back({{"name", file.name}, {"rows", file.rows}, {"bytes", file.bytes}, {"checksum", file.checksum}});
    rows += file.rows;
  }
  return {{"name", spec.name},
          {"dim", spec.options.dim},
          {"optimizer", FieldsOf(spec.options.optimizer)},
          {"files", std::move(files)}};
}

Status CheckVisible(const ManifestOrder& order) {
  for (const WrittenFile& file : order.files) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(fs::path(order.directory) / file.name, error);
    if (!error && bytes == file.bytes) continue;
    return Error(StatusCode::kFailedPrecondition,
                 "a server wrote '" + file.name + "' below '" + order.directory +
                     "', but the coordinator does not see it there" + (error ? "" : " in the same size") +
                     "; the servers must share the model directory (spec.model.claim of the job)");
  }
  return OkStatus();
}

// A file name from a manifest must stay in its directory.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.front() != '.';
}

}  // namespace

std::string TableFileName(std::string_view table, TableId id, uint32_t part, uint32_t parts) {
  std::string name;
  for (const char c : table) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || (c == '.' && !name.empty());
    if (plain) {
      name.push_back(c);
      continue;
    }
    std::array<char, 4> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "%%%02X", static_cast<unsigned char>(c));
    name += escaped.data();
  }
  if (name.size() > kNamePartMax) name = "table-" + std::to_string(id.value());
  return name + "." + std::to_string(part) + "-of-" + std::to_string(parts);
}

StatusOr<WrittenFile> DescribeFile(const fs::path& directory, const std::string& name) {
  std::ifstream file(directory / name, std::ios::binary);
  if (!file) return Error(StatusCode::kNotFound, "cannot open '" + (directory / name).string() + "'");
  WrittenFile described{.name = name};
  std::vector<char> buffer(1 << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<size_t>(file.gcount());
    for (size_t at = 0; at < count; at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, buffer.data() + at, std::min<size_t>(8, count - at));
      described.checksum = SplitMix64(described.checksum ^ word);
    }
    described.bytes += count;
  }
  return described;
}

StatusOr<std::vector<WrittenFile>> WriteTableFiles(const fs::path& directory, std::string_view job_uid,
                                                   const std::vector<const TableStore*>& stores, uint32_t part,
                                                   uint32_t parts) {
  RETURN_IF_ERROR(CreateDirectory(directory));
  std::vector<WrittenFile> written;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (stores[i] == nullptr) continue;
    const TableId id(static_cast<uint32_t>(i + 1));
    const std::string name = TableFileName(stores[i]->spec().name, id, part, parts);
    RETURN_IF_ERROR(WriteTableFile(directory / name, job_uid, *stores[i]));
    ASSIGN_OR_RETURN(WrittenFile file, DescribeFile(directory, name));
    file.table = id;
    file.rows = stores[i]->row_count();
    written.push_back(std::move(file));
  }
  return written;
}

Status WriteManifest(const ManifestOrder& order, std::string_view job_uid) {
  RETURN_IF_ERROR(CheckVisible(order));
  Json tables = Json::array();
  uint64_t rows = 0;
  for (size_t i = 0; i < order.tables.size(); ++i) tables.push_back(DescribeTable(order, i, rows));
  const Json manifest = {{"format", kFormat}, {"jobUid", job_uid}, {"rows", rows}, {"tables", std::move(tables)}};
  // Names are the user's bytes, maybe not UTF-8: replaced in the text, which must not throw.
  const std::string text = manifest.dump(2, ' ', false, Json::error_handler_t::replace);
  return WriteFileAtomically(fs::path(order.directory) / kManifestName, text + "\n");
}

StatusOr<SavedModel> SavedModel::Open(const fs::path& directory) {
  const fs::path path = directory / kManifestName;
  StatusOr<std::string> text = ReadFile(path, kManifestBytesMax);
  if (!text.ok()) {
    return Annotate(text.status(), "'" + directory.string() + "' holds no saved tables");
  }
  SavedModel model;
  model.directory_ = directory;
  try {
    const Json manifest = Json::parse(*text);
    if (manifest.at("format").get<int>() != kFormat) {
      return Error(StatusCode::kFailedPrecondition, "'" + path.string() + "' was written in format " +
                                                        manifest.at("format").dump() + ", this release reads format " +
                                                        std::to_string(kFormat));
    }
    for (const Json& table : manifest.at("tables")) {
      std::vector<File>& files = model.files_[table.at("name").get<std::string>()];
      for (const Json& file : table.at("files")) {
        files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<uint64_t>(),
                         file.at("checksum").get<uint64_t>()});
        if (!IsPlainName(files.back().name))
          return Error(StatusCode::kDataLoss, "'" + path.string() + "' names a file outside its directory");
      }
    }
  } catch (const Json::exception& error) {
    return Error(StatusCode::kDataLoss, "'" + path.string() + "' is damaged: " + error.what());
  }
  return model;
}

Status SavedModel::Load(TableStore& store, const std::function<bool(Key)>& keep) const {
  const auto it = files_.find(store.spec().name);
  if (it == files_.end()) return OkStatus();
  for (const File& file : it->second) {
    const fs::path path = directory_ / file.name;
    ASSIGN_OR_RETURN(const WrittenFile found, DescribeFile(directory_, file.name));
    if (found.bytes != file.bytes || found.checksum != file.checksum) {
      return Error(StatusCode::kDataLoss, "'" + path.string() +
                                              "' is not the file its manifest names; it was damaged, or "
                                              "overwritten by a later save that did not end");
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<TableStore> saved, ReadTableFile(path, "", store.spec()));
    Status status;
    saved->ForEachRow([&](const RowView& row) {
      if (status.ok() && keep(row.key)) status = store.Insert(row);
    });
    RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

}  // namespace attune::ps
