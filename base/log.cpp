#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace attune::log {
namespace {

struct Sink {
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
  std::string process;
};

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

Sink MakeSink() {
  Sink sink;
  sink.logger = spdlog::stderr_color_mt("attune");
  const char* format = std::getenv("ATTUNE_LOG_FORMAT");
  sink.json = format != nullptr && std::string_view(format) == "json";
  sink.logger->set_pattern(sink.json ? "%v" : "%H:%M:%S.%e %^%-5l%$ %v");
  const char* level = std::getenv("ATTUNE_LOG_LEVEL");
  sink.logger->set_level(level == nullptr ? spdlog::level::info : spdlog::level::from_str(level));
  sink.logger->flush_on(spdlog::level::info);
  return sink;
}

Sink& Global() {
  static Sink* sink = new Sink(MakeSink());  // never destroyed: threads may log until the end of the process
  return *sink;
}

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  AppendEscaped(out, text);
  out += '"';
}

std::string JsonLine(Level level, std::string_view process, std::string_view message, Fields fields) {
  const auto now = std::chrono::system_clock::now();
  std::string line =
      fmt::format("{{\"time\":{:.3f},\"level\":\"{}\",", std::chrono::duration<double>(now.time_since_epoch()).count(),
                  spdlog::level::to_string_view(ToSpdlog(level)));
  if (!process.empty()) {
    line += "\"process\":";
    AppendQuoted(line, process);
    line += ',';
  }
  line += "\"message\":";
  AppendQuoted(line, message);
  for (const Field& field : fields) {
    line += ',';
    AppendQuoted(line, field.key);
    line += ':';
    if (field.quoted) {
      AppendQuoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  line += '}';
  return line;
}

std::string TextLine(std::string_view process, std::string_view message, Fields fields) {
  std::string line;
  if (!process.empty()) {
    line += '[';
    line += process;
    line += "] ";
  }
  line += message;
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (field.value.empty() || field.value.find_first_of(" \n\"=") != std::string::npos) {
      AppendQuoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  return line;
}

}  // namespace

Field::Field(std::string_view key, double value) : key(key), value(fmt::format("{:.6g}", value)), quoted(false) {}

void SetProcessName(std::string_view name) { Global().process = name; }
void SetLevel(Level level) { Global().logger->set_level(ToSpdlog(level)); }

void Write(Level level, std::string_view message, Fields fields) {
  Sink& sink = Global();
  if (!sink.logger->should_log(ToSpdlog(level))) return;
  const std::string line =
      sink.json ? JsonLine(level, sink.process, message, fields) : TextLine(sink.process, message, fields);
  sink.logger->log(ToSpdlog(level), "{}", line);
}

}  // namespace attune::log
