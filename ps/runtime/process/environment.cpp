#include "ps/runtime/process/environment.h"

#include <charconv>
#include <cstdlib>

#include "base/os/file.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

constexpr uint64_t kSecretBytesMax = 4096;

}  // namespace

Environment Environment::OfProcess() {
  return Environment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

std::string Environment::Required(const char* name) {
  std::string value = Optional(name);
  if (value.empty()) AddProblem(std::string(name) + " is not set");
  return value;
}

std::string Environment::Optional(const char* name, const std::string& otherwise) {
  return lookup_(name).value_or(otherwise);
}

std::string Environment::OneOf(const char* name, std::initializer_list<const char*> allowed) {
  const std::string value = Optional(name, *allowed.begin());
  std::string names;
  for (const char* each : allowed) {
    if (value == each) return value;
    names += (names.empty() ? "" : ", ") + std::string(each);
  }
  AddProblem(std::string(name) + "='" + value + "' is not one of " + names);
  return *allowed.begin();
}

std::string Environment::OptionalSecret(const char* name) {
  const std::string path = Optional(name);
  if (path.empty()) return "";
  auto content = ReadFile(path, kSecretBytesMax);
  if (!content.ok()) {
    AddProblem(std::string(name) + ": " + std::string(attune::Message(content.status())));
    return "";
  }
  std::string secret = *std::move(content);
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.empty()) AddProblem(std::string(name) + ": " + path + " is empty");
  return secret;
}

uint32_t Environment::RequiredNumber(const char* name) {
  const std::string text = Required(name);
  uint32_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())) {
    AddProblem(std::string(name) + "='" + text + "' is not a number from 0 to 4294967295");
  }
  return number;
}

std::string Environment::JobToken() {
  std::string token = OptionalSecret(contract::kEnvJobTokenFile);
  const std::string attempt = Optional(contract::kEnvAttempt, "0");
  if (!token.empty() && attempt != "0") token += "\nattempt " + attempt;
  return token;
}

Status Environment::Problems(const std::string& who) const {
  if (problems_.empty()) return OkStatus();
  std::string text = who + " cannot start: ";
  for (size_t i = 0; i < problems_.size(); ++i) text += (i == 0 ? "" : "; ") + problems_[i];
  return Error(
      StatusCode::kInvalidArgument,
      text + ". Attune sets these variables in the pods of a TrainingJob; set them by hand to run without one");
}

}  // namespace attune::ps
