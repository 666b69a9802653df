// Structured logs: a constant message and key-value pairs, one line each on standard error.
//   log::Info("worker joined", {{"job", job}, {"node", node_id}});
// Text form for people ("12:00:01.250 info  worker joined job=word2vec node=3"), JSON lines when
// ATTUNE_LOG_FORMAT=json. Level from ATTUNE_LOG_LEVEL (debug, info, warn, error; default info). Thread-safe. Never log
// secrets.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::log {

enum class Level { kDebug, kInfo, kWarn, kError };

class Field {
 public:
  Field(std::string_view key, std::string_view value) : key(key), value(value) {}
  Field(std::string_view key, const char* value) : key(key), value(value) {}
  Field(std::string_view key, const std::string& value) : key(key), value(value) {}
  Field(std::string_view key, bool value) : key(key), value(value ? "true" : "false"), quoted(false) {}
  template <std::integral Integer>
  Field(std::string_view key, Integer value) : key(key), value(std::to_string(value)), quoted(false) {}
  Field(std::string_view key, double value);
  Field(std::string_view key, const Status& value) : key(key), value(ToString(value)) {}

  std::string_view key;
  std::string value;
  bool quoted = true;  // in JSON
};

using Fields = std::initializer_list<Field>;

// Names this process in every line ("server-0", "operator"). Call once at the start of main.
void SetProcessName(std::string_view name);
// Overrides the environment (tests, --verbose).
void SetLevel(Level level);

void Write(Level level, std::string_view message, Fields fields = {});
inline void Debug(std::string_view message, Fields fields = {}) { Write(Level::kDebug, message, fields); }
inline void Info(std::string_view message, Fields fields = {}) { Write(Level::kInfo, message, fields); }
inline void Warn(std::string_view message, Fields fields = {}) { Write(Level::kWarn, message, fields); }
inline void Error(std::string_view message, Fields fields = {}) { Write(Level::kError, message, fields); }

}  // namespace attune::log
