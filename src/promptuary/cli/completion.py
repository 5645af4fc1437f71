"""``promptuary completion``: prints a script that completes commands, flags, threads and references in a shell.

The script contains commands and flags, so that it need not run a program to complete them. It runs ``promptuary
complete`` for words that start with ``@`` or ``#``, ``promptuary thread list`` for the names of threads, and
``promptuary prompt`` for those of prompts and their arguments.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.cli.command_table import COMMANDS, make_parser

_BASH: Final = r"""# promptuary: completion for bash. Add this to ~/.bashrc:  eval "$(promptuary completion bash)"
_promptuary() {
    local line="${COMP_LINE:0:COMP_POINT}" verb="${COMP_WORDS[1]}" breaks="${COMP_WORDBREAKS:- :@=}"
    # The word at the cursor without its quotes; how much of it bash keeps; the quote that is open; the word before it.
    local word= kept=0 quote= previous= place char current one
    for ((place = 0; place < ${#line}; place++)); do
        char="${line:place:1}"
        case "$quote$char" in
            "''"|'""') quote=; kept=${#word} ;;
            "'"?) word+="$char" ;;
            '"\') if [[ "${line:place+1:1}" == [\$\`\"\\] ]]; then place=$((place + 1)); fi; word+="${line:place:1}" ;;
            '"'?) word+="$char" ;;
            '\') place=$((place + 1)); word+="${line:place:1}" ;;
            "'"|'"') quote="$char"; kept=${#word} ;;
            [[:space:]]) if [ -n "$word" ]; then previous="$word"; fi; word=; kept=0 ;;
            [@\$]) if [[ "$breaks" == *"$char"* ]]; then kept=${#word}; fi; word+="$char" ;;
            *) word+="$char"; if [[ "$breaks" == *"$char"* ]]; then kept=${#word}; fi ;;
        esac
    done
    COMPREPLY=()
    current="${word##*[[:space:]]}"
    case "$current" in
        @*|'#'*) compopt -o nospace +o default 2>/dev/null
            while IFS= read -r one; do _promptuary_offer "${word%"$current"}$one"; done \
                < <(promptuary complete -q --limit 50 -- "$current" 2>/dev/null)
            return ;;
    esac
    case "$previous" in
        -t|--thread) compopt +o default 2>/dev/null
            while IFS= read -r one; do
                if [[ "$one" == "$word"* ]]; then _promptuary_offer "$one"; fi
            done < <(promptuary thread list -q 2>/dev/null)
            return ;;
    esac
    case "$verb $previous $word" in
        "ask -p "*|"ask --prompt "*) compopt +o default 2>/dev/null
            while IFS= read -r one; do
                if [[ "$one" == "$word"* ]]; then _promptuary_offer "$one"; fi
            done < <(promptuary prompt list -q 2>/dev/null)
            return ;;
        "ask "*" --"*) _promptuary_arguments ;;
    esac
    # -W expands its words: only those of this script
    COMPREPLY+=($(compgen -W "$(_promptuary_words "$verb" "$COMP_CWORD" "$word")" -- "$word"))
}
# Names come from files, models and other people: bash inserts them as they are, so they are quoted here.
_promptuary_offer() {
    local text="${1:kept}"
    if [[ "$1" != "${word:0:kept}"* ]]; then return; fi
    case "$quote" in
        '"') text="${text//\\/\\\\}"; text="${text//\"/\\\"}"; text="${text//\$/\\\$}"; text="${text//\`/\\\`}"
            text="${text//!/\"\'!\'\"}\"" ;;
        "'") text="${text//\'/\'\\\'\'}'" ;;
        *) printf -v text '%q' "$text" ;;
    esac
    COMPREPLY+=("$text")
}
# The arguments of the prompt on the line.
_promptuary_arguments() {
    local named='[[:space:]](-p|--prompt)[[:space:]]+([^[:space:]]+)[[:space:]]'
    if [[ "$line" =~ $named ]]; then
        while IFS= read -r one; do
            if [[ "$one" == "$word"* ]]; then _promptuary_offer "$one"; fi
        done < <(promptuary prompt show --arguments -- "${BASH_REMATCH[2]}" 2>/dev/null)
    fi
}
_promptuary_words() {
    if [ "$2" -le 1 ]; then printf '%s' '@VERBS@'; return; fi
    case "$1" in
@CASES@
    esac
}
complete -o default -F _promptuary promptuary
"""

_ZSH: Final = r"""#compdef promptuary
# promptuary: completion for zsh. Add this to ~/.zshrc after compinit:  eval "$(promptuary completion zsh)"
_promptuary() {
    local current="${words[CURRENT]}" previous="${words[CURRENT-1]}" verb="${words[2]}"
    local -a offered
    case "${(Q)current}" in
        @*|'#'*) offered=(${(f)"$(promptuary complete -q --limit 50 -- "${(Q)current}" 2>/dev/null)"})
            compadd -U -S '' -- "${offered[@]}"; return ;;
    esac
    case "$previous" in
        -t|--thread) offered=(${(f)"$(promptuary thread list -q 2>/dev/null)"})
            compadd -- "${offered[@]}"; return ;;
        -p|--prompt) offered=(${(f)"$(promptuary prompt list -q 2>/dev/null)"})
            compadd -- "${offered[@]}"; return ;;
        *) offered=(${=$(_promptuary_words "$verb" $((CURRENT - 1)) "$current")}) ;;
    esac
    local named="${words[(i)(-p|--prompt)]}"
    if [[ "$verb" == ask && "$current" == --* && "$named" -lt "$CURRENT" ]]; then
        offered+=(${(f)"$(promptuary prompt show --arguments -- "${(Q)words[named + 1]}" 2>/dev/null)"})
    fi
    compadd -- "${offered[@]}" || _files
}
_promptuary_words() {
    if [ "$2" -le 1 ]; then printf '%s' '@VERBS@'; return; fi
    case "$1" in
@CASES@
    esac
}
compdef _promptuary promptuary
"""

_FISH: Final = r"""# promptuary: completion for fish. Save this as ~/.config/fish/completions/promptuary.fish
function __promptuary_offered
    set -l current (commandline -ct | string trim -c '"\'' | string unescape)
    set -l given (commandline -opc)
    if string match -qr '^[@#]' -- $current
        promptuary complete -q --limit 50 -- $current 2>/dev/null
        return
    end
    if contains -- $given[-1] -t --thread
        promptuary thread list -q 2>/dev/null
        return
    end
    if contains -- $given[-1] -p --prompt
        promptuary prompt list -q 2>/dev/null
        return
    end
    if set -l place (contains -i -- -p $given; or contains -i -- --prompt $given)
        promptuary prompt show --arguments -- $given[(math $place + 1)] 2>/dev/null
    end
    if test (count $given) -le 1
        string split ' ' -- '@VERBS@'
        return
    end
    switch $given[2]
