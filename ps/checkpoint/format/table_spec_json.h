// Table specifications in a manifest's JSON. The functions that read throw the JSON library's exceptions and
// std::invalid_argument; manifest.cpp, the only caller, turns them into DataLoss.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ps/store/table_store.h"

namespace attune::ps {

// Bytes outside printable ASCII, '%' and '"' as %XX, so that any name is good JSON and comes back exactly.
std::string EscapeText(std::string_view text);
std::string UnescapeText(std::string_view text);

void PutTableSpec(const TableSpec& spec, nlohmann::json& to);
TableSpec GetTableSpec(const nlohmann::json& from);

}  // namespace attune::ps
