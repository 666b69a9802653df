// Tables as the status keeps them: {"name": "input", "rows": 31000, "announced": 1200, ...}.
#include "operator/api/status/row_status.h"

#include "operator/api/field_binding.h"

namespace attune::api {

void Binding<std::vector<TableRows>>::Set(std::vector<TableRows>& target, const Json& value) {
  for (const Json& each : value) {
    if (!each.is_object() || TextAt(each, "name").empty()) continue;
    const auto count = [&](const char* key) {
      const auto at = each.find(key);
      return at != each.end() && at->is_number_unsigned() ? at->get<uint64_t>() : uint64_t{0};
    };
    const auto number = [&](const char* key) {
      const auto at = each.find(key);
      return at != each.end() && at->is_number() ? at->get<double>() : 0.0;
    };
    target.push_back({.name = TextAt(each, "name"),
                      .rows = count("rows"),
                      .row_bytes = count("bytes"),
                      .announced = count("announced"),
                      .copies = count("copies"),
                      .left_cores = number("leftCores"),
                      .copied_cores = number("copiedCores"),
                      .decided_cores = number("decidedCores")});
  }
}

Json Binding<std::vector<TableRows>>::Get(const std::vector<TableRows>& source) {
  if (source.empty()) return {};
  Json list = Json::array();
  for (const TableRows& table : source) {
    list.push_back({{"name", table.name},
                    {"rows", table.rows},
                    {"bytes", table.row_bytes},
                    {"announced", table.announced},
                    {"copies", table.copies},
                    {"leftCores", table.left_cores},
                    {"copiedCores", table.copied_cores},
                    {"decidedCores", table.decided_cores}});
  }
  return list;
}

}  // namespace attune::api
