// Reads Debian's package lists (deb822: stanzas of "Field: value" lines, folded by a blank at the start of a line) as
// links between named things: packages, sections, maintainers, tags.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace attune::package_graph {

enum class Relation : uint8_t {
  kDepends,  // and Pre-Depends
  kRecommends,
  kSuggests,
  kEnhances,
  kProvides,
  kConflicts,  // and Breaks
  kSection,
  kMaintainer,
  kTag,
};
inline constexpr size_t kRelations = 9;
inline constexpr std::array<std::string_view, kRelations> kRelationNames = {
    "depends", "recommends", "suggests", "enhances", "provides", "conflicts", "section", "maintainer", "tag"};

// Longer names are no names, further items of a field are not looked at; lists of Debian stay far below both.
inline constexpr size_t kNameBytesMax = 200;
inline constexpr size_t kItemsPerFieldMax = 4096;

// `object` is a package for the first six relations, otherwise it is what the relation says. Versions, architectures
// and the ends of mail addresses are left out; of "a | b" both are objects.
using TakeLink = std::function<void(std::string_view subject, Relation relation, std::string_view object)>;

// Calls `take` for every link, in the order of the text; views are valid during the call. Returns the number of
// packages. Never fails: lines, names and stanzas that make no sense are passed over. A link may come more than once.
uint64_t ParsePackageList(std::string_view text, const TakeLink& take);

}  // namespace attune::package_graph
