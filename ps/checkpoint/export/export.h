// A checkpoint's rows in the formats of other programs. Values only, without optimizer state, in an order that looks
// random. Memory stays bounded whatever the size; the output is written front to back, beside its place and renamed
// when it is complete.
//
//   safetensors    <table>.keys int64 [n], <table>.values float32 [n, dim]
//   npz            the same arrays for numpy.load, uncompressed, zip64
//   word2vec-text  "n dim", then a line per row: token, values. One table
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/saved_table.h"

namespace attune::ps {

enum class ExportFormat : uint8_t { kSafetensors, kNpz, kWord2vecText };
// The word in commands and "--format"; InvalidArgument lists them.
StatusOr<ExportFormat> ParseExportFormat(std::string_view word);
std::string_view FileEnding(ExportFormat format);  // ".npz"

struct ExportOptions {
  ExportFormat format = ExportFormat::kSafetensors;
  std::vector<std::string> tables;  // empty: all
  std::filesystem::path output;
  WritableFile* stream = nullptr;    // written to instead of `output`, and neither synced nor closed: a pipe, a device
  std::filesystem::path vocabulary;  // word2vec-text: line k (from 0) is the token of key k; empty: the key's number
  // Now and then, on the calling thread: bytes read so far of those there are to read. False ends the export with
  // Cancelled.
  std::function<bool(uint64_t done, uint64_t total)> progress;
};

struct ExportResult {
  struct Table {
    std::string name;
    uint64_t rows = 0;
    uint32_t dim = 0;
  };
  std::vector<Table> tables;
  uint64_t bytes = 0;  // of the output
};

// NotFound: a table is not there; InvalidArgument: options that do not fit; DataLoss: the checkpoint is damaged;
// otherwise of the output's file system. Nothing is left at `output` (a stream keeps what was written) after an error,
// and what was there before stays.
StatusOr<ExportResult> Export(FileSystem& files, const OpenedCheckpoint& checkpoint, const ExportOptions& options);

}  // namespace attune::ps
