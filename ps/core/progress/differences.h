// "dim is 32 here and was 64 there when it was opened first, ...": every field in which what is asked for differs from
// what is there; empty when there is none. A value; externally synchronized.
#pragma once

#include <cstdint>
#include <string>

namespace attune::ps {

class Differences {
 public:
  void Compare(const char* field, const std::string& here, const std::string& there) {
    if (here == there) return;
    if (!text_.empty()) text_ += ", ";
    text_ += std::string(field) + " is " + here + " here and was " + there + " when it was opened first";
  }
  void Compare(const char* field, uint64_t here, uint64_t there) {
    Compare(field, std::to_string(here), std::to_string(there));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace attune::ps
