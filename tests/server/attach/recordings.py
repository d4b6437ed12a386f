"""What real programs print, recorded afresh, and a program that redraws as agents do."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from hermitty.runtime.api import Runtime, Terminal
from tests.support.shells import PATIENCE_S

COLS, ROWS = 90, 28

# Keys, and what stands on the screen when they have been understood.
Step = tuple[str, str]

PROGRAMS: dict[str, Sequence[Step]] = {
    "vim": [
        ("vim -N -u NONE -i NONE long.txt\r", "line 1 of a file"),
        (":set number ruler mouse=a showcmd\r", "  1 line 1 of a file"),
        (":split\r", "long.txt"),
        ("20G", "20,1"),
        ("osome new text 中文 typed here\x1b", "typed here"),
        (":vsplit\r", "long.txt"),
        ("\x06\x06", "line 6"),
        ("vjjj", "VISUAL"),
        ("\x1b/line 100\r", "101,1"),
        (":set hlsearch\r", "hlsearch"),
        (":redraw!\r:echo 'nearly' . ' over'\r", "nearly over"),
    ],
    "less": [
        ("less long.txt\r", "line 1 of a file"),
        (" ", "line 50 "),
        ("G", "(END)"),
        ("?line 33\r", "line 339"),
        ("&7\r", "line 37"),
        ("&\rg", "line 4 "),
    ],
    "htop": [("htop -d 1\r", "Mem"), ("t", "Mem"), ("H", "Mem"), ("\x1b[B\x1b[B\x1b[B", "Mem")],
    "top": [("top -d 0.1\r", "PID"), ("c", "COMMAND"), ("1", "PID"), ("z", "PID"), ("x", "PID")],
    "bash": [
        ("PS1='\\[\\e[1;32m\\]me\\[\\e[0m\\]:\\[\\e[34m\\]\\W\\[\\e[0m\\]> '\r", "> "),
        ("for i in $(seq 60); do printf 'row %d \\e[3%dmcolour\\e[0m\\t中文\\n' $i $((i%8)); done\r", "中文\nme:"),
        ("echo " + "a-long-word " * 20 + "e''nd\r", " end\nme:"),
        ("printf 'progress 1\\rprogress 2\\rprogress 3\\n'\r", "\nprogress 3\nme:"),
        ("echo edi\x1b[D\x1b[D\x1b[Dxx\x05ted\x01\x1b[C\x05\r", "\nxxedited\nme:"),
        ("\x1b[A\x1b[A\x12progress", "reverse-i-search"),
        ("\x07clear; echo cle''ared\r", "cleared\nme:"),
        ("tput civis; printf '\\e[5;20r\\e[10;10Hregion\\e[?2004h\\e(0lqqk\\e(B\\e7'; echo do''ne\r", "done"),
    ],
}

# How each program is left, so that its terminal is at a prompt again.
LEAVING = {"vim": "\x1b\x1b:qa!\r", "less": "q", "htop": "q", "top": "q", "bash": ""}


def installed(program: str) -> bool:
    return shutil.which(program) is not None


async def record(rt: Runtime, directory: Path, program: str) -> bytes:
    """Return everything that a shell with a program in it prints while the program is used."""
    (directory / "long.txt").write_text(
        "".join(f"line {number} of a file, with some words\n" for number in range(1, 400))
    )
    terminal = await rt.open_terminal(cwd=directory, shell="bash", cols=COLS, rows=ROWS)
    terminal.write('for i in $(seq 50); do echo "before $i"; done\r')
    await seen(terminal, "before 50")
    for keys, sign in PROGRAMS[program]:
        grown = terminal.log.end
        terminal.write(keys)
        await seen(terminal, sign, beyond=grown)
    terminal.write(LEAVING[program])
    recorded = terminal.log.read(0).data
    await rt.close_terminal(terminal.id)
    return recorded


async def seen(terminal: Terminal, text: str, *, beyond: int = 0) -> None:
    """Wait until something stands on the screen, and something was printed."""
    await until_output(terminal, lambda: terminal.log.end > beyond and text in terminal.screen.text())


async def until_output(terminal: Terminal, fact: Callable[[], bool]) -> None:
    """Wait until something is so; it is looked at whenever the terminal prints."""
    grown = asyncio.Event()
    stop = terminal.watch(grown.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                grown.clear()
                await grown.wait()
    finally:
        stop()


def agent() -> bytes:
    """A header that is drawn once, a conversation that scrolls, and an input box that is redrawn under it."""
    parts = ["\x1b]2;an agent\x07\x1b[?2004h\x1b[?1004h\x1b[?25l"]
    parts += [f"\x1b[1;35m╭{'─' * 40}╮\x1b[0m\r\n", f"\x1b[1;35m│\x1b[0m{' ✻ Agent ready':<39}\x1b[1;35m│\x1b[0m\r\n"]
    parts.append(f"\x1b[1;35m╰{'─' * 40}╯\x1b[0m\r\n")
    box = 4
    for turn in range(60):
        if turn:
            parts.append(f"\x1b[?2026h\x1b[{box}A\r\x1b[J")
        if turn % 3 == 0:
            parts.append(f"\x1b[38;2;{turn * 4};120;200m● step {turn}\x1b[39m \x1b[2mread 文件 {turn}.py\x1b[22m\r\n")
        parts.append(f"\x1b[33m{'⠋⠙⠹⠸⠼⠴⠦⠧'[turn % 8]}\x1b[39m working… \x1b[3m({turn}s)\x1b[23m\x1b[K\r\n")
        parts.append(
            f"\x1b[48;5;236m> {'typed text ' * (turn % 5):<60}\x1b[49m\r\n\x1b[7m {turn:>3}% \x1b[27m left\r\n"
        )
        parts.append(f"\x1b[4:3m\x1b[58;5;{turn}mhint\x1b[59m\x1b[24m\r\n\x1b[?2026l")
        if turn == 30:
            parts.append(
                "\x1b[?1049h\x1b[2J\x1b[H\x1b[31mfull screen\x1b[5;5Hdiff\x1b[?1000h\x1b[?1006h\x1b[2;10r\x1b[10;1H\n\n"
            )
            parts.append("\x1b[r\x1b[?1000l\x1b[?1006l\x1b[?1049l")
    parts.append("\x1b[?1049h\x1b[?1h\x1b=\x1b[?1002h\x1b[?1006h\x1b[2J\x1b[3;4Hlast \x1b[1mpicture 👍🏽\x1b[6 q")
    return "".join(parts).encode()
