// Invariants. A broken invariant stops the process with its place and text, in release builds too; bad input never
// comes here.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace attune {

class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line) {
    text_ << file << ':' << line << ": broken invariant: " << condition << ' ';
  }
  [[noreturn]] ~CheckFailure() {
    std::fprintf(stderr, "%s\n", text_.str().c_str());
    std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

}  // namespace attune

// ATTUNE_CHECK(owner_count <= 1) << "key " << key;   State one fact per check, positively.
#define ATTUNE_CHECK(condition) \
  if (condition) [[likely]] {   \
  } else                        \
    ::attune::CheckFailure(#condition, __FILE__, __LINE__).stream()
