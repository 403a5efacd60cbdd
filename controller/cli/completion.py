"""`shoectl completion`: completion scripts of bash, zsh and fish for shoectl, shoed and shoesim.

The scripts call the commands, which compute the completions with click.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

PROGRAMS = ("shoectl", "shoed", "shoesim")

# bash splits words at = and :, click does not. So the script splits the line itself, and removes from the answers what
# bash already has.
_BASH = r"""
_dragonshoe_completion() {
    local line=${COMP_LINE:0:COMP_POINT} name=${1##*/} words cword current prefix="" type value
    read -ra words <<< "$line"
    cword=$((${#words[@]} - 1))
    [[ $line == *[[:space:]] ]] && cword=${#words[@]}
    current=${words[cword]-}
    [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && prefix=${current%"${current##*=}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("${value#"$prefix"}")
                [[ $value == *= ]] && compopt -o nospace
                ;;
        esac
    done < <(env "_${name^^}_COMPLETE=bash_complete" COMP_WORDS="$line" COMP_CWORD="$cword" "$1" 2> /dev/null)
    return 0
}
complete -o nosort -F _dragonshoe_completion @PROGRAMS@
"""

_ZSH = r"""#compdef @PROGRAMS@
_dragonshoe_completion() {
    local -a response described plain fields
    local type key description
    response=("${(@f)$(env "_${(U)service}_COMPLETE=zsh_complete" COMP_WORDS="${words[*]}" \
        COMP_CWORD=$((CURRENT - 1)) "${(Q)words[1]}" 2> /dev/null)}")
    for type key description in "${response[@]}"; do
        case $type in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain)
                if [[ $key == *= ]]; then
                    fields+=("$key")
                elif [[ $description == _ ]]; then
                    plain+=("$key")
                else
                    described+=("$key:$description")
                fi
                ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#fields )) && compadd -U -S '' -V fields -a fields
    (( $#plain )) && compadd -U -V plain -a plain
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _dragonshoe_completion "$@"
else
    compdef _dragonshoe_completion @PROGRAMS@
fi
"""

_FISH = r"""
function _dragonshoe_completion
    set -l name (string upper $argv[1])
    set -l response (env _{$name}_COMPLETE=fish_complete COMP_WORDS=(commandline -cp | string collect) \
        COMP_CWORD=(commandline -t | string collect) $argv[1] 2> /dev/null)
    for completion in $response
        set -l parts (string split -m 1 "," -- $completion)
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
for program in @PROGRAMS@
    complete --no-files --command $program --arguments "(_dragonshoe_completion $program)"
end
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def script(shell: str) -> str:
    """The script of a shell, for all commands."""
    return SCRIPTS[shell].lstrip("\n").replace("@PROGRAMS@", " ".join(PROGRAMS))


def write(folder: Path) -> list[Path]:
    """Write the scripts into a folder, under the names that the shells expect."""
    folder.mkdir(parents=True, exist_ok=True)
    shells = {f"{program}.{shell}": shell for program in PROGRAMS for shell in ("bash", "fish")}
    shells["_shoectl"] = "zsh"  # its first line names all commands
    for name, shell in shells.items():
        (folder / name).write_text(script(shell))
    return [folder / name for name in shells]


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion_verb(shell: str) -> None:
    """Print the completion script for SHELL.

    It completes shoectl, shoed and shoesim. The package installs it; to use it in one session only:

    \b
    Examples:
      source <(shoectl completion bash)
      source <(shoectl completion zsh)
      shoectl completion fish | source
    """
    sys.stdout.write(script(shell))


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
