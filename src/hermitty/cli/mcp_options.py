"""The command line of `hermitty mcp`."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
Without --http it speaks on standard input and output, as clients expect that start it
themselves. If a server runs (`hermitty serve`), the terminals are there: people can watch
and answer, and commands outlive the client. Otherwise, and with --own, they are its own,
and everything that it started ends with its client. docs/mcp.md has the configuration for
Claude Code, Codex, Cursor, VS Code, Zed and OpenCode.

With --http clients connect to http://HOST:PORT/mcp and show the token in the header
`Authorization: Bearer TOKEN`; it is the one of `hermitty serve`, kept in the state directory.
"""


def add_mcp(commands: "Commands") -> None:
    """Describe `hermitty mcp`."""
    mcp = commands.add_parser(
        "mcp",
        help="give terminals to an agent by the Model Context Protocol",
        description="Serve terminals as tools and resources of the Model Context Protocol.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mcp.add_argument("--cwd", metavar="DIR", help="directory in which sessions begin (default: this one)")
    mcp.add_argument("--own", action="store_true", help="use terminals of its own, even if a server runs")
    mcp.add_argument("--http", action="store_true", help="serve HTTP instead of standard input and output")
    mcp.add_argument("--host", metavar="H", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    mcp.add_argument("--port", metavar="P", type=int, default=8422, help="port to listen on (default: 8422)")
    mcp.add_argument("--token", metavar="T", help="the token (default: HERMITTY_TOKEN, or the one of the server)")
    mcp.add_argument("--no-token", action="store_true", help="let every program of this machine in")
