#include <array>
#include <cstdio>
#include <ctime>
#include <string>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/display/table.h"
#include "cli/failure.h"
#include "cli/runs/checkpoint_lookup.h"
#include "operator/api/format.h"
#include "operator/kube/object.h"
#include "ps/checkpoint/inspection.h"

namespace attune::cli {
namespace {

std::string TimeText(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

kube::Json Describe(const ps::CheckpointSummary& summary) {
  kube::Json json = {{"checkpoint", summary.number}, {"whole", summary.status.ok()}};
  if (!summary.status.ok()) json["problem"] = std::string(Message(summary.status));
  const ps::Manifest& manifest = summary.manifest;
  if (manifest.number == 0) return json;
  json["writtenAt"] = TimeText(manifest.written_at);
  json["base"] = manifest.base;
  json["clock"] = manifest.cut.clock;
  json["synchronization"] = manifest.cut.synchronization;
  if (manifest.is_best()) {
    json["best"] = {{"metric", manifest.cut.best->metric},
                    {"value", manifest.cut.best->value},
                    {"step", manifest.cut.best->at.step},
                    {"epoch", manifest.cut.best->at.epoch}};
  }
  json["rows"] = manifest.rows();
  json["bytes"] = manifest.bytes();
  json["ownBytes"] = manifest.own_bytes();
  json["tables"] = kube::Json::array();
  for (const ps::CheckpointTable& table : manifest.tables) {
    json["tables"].push_back({{"name", table.spec.name},
                              {"dim", table.spec.options.dim},
                              {"rows", table.rows},
                              {"files", table.files.size()}});
  }
  return json;
}

// ", best by held_out_loss 3.187": of its job, when it was written.
std::string BestText(const ps::Manifest& manifest) {
  if (!manifest.is_best()) return "";
  return ", best by " + manifest.cut.best->metric + " " + api::FormatFigure(manifest.cut.best->value);
}

std::vector<std::string> Row(const ps::CheckpointSummary& summary, const char* whole) {
  const ps::Manifest& manifest = summary.manifest;
  const std::string number = std::to_string(summary.number);
  if (manifest.number == 0) return {number, "-", "-", "-", "-", "-", "damaged"};
  std::string tables;
  for (const ps::CheckpointTable& table : manifest.tables) tables += (tables.empty() ? "" : ",") + table.spec.name;
  return {number,
          TimeText(manifest.written_at),
          manifest.cut.synchronization.empty() ? "-" : std::to_string(manifest.cut.clock),
          std::to_string(manifest.rows()),
          manifest.base == 0
              ? api::FormatBytes(manifest.bytes())
              : api::FormatBytes(manifest.bytes()) + " (+" + api::FormatBytes(manifest.own_bytes()) + ")",
          tables.empty() ? "-" : tables,
          (summary.status.ok() ? whole : "damaged") + BestText(manifest)};
}

}  // namespace

int Inspect(const InspectArguments& arguments) {
  ps::FileSystem& files = ps::RealFileSystem();
  const auto depth =
      arguments.verify ? ps::CheckpointDirectory::Depth::kEveryByte : ps::CheckpointDirectory::Depth::kStructure;
  const auto directory = FindModelDirectory(arguments.directory);
  if (!directory.ok()) return Fail(directory.status());
  const auto summaries = ps::InspectCheckpoints(files, *directory, depth);
  if (!summaries.ok()) return Fail(summaries.status());
  Table table{.header = {"CHECKPOINT", "WRITTEN", "CLOCK", "ROWS", "SIZE", "TABLES", "STATE"}, .rows = {}};
  bool all_whole = true;
  for (const ps::CheckpointSummary& summary : *summaries) {
    all_whole = all_whole && summary.status.ok();
    if (arguments.json) {
      std::puts(Describe(summary).dump(-1, ' ', false, kube::Json::error_handler_t::replace).c_str());
    } else {
      table.rows.push_back(Row(summary, arguments.verify ? "verified" : "whole"));
    }
  }
  if (!arguments.json) {
    for (const std::string& line : FormatTable(table)) std::puts(line.c_str());
    for (const ps::CheckpointSummary& summary : *summaries) {
      if (!summary.status.ok()) {
        std::printf("checkpoint %llu: %s\n", static_cast<unsigned long long>(summary.number),
                    std::string(Message(summary.status)).c_str());
      }
    }
  }
  return all_whole ? kExitOk : kExitFailed;
}

}  // namespace attune::cli
