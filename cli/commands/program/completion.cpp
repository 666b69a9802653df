#include "cli/commands/program/completion.h"

#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"

namespace attune::cli {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

constexpr char kBody[] = R"bash(
# Jobs that run, and for commands that only look also runs that have ended.
_attune_jobs() { attune get -o name 2>/dev/null; }
_attune_looking() { { _attune_jobs; attune runs 2>/dev/null | awk 'NR > 1 { print $1 }'; } | sort -u; }
_attune_words() {
  local cur="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="" first="" position=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      --kubeconfig|--context|-n|--namespace|--instance|-o|--output|--tail|--timeout|--run-directory|--resume|--report|\
      --tune|--name|--tag|--keep|--limit-cores-per-pod|--format|--table|--to|--vocabulary|--checkpoint|--only|\
      --interval|--image|--command|--servers|--workers|--epochs|--steps|--target-loss|--job|--from|\
      --samples|--samples-per-second|--samples-per-step|--memory-bound|--server-share|--link-share|--noise|\
      --staleness-cost|--machine-cores|--pod-start|--threads|--seed)
        i=$((i + 1)) ;;
      -*) ;;
      *) if [ -z "$command" ]; then command="${COMP_WORDS[i]}"
         else position=$((position + 1)); if [ -z "$first" ]; then first="${COMP_WORDS[i]}"; fi; fi ;;
    esac
  done
  case "$command:$previous" in
    move:--to) COMPREPLY=(); return ;;
    *:--only) COMPREPLY=($(compgen -W "servers workers" -- "$cur")); return ;;
    *:--kubeconfig|*:--to|*:--vocabulary|*:--report|report:-o|report:--output|init:-o|init:--output)
      COMPREPLY=($(compgen -f -- "$cur")); return ;;
    *:--from) COMPREPLY=($(compgen -W "$(_attune_looking)" -- "$cur")); return ;;
    *:--run-directory|*:--resume) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    *:--format) COMPREPLY=($(compgen -W "safetensors npz word2vec-text" -- "$cur")); return ;;
    *:--tune) COMPREPLY=($(compgen -W "off recommend initial inplaceonly auto" -- "$cur")); return ;;
    get:-o|get:--output) COMPREPLY=($(compgen -W "json yaml name" -- "$cur")); return ;;
    policy:-o|policy:--output) COMPREPLY=($(compgen -W "json yaml" -- "$cur")); return ;;
    *:-o|*:--output) COMPREPLY=($(compgen -W "json" -- "$cur")); return ;;
    *:--context|*:-n|*:--namespace|*:--instance|*:--tail|*:--timeout|*:--name|*:--tag|*:--keep|*:--limit-cores-per-pod|\
    *:--table|*:--checkpoint|*:--claim|*:--interval|*:--image|*:--command|*:--servers|*:--workers|*:--epochs|\
    *:--steps|*:--target-loss|*:--job|*:--samples|*:--samples-per-second|*:--samples-per-step|*:--memory-bound|\
    *:--server-share|*:--link-share|*:--noise|*:--staleness-cost|*:--machine-cores|*:--pod-start|*:--threads|\
    *:--seed) COMPREPLY=(); return ;;
  esac
  if [ -z "$command" ]; then
    COMPREPLY=($(compgen -W "$_attune_commands $_attune_global" -- "$cur"))
    return
  fi
  if [ "${cur#-}" != "$cur" ]; then
    COMPREPLY=($(compgen -W "$(_attune_options "$command") $_attune_global" -- "$cur"))
    return
  fi
  case "$command:$position" in
    export:0|inspect:0) COMPREPLY=($({ compgen -d -- "$cur"; compgen -W "$(_attune_looking)" -- "$cur"; } || true)) ;;
    run:0|validate:*|simulate:0) COMPREPLY=($(compgen -f -- "$cur")) ;;
    logs:0) COMPREPLY=($(compgen -W "$(_attune_looking) server worker" -- "$cur")) ;;
    sync:0) COMPREPLY=($(compgen -W "$(_attune_jobs) async bsp ssp:" -- "$cur")) ;;
    rows:0) COMPREPLY=($(compgen -W "$(_attune_jobs) adaptive static always" -- "$cur")) ;;
    get:0|top:0|describe:0|explain:0|report:*|resume:0) COMPREPLY=($(compgen -W "$(_attune_looking)" -- "$cur")) ;;
    scale:0|checkpoint:0|move:0|suspend:0|restart:0) COMPREPLY=($(compgen -W "$(_attune_jobs)" -- "$cur")) ;;
    spread:0|pack:0|stop:0) COMPREPLY=($(compgen -W "$(_attune_jobs)" -- "$cur")) ;;
    pull-model:0) COMPREPLY=($(compgen -W "$(_attune_looking)" -- "$cur")) ;;
    pull-model:1) COMPREPLY=($(compgen -d -- "$cur")) ;;
    move:1) COMPREPLY=($(compgen -W "worker- server-" -- "$cur")); compopt -o nospace 2>/dev/null || true ;;
    logs:1) COMPREPLY=($(compgen -W "server worker" -- "$cur")) ;;
    scale:*)
      COMPREPLY=($(compgen -W "workers= servers= worker-cpu= worker-memory= server-cpu= server-memory=" -- "$cur"))
      compopt -o nospace 2>/dev/null || true ;;
    runs:0) COMPREPLY=($(compgen -W "list show diff rm" -- "$cur")) ;;
    runs:*)
      case "$first:$position" in
        show:1|diff:1|diff:2|rm:*) COMPREPLY=($(compgen -W "$(_attune_looking)" -- "$cur")) ;;
      esac ;;
    policy:0) COMPREPLY=($(compgen -W "list explain test" -- "$cur")) ;;
    policy:1)
      case "$first" in
        explain) COMPREPLY=($(compgen -W "$(_attune_jobs)" -- "$cur")) ;;
        test) COMPREPLY=($(compgen -f -- "$cur")) ;;
      esac ;;
    tune:0) COMPREPLY=($(compgen -W "pause resume pin unpin auto recommend initial inplaceonly off" -- "$cur")) ;;
    tune:1)
      if [ "$first" = pin ]; then
        COMPREPLY=($(compgen -W "servers= workers= threads= slack= worker-cpu= server-cpu=" -- "$cur"))
        compopt -o nospace 2>/dev/null || true
      else
        COMPREPLY=($(compgen -W "$(_attune_jobs)" -- "$cur"))
      fi ;;
    tune:2) if [ "$first" = pin ]; then COMPREPLY=($(compgen -W "$(_attune_jobs)" -- "$cur")); fi ;;
    sync:1) COMPREPLY=($(compgen -W "async bsp ssp:" -- "$cur")) ;;
    rows:1) COMPREPLY=($(compgen -W "adaptive static always" -- "$cur")) ;;
    completion:0) COMPREPLY=($(compgen -W "bash zsh" -- "$cur")) ;;
  esac
}
)bash";

