#include "ps/checkpoint/format/manifest.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "ps/checkpoint/format/crc32c.h"
#include "ps/checkpoint/format/metrics_json.h"
#include "ps/checkpoint/format/table_spec_json.h"
#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

using Json = nlohmann::json;

constexpr char kFormatName[] = "attune-checkpoint";
constexpr char kByteOrder[] = "little";
constexpr size_t kFilesMax = 1 << 20;
constexpr size_t kTablesMax = 4096;
constexpr size_t kFirstLineBytes = sizeof("{\"crc32c\": \"01234567\",\n") - 1;

std::string FirstLine(uint32_t crc) {
  std::array<char, kFirstLineBytes + 1> line{};
  std::snprintf(line.data(), line.size(), "{\"crc32c\": \"%08x\",\n", crc);
  return line.data();
}

Json PutFile(const CheckpointFile& file) {
  Json json = {{"name", file.name},
               {"checkpoint", file.checkpoint},
               {"rows", file.rows},
               {"bytes", file.bytes},
               {"digest", file.digest}};
  if (file.erased > 0) json["erased"] = file.erased;
  return json;
}

CheckpointFile GetFile(const Json& from) {
  CheckpointFile file;
  file.name = from.at("name").get<std::string>();
  file.checkpoint = from.at("checkpoint").get<uint64_t>();
  file.rows = from.at("rows").get<uint64_t>();
  file.erased = from.value("erased", uint64_t{0});
  file.bytes = from.at("bytes").get<uint64_t>();
  file.digest = from.at("digest").get<uint32_t>();
  // A name from a manifest must stay in its directory.
  if (file.name.empty() || file.name.front() == '.' || file.name.find('/') != std::string::npos) {
    throw std::invalid_argument("it names a file outside its directory");
  }
  return file;
}

Json PutFiles(const std::vector<CheckpointFile>& files) {
  Json json = Json::array();
  for (const CheckpointFile& file : files) json.push_back(PutFile(file));
  return json;
}

std::vector<CheckpointFile> GetFiles(const Json& from) {
  if (!from.is_array() || from.size() > kFilesMax) throw std::invalid_argument("it names too many files");
  std::vector<CheckpointFile> files;
  for (const Json& file : from) files.push_back(GetFile(file));
  return files;
}

Json PutDataSet(const CutRecord::DataSet& set) {
  Json done = Json::array(), open = Json::array();
  for (const auto& range : set.done) done.push_back({range.epoch, range.begin, range.end});
  for (const auto& lease : set.open) open.push_back({lease.epoch, lease.begin, lease.end, lease.position});
  return {{"name", EscapeText(set.name)},
          {"items", set.items},
          {"epochs", set.epochs},
          {"leaseItems", set.lease_items},
          {"finishedEpochs", set.finished_epochs},
          {"done", std::move(done)},  // [epoch, begin, end]
          {"open", std::move(open)},  // [epoch, begin, end, position]
          {"reprocessedItems", set.reprocessed_items}};
}

CutRecord::DataSet GetDataSet(const Json& from) {
  CutRecord::DataSet set;
  set.name = UnescapeText(from.at("name").get<std::string>());
  set.items = from.at("items").get<uint64_t>();
  set.epochs = from.at("epochs").get<uint64_t>();
  set.lease_items = from.at("leaseItems").get<uint64_t>();
  set.finished_epochs = from.at("finishedEpochs").get<uint64_t>();
  set.reprocessed_items = from.at("reprocessedItems").get<uint64_t>();
  for (const Json& range : from.at("done")) {
    const auto numbers = range.get<std::array<uint64_t, 3>>();
    if (numbers[1] > numbers[2] || numbers[2] > set.items) throw std::invalid_argument("a range of items is not one");
    set.done.push_back({numbers[0], numbers[1], numbers[2]});
  }
  for (const Json& lease : from.at("open")) {
    const auto numbers = lease.get<std::array<uint64_t, 4>>();
    if (numbers[1] > numbers[3] || numbers[3] > numbers[2] || numbers[2] > set.items) {
      throw std::invalid_argument("a lease of items is not one");
    }
    set.open.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return set;
}

Json PutCut(const CutRecord& cut) {
  Json sets = Json::array();
  for (const CutRecord::DataSet& set : cut.data_sets) sets.push_back(PutDataSet(set));
  Json json = {{"synchronization", cut.synchronization},
               {"clock", cut.clock},
               {"steps", cut.steps},
               {"seconds", cut.seconds},
               {"dataSets", std::move(sets)}};
  if (!cut.metrics.empty()) json["metrics"] = PutMetrics(cut.metrics);
  if (cut.best) json["best"] = PutBest(*cut.best);
  return json;
}

CutRecord GetCut(const Json& from) {
  CutRecord cut;
  cut.synchronization = from.at("synchronization").get<std::string>();
  cut.clock = from.at("clock").get<uint64_t>();
  cut.steps = from.at("steps").get<uint64_t>();
  cut.seconds = from.at("seconds").get<double>();
  for (const Json& set : from.at("dataSets")) cut.data_sets.push_back(GetDataSet(set));
  if (from.contains("metrics")) cut.metrics = GetMetrics(from.at("metrics"));  // not of earlier releases
  if (from.contains("best")) cut.best = GetBest(from.at("best"));
  return cut;
}

Manifest GetManifest(const Json& from) {
  Manifest manifest;
  manifest.number = from.at("checkpoint").get<uint64_t>();
  manifest.base = from.at("base").get<uint64_t>();
  manifest.job_uid = UnescapeText(from.at("jobUid").get<std::string>());
  manifest.written_at = from.at("writtenAt").get<int64_t>();
  manifest.protocol_version = from.at("protocolVersion").get<uint32_t>();
  manifest.cut = GetCut(from.at("cut"));
  manifest.filters = GetFiles(from.at("filters"));
  if (manifest.number == 0) throw std::invalid_argument("its number is 0");
  if (from.at("tables").size() > kTablesMax) throw std::invalid_argument("it has too many tables");
  std::set<std::string> names;
  for (const Json& table : from.at("tables")) {
    manifest.tables.push_back(
        {.spec = GetTableSpec(table), .files = GetFiles(table.at("files")), .rows = table.at("rows").get<uint64_t>()});
    if (!names.insert(manifest.tables.back().spec.name).second) throw std::invalid_argument("it has a table twice");
  }
  return manifest;
}

Status DamagedManifest(const std::string& how) {
  return Error(StatusCode::kDataLoss, "the manifest is damaged: " + how);
}

}  // namespace

