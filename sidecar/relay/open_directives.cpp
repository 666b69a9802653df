#include "sidecar/relay/open_directives.h"

#include <utility>

namespace attune::sidecar {

v1::ProcessDirective OpenDirectives::WithNextId(const v1::Directive& directive) {
  v1::ProcessDirective down;
  *down.mutable_directive() = directive;
  down.mutable_directive()->set_id(next_id_++);
  return down;
}

v1::ProcessDirective OpenDirectives::PassOn(const v1::Directive& directive) {
  to_stream_id_[next_id_] = directive.id();
  return WithNextId(directive);
}

std::vector<v1::ProcessDirective> OpenDirectives::TakeAwaiting() {
  std::vector<v1::ProcessDirective> taken;
  for (const v1::Directive& directive : std::exchange(awaiting_process_, {})) taken.push_back(WithNextId(directive));
  return taken;
}

std::optional<uint64_t> OpenDirectives::TakeAnswered(uint64_t id) {
  const auto open = to_stream_id_.extract(id);
  return open.empty() ? std::nullopt : std::optional(open.mapped());
}

std::vector<uint64_t> OpenDirectives::TakeUnanswered() {
  std::vector<uint64_t> taken;
  for (const auto& [id, stream_id] : std::exchange(to_stream_id_, {})) taken.push_back(stream_id);
  return taken;
}

}  // namespace attune::sidecar
