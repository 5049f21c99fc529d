#include "apps/cli/completion.hpp"

namespace corral::cli {

namespace {

// Bash cuts words at = and : too; they are put together again to ask, and what stands before the
// last cut is taken off the answers.
constexpr auto bash = R"(# Completion of corral in bash. Try it: source <(corral completion bash)
# To keep it: corral completion bash > /etc/bash_completion.d/corral

_corral() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() glued='' word i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    while [[ $rest == [[:space:]]* ]]; do
      rest=${rest#?}
      glued=''
    done
    word=${COMP_WORDS[i]}
    [[ $rest == "$word"* ]] || word=$rest
    rest=${rest#"$word"}
    if [[ $glued ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    glued=1
  done

  local current=${words[${#words[@]}-1]} cut='' answers answer
  [[ $current == *[=:]* ]] && cut=${current%"${current##*[=:]}"}
  COMPREPLY=()
  mapfile -t answers < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  for answer in "${answers[@]}"; do
    if [[ $answer == :files ]]; then
      # As file names, which get quoted, only among themselves: the : of THREAD: is to stay.
      [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current#"$cut"}")
    else
      COMPREPLY+=("${answer#"$cut"}")
    fi
  done
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then
    compopt -o nospace 2>/dev/null
  fi
  return 0
}

complete -F _corral corral
)";

constexpr auto zsh = R"(#compdef corral
# Completion of corral in zsh. Try it, after compinit: source <(corral completion zsh)
# To keep it: corral completion zsh > a file called _corral in a directory of $fpath

_corral() {
  local -a answers places files
  answers=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  files=("${(@M)answers:#:files}")
  answers=("${(@)answers:#:files}")
  answers=("${(@)answers:#}")
  places=("${(@M)answers:#*:}")
  answers=("${(@)answers:#*:}")
  (( $#answers )) && compadd -- "${answers[@]}"
  (( $#places )) && compadd -S '' -- "${places[@]}"
  if [[ -n ${files[1]} ]]; then
    [[ $PREFIX == --*=* ]] && compset -P '*='
    _files
  fi
}

if [[ $funcstack[1] == _corral ]]; then
  _corral "$@"
else
  compdef _corral corral
fi
)";

} // namespace

std::string completion_script(std::string_view shell) {
  return shell == "bash" ? bash : zsh;
}

} // namespace corral::cli
