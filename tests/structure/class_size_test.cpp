// A class owns one mechanism: few methods, few fields. What is counted is text, by simple rules: declarations directly
// inside a class, a method where there is a parameter list, a field otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure::class_size_test {
namespace {

constexpr size_t kMethodsMax = 40, kFieldsMax = 15;
// A struct with more methods than this is no record of values.
constexpr size_t kMethodsOfRecords = 10;

struct ClassSize {
  std::string name;
  size_t methods = 0, fields = 0;
  bool is_record = false;
};

// From behind an opening bracket to behind the one that closes it.
size_t SkipBlock(const std::string& code, size_t at) {
  for (int depth = 1; at < code.size() && depth > 0; ++at) depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
  return at;
}

std::string WithoutTemplateArguments(std::string text) {
  static const std::regex innermost("<[^<>()]*>|<[^<>]*>");
  for (std::string shorter; (shorter = std::regex_replace(text, innermost, "")) != text;) text = shorter;
  return text;
}

void CountDeclaration(const std::string& declaration, ClassSize& size) {
  static const std::regex annotation(R"(ABSL_\w+(\([^()]*(\([^()]*\))?[^()]*\))?)");
  static const std::regex access(R"(\b(public|private|protected)\s*:)");
  static const std::regex no_member(R"(^\s*(using|friend|static_assert|typedef|enum|class|struct|union)\b)"
                                    R"(|^\s*template\s*<[^;]*>\s*(class|struct|using)\b)");
  static const std::regex constant(R"(^\s*(static|inline)?\s*(static\s+)?constexpr\b[^(]*$)");
  static const std::regex name(R"([\w>&*\]]\s+[&*]*\w+|[>&*]\s*\w+)");
  const std::string text = std::regex_replace(std::regex_replace(declaration, access, ""), annotation, "");
  if (std::regex_search(text, no_member)) return;
  const std::string head = WithoutTemplateArguments(text.substr(0, text.find('=')));
  if (head.find('(') != std::string::npos || text.find("operator") != std::string::npos) {
    ++size.methods;
  } else if (std::regex_search(head, name) && !std::regex_search(head, constant)) {
    ++size.fields;
  }
}

// `at`: behind the opening bracket of the class.
ClassSize Measure(const std::string& code, size_t at, const std::string& name, bool is_struct) {
  ClassSize size{.name = name};
  std::string declaration;
  while (at < code.size() && code[at] != '}') {
    if (code[at] == '{') {
      at = SkipBlock(code, at + 1);
      const size_t next = code.find_first_not_of(" \n", at);
      const bool continues = next != std::string::npos && (code[next] == ';' || code[next] == ',' || code[next] == '{');
      if (!continues) CountDeclaration(std::exchange(declaration, ""), size);
      continue;
    }
    if (code[at] == ';') {
      CountDeclaration(std::exchange(declaration, ""), size);
    } else {
      declaration += code[at];
    }
    ++at;
  }
  size.is_record = is_struct && size.methods <= kMethodsOfRecords;
  return size;
}

std::vector<ClassSize> ClassesOf(const SourceFile& file) {
  static const std::regex head(R"(\b(class|struct)\s+((\w+::)*\w+)(\s+final)?\s*(:[^;{]*)?\{)");
  static const std::regex is_enum(R"(enum\s+$)");
  const std::string code = CodeOf(file);
  std::vector<ClassSize> classes;
  for (std::sregex_iterator found(code.begin(), code.end(), head), end; found != end; ++found) {
    if (std::regex_search(code.substr(std::max<size_t>(found->position(), 8) - 8, 8), is_enum)) continue;
    classes.push_back(Measure(code, found->position() + found->length(), (*found)[2], (*found)[1] == "struct"));
  }
  return classes;
}

ClassSize OnlyClassOf(const std::string& text) {
  SourceFile file;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  const std::vector<ClassSize> classes = ClassesOf(file);
  return classes.empty() ? ClassSize() : classes.front();
}

TEST(ClassSizeTest, DeclarationsAreCounted) {
  struct Case {
    const char* what;
    const char* text;
    size_t methods, fields;
  };
  const std::vector<Case> cases = {
      {"fields", "class A {\n  int a_;\n  std::map<int, std::set<int>> b_{1, 2};\n  bool c_ = f(1);\n};", 0, 3},
      {"methods",
       "class A {\n public:\n  explicit A(int b) : b_{b} {}\n  int b() const { return b_; }\n  void F();\n};", 3, 0},
      {"functions as values",
       "class A {\n  std::function<void(int)> a_;\n  std::map<int, std::function<bool()>> b_;\n};", 0, 2},
      {"guarded fields",
       "class A {\n  int a_ ABSL_GUARDED_BY(mutex_) = 0;\n  void F() ABSL_LOCKS_EXCLUDED(mutex_);\n};", 1, 1},
      {"neither",
       "class A {\n  using B = int;\n  friend class C;\n  static constexpr int kD = 1;\n  enum class E { kF };\n};", 0,
       0},
      {"nested types", "class A {\n  struct B {\n    int c;\n    void D();\n  };\n  B b_;\n};", 0, 1},
      {"operators", "class A {\n  A& operator=(const A&) = delete;\n  bool operator==(const A&) const = default;\n};",
       2, 0},
  };
  for (const Case& each : cases) {
    const ClassSize size = OnlyClassOf(each.text);
    EXPECT_EQ(size.name, "A") << each.what;
    EXPECT_EQ(size.methods, each.methods) << each.what;
    EXPECT_EQ(size.fields, each.fields) << each.what;
  }
}

TEST(ClassSizeTest, ClassesOfWhatIsShippedAreSmall) {
  size_t classes = 0;
  for (const SourceFile& file : CppFiles()) {
    if (file.path.starts_with("tests/") || file.path.starts_with("bench/")) continue;
    for (const ClassSize& size : ClassesOf(file)) {
      ++classes;
      EXPECT_TRUE(size.methods <= kMethodsMax && (size.is_record || size.fields <= kFieldsMax))
          << file.path << ": " << size.name << " has " << size.methods << " methods and " << size.fields
          << " fields; at most " << kMethodsMax << " and " << kFieldsMax
          << ". Which mechanism in it has a state of its own?";
    }
  }
  EXPECT_GT(classes, 500U) << "classes are not found any more";
}

}  // namespace
}  // namespace attune::structure::class_size_test
