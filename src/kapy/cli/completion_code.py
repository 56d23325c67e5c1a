"""Code that completes `kapy` in a shell.

It asks `kapy` itself: where the environment variable `_KAPY_COMPLETE` is set, click answers with
lines of kind (`plain`, `dir`, `file`), value and help, in a form for each shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BASH: Final = """\
_kapy_complete() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        _KAPY_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _kapy_complete kapy
"""
_ZSH: Final = """\
#compdef kapy
_kapy() {
    local kind value help
    local -a plain described
    env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) _KAPY_COMPLETE=zsh_complete kapy |
        while read -r kind && read -r value && read -r help; do
            case $kind in
                dir) _path_files -/ ;;
                file) _path_files -f ;;
                plain) [[ $help == _ ]] && plain+=("$value") || described+=("$value:$help") ;;
            esac
        done
    (( $#described )) && _describe kapy described
    (( $#plain )) && compadd -a plain
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kapy "$@"; else compdef _kapy kapy; fi
"""
_FISH: Final = """\
function __kapy_complete
    set -l given COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t)
    env _KAPY_COMPLETE=fish_complete $given kapy | while read -l line
        set -l parts (string split -m 1 "," $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command kapy --arguments "(__kapy_complete)"
"""
CODE: Final[Mapping[str, str]] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The code by the name of the shell."""
