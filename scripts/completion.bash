# Bash completion for escalona. The words come from the program itself, so they cannot grow stale.
_escalona() {
  local current=${COMP_WORDS[COMP_CWORD]} help command
  case ${COMP_WORDS[1]} in
    assoc | bench | client | store) command=("${COMP_WORDS[@]:1:2}") ;;  # these have verbs of their own
    *) command=("${COMP_WORDS[1]}") ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "${COMP_WORDS[1]}" = help ]; }; then
    help=$("${COMP_WORDS[0]}" --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "$help help --help --version" -- "$current")
  elif [ "$COMP_CWORD" -eq 2 ] && [ "${#command[@]}" -eq 2 ]; then
    help=$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "$help --help" -- "$current")
  elif [[ $current == -* ]]; then
    help=$("${COMP_WORDS[0]}" "${command[@]}" --help 2>/dev/null | awk '/^  -/ { gsub(",", " ", $1); print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "$help" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _escalona escalona