@CASES@
    end
    __fish_complete_path $current
end
complete -c promptuary -f -a '(__promptuary_offered)'
"""


def main(options: argparse.Namespace) -> int:
    """Print the script of a shell."""
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """Return the script for ``shell``, with all commands, actions and flags."""
    offered = _offered(make_parser())
    verbs = ["help", *(command.name for command in COMMANDS if not command.hidden)]
    text, case = (_FISH, _fish_case) if shell == "fish" else (_BASH if shell == "bash" else _ZSH, _posix_case)
    cases = "\n".join(case(verb, words) for verb, words in offered.items())
    return text.replace("@VERBS@", " ".join(verbs)).replace("@CASES@", cases)


def _posix_case(verb: str, words: Sequence[str]) -> str:
    return f"        {verb}) printf '%s' '{' '.join(words)}' ;;"


def _fish_case(verb: str, words: Sequence[str]) -> str:
    return f"        case {verb}\n            string split ' ' -- '{' '.join(words)}'"


def _offered(parser: argparse.ArgumentParser) -> Mapping[str, Sequence[str]]:
    """Return the actions and the long flags of every command."""
    commands = _below(parser)
    return {
        name: [*_choices(command), *dict.fromkeys(one for one in _flags(command) if one.startswith("--"))]
        for name, command in commands.items()
    }


def _below(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to ask)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def _choices(parser: argparse.ArgumentParser) -> Sequence[str]:
    """Return the words that may follow a command: its actions and other choices."""
    positional = [one for one in parser._actions if not one.option_strings and one.choices]  # noqa: SLF001
    return [str(word) for one in positional for word in (one.choices or ())]


def _flags(parser: argparse.ArgumentParser) -> Sequence[str]:
    own = [flag for one in parser._actions for flag in one.option_strings]  # noqa: SLF001
    return [*own, *(flag for below in _below(parser).values() for flag in _flags(below))]
