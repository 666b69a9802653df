#include "operator/kube/credentials/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

namespace attune::kube {
namespace {

struct Place {
  std::string scheme, host, port;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// host, host:port, [v6], [v6]:port
std::pair<std::string, std::string> HostAndPort(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end + 1);
    return {Lower(text.substr(1, end == std::string_view::npos ? end : end - 1)),
            std::string(rest.starts_with(':') ? rest.substr(1) : "")};
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return {Lower(text), ""};
  return {Lower(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

Place PlaceOf(std::string_view url) {
  Place place;
  if (const size_t end = url.find("://"); end != std::string_view::npos) {
    place.scheme = Lower(url.substr(0, end));
    url.remove_prefix(end + 3);
  }
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  std::tie(place.host, place.port) = HostAndPort(url);
  return place;
}

// Both families as 16 bytes, IPv4 mapped.
std::optional<std::array<unsigned char, 16>> Address(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes = {};
  bytes[10] = bytes[11] = 0xFF;
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

bool IsInRange(const std::string& host, std::string_view range) {
  const size_t slash = range.find('/');
  const std::string base_text(range.substr(0, slash));
  const auto address = Address(host), base = Address(base_text);
  const std::string_view bits_text = range.substr(slash + 1);
  int bits = 0;
  const auto [end, error] = std::from_chars(bits_text.data(), bits_text.data() + bits_text.size(), bits);
  if (!address || !base || error != std::errc() || end != bits_text.data() + bits_text.size()) return false;
  const bool is_v4 = base_text.find(':') == std::string::npos;
  if (bits < 0 || bits > (is_v4 ? 32 : 128)) return false;
  if (is_v4) bits += 96;
  for (int bit = 0; bit < bits; ++bit) {
    const int mask = 0x80 >> bit % 8;
    if (((*address)[static_cast<size_t>(bit / 8)] & mask) != ((*base)[static_cast<size_t>(bit / 8)] & mask))
      return false;
  }
  return true;
}

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || IsInRange(host, "127.0.0.0/8") || IsInRange(host, "::1/128");
}

bool Matches(std::string_view entry, const std::string& host, const std::string& port) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return IsInRange(host, entry);
  auto [name, entry_port] = HostAndPort(entry);
  if (!entry_port.empty() && entry_port != port) return false;
  if (const auto address = Address(name)) return Address(host) == address;
  if (name.starts_with("*.")) name.erase(0, 1);
  if (name.empty()) return false;
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || host.ends_with("." + name);
}

}  // namespace

Status CheckProxy(const std::string& url) {
  if (url.empty()) return OkStatus();
  const Place place = PlaceOf(url);
  const std::string shown =
      place.scheme + (place.scheme.empty() ? "" : "://") + place.host + (place.port.empty() ? "" : ":" + place.port);
  if (place.scheme != "http") {
    return Error(StatusCode::kUnimplemented,
                 "proxy " + shown + " is not supported; http:// proxies are, also for https:// servers");
  }
  const bool has_space = std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 127; });
  if (place.host.empty() || has_space || place.host.find(':') != std::string::npos) {
    return Error(StatusCode::kInvalidArgument,
                 "proxy \"" + shown + "\" has no host, spaces in it or an IPv6 literal; use http://host:port");
  }
  return OkStatus();
}

StatusOr<std::string> ProxyOfEnvironment(const std::string& server,
                                         const std::function<std::string(const char*)>& variable) {
  const auto either = [&](const char* upper, const char* lower) {
    std::string value = variable(upper);
    return value.empty() ? variable(lower) : value;
  };
  Place place = PlaceOf(server);
  const bool tls = place.scheme == "https";
  std::string proxy = tls ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
  if (proxy.empty() || IsThisMachine(place.host)) return std::string();
  if (place.port.empty()) place.port = tls ? "443" : "80";
  if (IsExempt(either("NO_PROXY", "no_proxy"), place.host, place.port)) return std::string();
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  if (const Status usable = CheckProxy(proxy); !usable.ok()) {
    return Annotate(usable, std::string(tls ? "HTTPS_PROXY" : "HTTP_PROXY") + " for " + server +
                                " (NO_PROXY=" + place.host + " goes without)");
  }
  return proxy;
}

bool IsExempt(std::string_view no_proxy, const std::string& host, const std::string& port) {
  while (!no_proxy.empty()) {
    std::string_view entry = no_proxy.substr(0, no_proxy.find(','));
    no_proxy.remove_prefix(std::min(no_proxy.size(), entry.size() + 1));
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (!entry.empty() && Matches(entry, Lower(host), port)) return true;
  }
  return false;
}

}  // namespace attune::kube