constexpr char kBashEnd[] = "complete -F _attune_words attune\n";

// Run by zsh's completion system as the function _attune (found in $fpath, at the first completion), or sourced.
constexpr char kZshBegin[] = R"zsh(#compdef attune
# zsh completion of attune, through zsh's own reader of bash completions
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
(( $+functions[_bash_complete] )) || { autoload -Uz bashcompinit && bashcompinit }
)zsh";
constexpr char kZshEnd[] = R"zsh(
_attune() {
  # No space after words that continue, as workers= does.
  if (( CURRENT > 3 && (words[(I)scale] || words[(I)sync]) )); then
    _bash_complete -o nospace -F _attune_words
  else
    _bash_complete -F _attune_words
  fi
}
if [[ "$funcstack[1]" == _attune ]]; then _attune "$@"; else compdef _attune attune; fi
)zsh";

}  // namespace

std::string CompletionScript(const std::string& shell) {
  const bool zsh = shell == "zsh";
  const std::string text = zsh ? kZshBegin : "# bash completion of attune\n";
  std::vector<std::string> names;
  std::string options = "_attune_options() {\n  case \"$1\" in\n";
  std::string global;
  for (const CommandWords& command : AllCommandWords()) {
    if (command.name.empty()) {
      global = Join(command.options);
      continue;
    }
    names.push_back(command.name);
    options += "    " + command.name + ") echo \"" + Join(command.options) + "\" ;;\n";
  }
  options += "  esac\n}\n";
  return text + "_attune_commands=\"" + Join(names) + "\"\n_attune_global=\"" + global + "\"\n" + options +
         (kBody + 1) + (zsh ? kZshEnd + 1 : kBashEnd);
}

int Completion(const CompletionArguments& arguments) {
  std::fputs(CompletionScript(arguments.shell).c_str(), stdout);
  return kExitOk;
}

}  // namespace attune::cli