const CheckpointTable* Manifest::Find(std::string_view table) const {
  const auto it =
      std::find_if(tables.begin(), tables.end(), [&](const CheckpointTable& t) { return t.spec.name == table; });
  return it == tables.end() ? nullptr : &*it;
}

uint64_t Manifest::rows() const {
  uint64_t rows = 0;
  for (const CheckpointTable& table : tables) rows += table.rows;
  return rows;
}

std::vector<CheckpointFile> Manifest::AllFiles() const {
  std::vector<CheckpointFile> all = filters;
  for (const CheckpointTable& table : tables) all.insert(all.end(), table.files.begin(), table.files.end());
  return all;
}

uint64_t Manifest::bytes() const {
  uint64_t bytes = 0;
  for (const CheckpointFile& file : AllFiles()) bytes += file.bytes;
  return bytes;
}

uint64_t Manifest::own_bytes() const {
  uint64_t bytes = 0;
  for (const CheckpointFile& file : AllFiles()) bytes += file.checkpoint == number ? file.bytes : 0;
  return bytes;
}

std::string EncodeManifest(const Manifest& manifest) {
  Json tables = Json::array();
  for (const CheckpointTable& table : manifest.tables) {
    Json json = {{"rows", table.rows}, {"files", PutFiles(table.files)}};
    PutTableSpec(table.spec, json);
    tables.push_back(std::move(json));
  }
  const Json json = {{"format", kFormatName},
                     {"formatVersion", kManifestVersion},
                     {"byteOrder", kByteOrder},
                     {"protocolVersion", manifest.protocol_version},
                     {"checkpoint", manifest.number},
                     {"base", manifest.base},
                     {"jobUid", EscapeText(manifest.job_uid)},
                     {"writtenAt", manifest.written_at},
                     {"cut", PutCut(manifest.cut)},
                     {"tables", std::move(tables)},
                     {"filters", PutFiles(manifest.filters)}};
  const std::string rest = json.dump(1, ' ', false, Json::error_handler_t::replace).substr(2) + "\n";  // without "{\n"
  return FirstLine(Crc32c(0, rest)) + rest;
}

StatusOr<Manifest> DecodeManifest(std::string_view text) {
  if (text.size() < kFirstLineBytes ||
      FirstLine(Crc32c(0, text.substr(kFirstLineBytes))) != text.substr(0, kFirstLineBytes)) {
    return DamagedManifest("its checksum does not fit its " + std::to_string(text.size()) + " bytes");
  }
  try {
    const Json json = Json::parse(text);
    if (json.at("format").get<std::string>() != kFormatName) return DamagedManifest("it is of another format");
    if (json.at("formatVersion").get<uint32_t>() != kManifestVersion) {
      return Error(StatusCode::kFailedPrecondition,
                   "the checkpoint has format version " + json.at("formatVersion").dump() +
                       ", this release reads version " + std::to_string(kManifestVersion));
    }
    if (json.at("byteOrder").get<std::string>() != kByteOrder) {
      return Error(StatusCode::kFailedPrecondition, "the checkpoint was written with byte order " +
                                                        json.at("byteOrder").dump() +
                                                        ", this release reads little-endian ones");
    }
    return GetManifest(json);
  } catch (const Json::exception& error) {
    return DamagedManifest(error.what());
  } catch (const std::invalid_argument& error) {
    return DamagedManifest(error.what());
  }
}

std::string Difference(const TableSpec& found, const TableSpec& wanted) {
  const TableOptions& f = found.options;
  const TableOptions& w = wanted.options;
  const auto differs = [&](const char* what, const std::string& of_found, const std::string& of_wanted) {
    return std::string(what) + " " + of_found + ", the program wants " + of_wanted;
  };
  if (f.dim != w.dim) return differs("dim", std::to_string(f.dim), std::to_string(w.dim));
  if (f.value_type != w.value_type) return differs("dtype", Describe(f.value_type), Describe(w.value_type));
  if (f.optimizer.index() != w.optimizer.index()) {
    return differs("optimizer", Describe(f.optimizer), Describe(w.optimizer));
  }
  if (f.initializer != w.initializer) return differs("initializer", Describe(f.initializer), Describe(w.initializer));
  if (f.seed != w.seed) return differs("seed", std::to_string(f.seed), std::to_string(w.seed));
  return "";
}

std::string EscapeForFileName(std::string_view name) {
  constexpr size_t kBytesMax = 120;
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  uint64_t hash = 0;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    hash = SplitMix64(hash ^ byte);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      escaped.push_back(c);
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (escaped.size() > kBytesMax)
    escaped = escaped.substr(0, kBytesMax - 17) + "~" + std::to_string(hash % 10'000'000'000'000'000ULL);
  return escaped;
}

}  // namespace attune::ps
