#include "examples/package-graph/package_list.h"

#include <algorithm>

namespace attune::package_graph {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

struct Field {
  std::string_view name;
  Relation relation;
};
constexpr std::array<Field, 11> kFields = {{{"Depends", Relation::kDepends},
                                            {"Pre-Depends", Relation::kDepends},
                                            {"Recommends", Relation::kRecommends},
                                            {"Suggests", Relation::kSuggests},
                                            {"Enhances", Relation::kEnhances},
                                            {"Provides", Relation::kProvides},
                                            {"Conflicts", Relation::kConflicts},
                                            {"Breaks", Relation::kConflicts},
                                            {"Section", Relation::kSection},
                                            {"Maintainer", Relation::kMaintainer},
                                            {"Tag", Relation::kTag}}};

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The text up to the separator; both are removed from `text`.
std::string_view TakeUpTo(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

// "libc6:any (>= 2.36)" -> "libc6"
std::string_view PackageName(std::string_view item) { return Trim(item.substr(0, item.find_first_of(" \t\r\n(:["))); }

bool NamesPackages(Relation relation) { return relation <= Relation::kConflicts; }

// The stanza that is being read: its name and the fields that matter, as they stand in the text.
class Stanza {
 public:
  void Take(std::string_view name, std::string_view value) {
    if (name == "Package") {
      package_ = Trim(value);
      return;
    }
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (name == kFields[i].name) values_[i] = value;
    }
  }
  bool IsPackage() const { return IsName(package_) && PackageName(package_) == package_; }
  void Emit(const TakeLink& take) const {
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (values_[i].empty()) continue;
      if (kFields[i].relation == Relation::kSection || kFields[i].relation == Relation::kMaintainer) {
        Emit(kFields[i].relation, Trim(values_[i].substr(0, values_[i].find('<'))), take);
      } else {
        EmitItems(kFields[i].relation, values_[i], take);
      }
    }
  }

 private:
  void EmitItems(Relation relation, std::string_view items, const TakeLink& take) const {
    for (size_t n = 0; n < kItemsPerFieldMax && !items.empty(); ++n) {
      std::string_view alternatives = TakeUpTo(items, ',');
      for (size_t m = 0; m < kItemsPerFieldMax && !alternatives.empty(); ++m) {
        const std::string_view item = Trim(TakeUpTo(alternatives, '|'));
        Emit(relation, NamesPackages(relation) ? PackageName(item) : item, take);
      }
    }
  }
  void Emit(Relation relation, std::string_view object, const TakeLink& take) const {
    if (IsName(object) && !(NamesPackages(relation) && object == package_)) take(package_, relation, object);
  }

  std::string_view package_;
  std::array<std::string_view, kFields.size()> values_;
};

}  // namespace

uint64_t ParsePackageList(std::string_view text, const TakeLink& take) {
  uint64_t packages = 0;
  Stanza stanza;
  const auto finish = [&] {
    if (stanza.IsPackage()) {
      stanza.Emit(take);
      ++packages;
    }
    stanza = {};
  };
  while (!text.empty()) {
    if (Trim(text.substr(0, text.find('\n'))).empty()) {
      finish();
      TakeUpTo(text, '\n');
      continue;
    }
    // A field ends before the first line that does not begin with a blank, or is blank altogether.
    size_t end = text.find('\n');
    while (end != std::string_view::npos && end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '\t')) {
      const size_t next = text.find('\n', end + 1);
      if (Trim(text.substr(end + 1, next == std::string_view::npos ? next : next - end - 1)).empty()) break;
      end = next;
    }
    end = std::min(end, text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = field.find(':');
    if (colon < field.find('\n')) stanza.Take(field.substr(0, colon), field.substr(colon + 1));
  }
  finish();
  return packages;
}

}  // namespace attune::package_graph
