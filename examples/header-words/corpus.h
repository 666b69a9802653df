// How often each identifier occurs in each header: a matrix of which most cells are 0. The value of a cell is
// log(1 + how often), so that a name which is everywhere does not outweigh all others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace attune::header_words {

using HeaderId = uint32_t;
using IdentifierId = uint32_t;

struct CorpusOptions {
  std::vector<std::filesystem::path> directories;
  uint32_t headers_min = 5;       // identifiers of fewer headers are left out
  uint32_t identifiers_min = 10;  // as are headers with fewer different ones of the others
};

struct Cell {
  IdentifierId identifier = 0;
  float value = 0;
};

struct Corpus {
  std::vector<std::string> headers;      // their paths, in order
  std::vector<std::string> identifiers;  // those of most headers first, ties by spelling
  std::vector<Cell> cells;               // other than 0: of the first header by identifier, of the second, ...
  std::vector<size_t> begin;             // of each header's cells; the last is an end mark

  std::span<const Cell> CellsOf(HeaderId header) const {
    return std::span(cells).subspan(begin[header], begin[header + 1] - begin[header]);
  }
  float ValueAt(HeaderId header, IdentifierId identifier) const;
  // The first header whose path is `name` or ends with "/name"; none: headers.size().
  HeaderId Find(std::string_view name) const;
  std::string Description() const;  // a line for people
};

// The same in every process that reads the same text. NotFound: a directory cannot be read. InvalidArgument: no two
// headers have enough identifiers in common.
StatusOr<Corpus> LoadCorpus(const CorpusOptions& options);

// One cell in fifty is kept from training, whether it is 0 or not. The same in every process.
bool IsHeldOut(HeaderId header, IdentifierId identifier);

}  // namespace attune::header_words
