"""The command line of everything that works with the terminals of a running server."""

import argparse
from typing import TYPE_CHECKING

from hermitty.cli.state_dir import add_state_dir

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_WHICH = "its id or the beginning of it, its number, or its name"

_SEND_EPILOG = """\
examples:
  hermitty send 3 'make test' --enter     type a line and Enter
  hermitty send build --key ctrl-c        press a key
  hermitty send 3 - < script.txt          type what a file holds

The text is typed as it is, without Enter unless --enter says so. Then come the keys, in order.
"""

_LOG_EPILOG = """\
On a terminal, only what draws is shown: no output of a program can type into your shell, fill
your clipboard or leave your terminal in a strange state. Into a file or a pipe go the bytes as
they are, and with --raw everywhere.
"""

_ATTACH_EPILOG = """\
Ctrl-] leaves; the terminal goes on. A connection that breaks is tried again, and goes on where
it was. When the terminal ends, its shell's exit code is ours.
"""


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Describe how the server is found."""
    parser.add_argument("--url", metavar="URL", help="the server (default: HERMITTY_URL, or the one that runs here)")
    parser.add_argument(
        "--token", metavar="T", help="its token (default: HERMITTY_TOKEN, or the one that is kept here)"
    )
    add_state_dir(parser)


def add_terminals(commands: "Commands") -> None:
    """Describe `hermitty ls`, `open`, `attach`, `send`, `screen`, `log` and `kill`."""
    listing = _command(commands, "ls", "list the terminals of a server")
    listing.add_argument("--workspace", metavar="W", help="only those of this workspace")
    listing.add_argument("--session", metavar="S", help="only those of this session")
    listing.add_argument("--json", action="store_true", help="print one JSON object a line")

    opening = _command(commands, "open", "open a terminal on a server and print its id")
    opening.add_argument("--cwd", metavar="DIR", help="its directory (default: this one, if the server runs here)")
    opening.add_argument("--shell", metavar="NAME", help="bash, zsh, fish, sh, ... (default: the server's)")
    opening.add_argument("--name", metavar="NAME", help="its name")
    opening.add_argument("--session", metavar="S", help="session that it belongs to")
    opening.add_argument("--workspace", metavar="W", help="workspace that it belongs to")
    opening.add_argument(
        "--sandbox", choices=("off", "workspace", "strict"), help="confine its programs (default: as the settings say)"
    )
    opening.add_argument("--attach", action="store_true", help="attach to it at once")
    opening.add_argument("--json", action="store_true", help="print the terminal as JSON")

    attach = _command(commands, "attach", "use a terminal of a server as your own", _ATTACH_EPILOG)
    attach.add_argument("terminal", metavar="ID", help=_WHICH)
    attach.add_argument("--view", action="store_true", help="only watch")
    attach.add_argument("--no-history", action="store_true", help="only the screen, not what scrolled off it")
    attach.add_argument("--detach-key", metavar="KEY", default="ctrl-]", help="the key that leaves (default: ctrl-])")

    send = _command(commands, "send", "type into a terminal", _SEND_EPILOG)
    send.add_argument("terminal", metavar="ID", help=_WHICH)
    send.add_argument("text", metavar="TEXT", nargs="?", help="what to type; - reads it from standard input")
    send.add_argument(
        "--key", metavar="KEY", dest="keys", action="append", default=[], help="enter, ctrl-c, up, f5, ..."
    )
    send.add_argument("--enter", action="store_true", help="press Enter at the end")

    screen = _command(commands, "screen", "show the screen of a terminal")
    screen.add_argument("terminal", metavar="ID", help=_WHICH)
    screen.add_argument("--format", choices=("text", "ansi", "svg", "png"), default="text", help="default: text")
    screen.add_argument("--history", action="store_true", help="with what scrolled off it (text only)")
    screen.add_argument("-o", "--output", metavar="FILE", help="write it to a file")

    log = _command(commands, "log", "show the output of a terminal", _LOG_EPILOG)
    log.add_argument("terminal", metavar="ID", help=_WHICH)
    log.add_argument("--since", metavar="N", type=int, help="from this offset on (default: all that is kept)")
    log.add_argument("--follow", "-f", action="store_true", help="go on until the terminal ends")
    log.add_argument("--raw", action="store_true", help="the bytes as they are")

    kill = _command(commands, "kill", "end terminals and everything that runs in them")
    kill.add_argument("terminals", metavar="ID", nargs="*", help=_WHICH)
    kill.add_argument("--all", action="store_true", help="all of them; asks first")
    kill.add_argument("--yes", action="store_true", help="do not ask")


def _command(commands: "Commands", name: str, words: str, epilog: str | None = None) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_server_options(parser)
    return parser
