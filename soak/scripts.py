"""The programs that scenarios run, as scripts of sh: the policy allows them by one rule."""

from pathlib import Path

# Each notes in a file of the command's own that it ran, so that a second time would be seen.
_SCRIPTS = {
    # MARK FORM COUNT CODE: numbered lines, and an exit code.
    "count.sh": 'echo ran >> "$1"; seq -f "$2" 1 "$3"; exit "$4"\n',
    # MARK FORM COUNT PIECES TAG CODE: the same in pieces, so that some of it is printed whenever a server is killed.
    "flood.sh": (
        'echo ran >> "$1"; printf "begin-%s\\n" "$5"; n=0; step=$(( ($3 + $4 - 1) / $4 ))\n'
        'while [ "$n" -lt "$3" ]; do last=$((n + step)); [ "$last" -gt "$3" ] && last=$3\n'
        '  seq -f "$2" $((n + 1)) "$last"; n=$last; sleep 0.05; done\n'
        'printf "end-%s\\n" "$5"; exit "$6"\n'
    ),
    # MARK SIGNAL: dies by a signal.
    "die.sh": 'echo ran >> "$1"; kill -"$2" $$; sleep 100\n',
    # MARK: runs until it is stopped.
    "stay.sh": 'echo ran >> "$1"; echo waiting; exec sleep 1000\n',
    # MARK: does not let itself be interrupted or terminated.
    "stubborn.sh": "trap '' INT TERM HUP; echo ran >> \"$1\"; echo waiting; while :; do sleep 1; done\n",
    # MARK PIDS SECONDS: leaves programs behind in every way there is, one line for each. The seconds are unique.
    "leave.sh": (
        'echo ran >> "$1"\n'
        'setsid sh -c \'echo $$ >> "$1"; exec sleep $2\' - "$2" "$3" &\n'
        '( setsid sh -c \'echo $$ >> "$1"; exec sleep $2\' - "$2" "$3" & ) &\n'
        'env -i PATH="$PATH" setsid sh -c \'echo $$ >> "$1"; exec sleep $2\' - "$2" "$3" &\n'
        'nohup sh -c \'trap "" TERM INT; echo $$ >> "$1"; while :; do sleep $2; done\' - "$2" "$3" '
        ">/dev/null 2>&1 &\n"
        'while [ "$(cat "$2" 2>/dev/null | wc -l)" -lt 4 ]; do sleep 0.02; done; echo left\n'
    ),
    # MARK: the size of the terminal.
    "size.sh": 'echo ran >> "$1"; stty size\n',
    # MARK: asks, and says what it was answered.
    "ask.sh": 'echo ran >> "$1"; printf "name? "; read -r name; echo "hello $name"\n',
}


def write_scripts(directory: Path) -> None:
    """Write all of them."""
    directory.mkdir()
    for name, text in _SCRIPTS.items():
        (directory / name).write_text(text)
