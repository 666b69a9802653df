// The parser of package lists, and the graph made of what it finds: every view lies in the text or is a name, numbers
// are in range, and the same text gives the same graph.
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "examples/package-graph/graph.h"
#include "tests/fuzz/fuzz_driver.h"

using namespace attune::package_graph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto inside = [&](std::string_view view) {
    return view.data() >= text.data() && view.data() + view.size() <= text.data() + text.size();
  };
  ParsePackageList(text, [&](std::string_view subject, Relation relation, std::string_view object) {
    if (!inside(subject) || !inside(object) || subject.empty() || object.empty()) std::abort();
    if (subject.size() > kNameBytesMax || object.size() > kNameBytesMax) std::abort();
    if (static_cast<size_t>(relation) >= kRelations) std::abort();
  });
  const GraphOptions options{.links_min = 1, .held_out_percent = 20};
  const auto graph = BuildGraph({text}, options), again = BuildGraph({text}, options);
  if (graph.ok() != again.ok()) std::abort();
  if (!graph.ok()) return 0;
  if (graph->names != again->names || graph->training != again->training || graph->held_out != again->held_out) {
    std::abort();
  }
  for (const auto* links : {&graph->training, &graph->held_out}) {
    for (const Link& link : *links) {
      if (link.head >= graph->size() || link.tail >= graph->size()) std::abort();
    }
  }
  return 0;
}

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  const auto name = [&] { return "p" + std::to_string(random.Below(12)); };
  std::string text;
  for (uint64_t packages = random.Below(20); packages > 0; --packages) {
    text += "Package: " + name() + "\nSection: " + (random.Chance(0.5) ? "net" : "libs") + "\nDepends: " + name();
    for (uint64_t more = random.Below(4); more > 0; --more) text += (random.Chance(0.3) ? " | " : ", ") + name();
    if (random.Chance(0.5)) text += " (>= 1.0)";
    text += "\nTag: role::program,\n use::" + name() + "\nMaintainer: Some One <one@example.org>\n\n";
  }
  return {text.begin(), text.end()};
}
