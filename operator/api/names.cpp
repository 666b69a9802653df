#include "operator/api/names.h"

#include <algorithm>
#include <cctype>

namespace attune::api {
namespace {

// Optimal string alignment distance: insert, delete, replace, swap neighbors; letters without case.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> NearestName(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& each : known) {
    size_t distance = EditDistance(name, each);
    // "maxDuration" means maxDurationSeconds however long the rest is.
    if (name.size() >= 4 && (each.starts_with(name) || name.starts_with(each)))
      distance = std::min<size_t>(distance, 1);
    if (distance < best && distance < std::max(name.size(), each.size())) {
      best = distance;
      nearest = each;
    }
  }
  return nearest;
}

bool IsDnsLabel(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > kDnsLabelMax) return false;
  if (!alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

bool IsDnsName(std::string_view text) {
  size_t begin = 0;
  while (true) {
    const size_t dot = text.find('.', begin);
    if (!IsDnsLabel(text.substr(begin, dot == std::string_view::npos ? dot : dot - begin))) return false;
    if (dot == std::string_view::npos) return true;
    begin = dot + 1;
  }
}

bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && (slash > kDnsNameMax || !IsDnsName(text.substr(0, slash)))) return false;
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (name.empty() || name.size() > kDnsLabelMax) return false;
  return alphanumeric(name.front()) && alphanumeric(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace attune::api
