// Rules and help for names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::api {

// Pod names are <job>-worker-<index> and must be DNS labels (63 characters).
inline constexpr size_t kJobNameMax = 50;
inline constexpr size_t kDnsLabelMax = 63;
inline constexpr size_t kDnsNameMax = 253;

// Lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123).
bool IsDnsLabel(std::string_view text);
// One DNS label, or several joined by dots.
bool IsDnsName(std::string_view text);
// The key of a label: a name, perhaps behind a DNS name and '/'.
bool IsLabelKey(std::string_view text);
// The same for an API server.
inline constexpr char kLabelKeyPattern[] =
    "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

// The nearest of `known` by edits (a swap of neighbors counts one), if it is near enough to be meant.
std::optional<std::string> NearestName(std::string_view name, const std::vector<std::string>& known);

// The names as one text: "a, b, c".
std::string JoinNames(const std::vector<std::string>& names);

}  // namespace attune::api
