"""Code that completes `kapy` in a shell.

It asks `kapy` itself: where the environment variable `_KAPY_COMPLETE` is set, click answers with
lines of kind (`plain`, `dir`, `file`), value and help, in a form for each shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BASH: Final = """\
_kapy_complete() {
    local line=${COMP_LINE:0:COMP_POINT} last='([^[:space:]\\\\]|\\\\.)*$'
    local word known current=${COMP_WORDS[COMP_CWORD]} kind value
    [[ $line =~ $last ]] && word=${BASH_REMATCH[0]}
    # Bash divides words at = and : and replaces what comes after these.
    [[ $current == [=:] ]] && current=
    known=${word#-*=}
    known=${known%"$current"}
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                printf -v value %q "${value%%$'\\t'*}"
                COMPREPLY+=("${value#"$known"}")
                ;;
        esac
    done < <(env COMP_WORDS="$line" COMP_CWORD="$word" _KAPY_COMPLETE=fish_complete "$1")
}
complete -o nosort -F _kapy_complete kapy
"""
_ZSH: Final = """\
#compdef kapy
_kapy() {
    local kind value help answered
    local -a plain described
    env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) _KAPY_COMPLETE=zsh_complete kapy |
        while read -r kind && read -r value && read -r help; do
            answered=$kind
            case $kind in
                plain) [[ $help == _ ]] && plain+=("$value") || described+=("$value:$help") ;;
            esac
        done
    [[ ${words[CURRENT]} == -*=* ]] && compset -P '*='
    [[ $answered == dir ]] && _path_files -/
    [[ $answered == file ]] && _path_files -f
    (( $#described )) && _describe kapy described
    (( $#plain )) && compadd -a plain
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kapy "$@"; else compdef _kapy kapy; fi
"""
_FISH: Final = """\
function __kapy_complete
    set -l given COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -ct)
    set -l option (string match -r -- '^-[^=]*=' (commandline -ct))
    env _KAPY_COMPLETE=fish_complete $given kapy | while read -l line
        set -l parts (string split -m 1 "," $line)
        switch $parts[1]
            case dir
                for one in (__fish_complete_directories "$parts[2]")
                    echo "$option$one"
                end
            case file
                for one in (__fish_complete_path "$parts[2]")
                    echo "$option$one"
                end
            case plain
                echo "$option$parts[2]"
        end
    end
end
complete --no-files --command kapy --arguments "(__kapy_complete)"
"""
CODE: Final[Mapping[str, str]] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The code by the name of the shell."""
