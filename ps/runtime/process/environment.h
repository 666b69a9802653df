// Reads the environment that the operator gives to pods (proto/contract.h) and reports everything that is wrong with it
// at once.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::ps {

class Environment {
 public:
  using Lookup = std::function<std::optional<std::string>(const char* name)>;

  static Environment OfProcess();
  explicit Environment(Lookup lookup) : lookup_(std::move(lookup)) {}

  // Empty, and noted as a problem, when missing.
  std::string Required(const char* name);
  std::string Optional(const char* name, const std::string& otherwise = "");
  uint32_t RequiredNumber(const char* name);
  // One of `allowed`, the first when not set; any other value is a problem.
  std::string OneOf(const char* name, std::initializer_list<const char*> allowed);
  // Content of the file the variable names, without the line's end; a file that cannot be read is a problem. Empty when
  // not set.
  std::string OptionalSecret(const char* name);
  // The secret of the job's processes: content of the job's token file, bound to the attempt where it is not the first.
  // Empty when the job has none.
  std::string JobToken();
  void AddProblem(const std::string& text) { problems_.push_back(text); }

  // OK, or InvalidArgument with every problem noted so far. `who` names the program in the message.
  Status Problems(const std::string& who) const;

 private:
  Lookup lookup_;
  std::vector<std::string> problems_;
};

}  // namespace attune::ps
