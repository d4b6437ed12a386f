"""The command line of `hermitty acp`."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
examples:
  hermitty acp -- my-agent --acp                          talk to it; Ctrl-C cancels, Ctrl-D ends
  hermitty acp --prompt 'run the tests' -- my-agent       its answer on standard output
  hermitty acp --json --prompt 'fix it' -- my-agent       one JSON object a line

The agent runs commands in terminals of hermitty: each is judged by the policy, and asked
about if need be. Without a person at the terminal, what would be asked about is refused,
unless --yes; blocks stay. The agent and everything it started end with this command.

exit codes: 0 the turn ended; 1 it ended otherwise (refusal, too many tokens or requests);
130 cancelled; 128+N when signal N ended it; 125 when the agent could not be run, broke the
protocol or died. In a conversation: that of the last turn.
"""


def add_acp(commands: "Commands") -> None:
    """Describe `hermitty acp`."""
    acp = commands.add_parser(
        "acp",
        help="run an agent that speaks the Agent Client Protocol, and give it terminals",
        description="Run an agent that speaks the Agent Client Protocol, in a conversation or for one prompt.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    acp.add_argument("--cwd", metavar="DIR", help="directory to work in (default: this one)")
    acp.add_argument("--prompt", metavar="TEXT", help="what to do; then end (default without a terminal: read it)")
    acp.add_argument("--json", action="store_true", help="print every update and the result as JSON, one a line")
    acp.add_argument("--yes", action="store_true", help="answer questions with allow")
    acp.add_argument("--files", action="store_true", help="let the agent read and write files through hermitty")
    acp.add_argument(
        "--acp-v2",
        action="store_true",
        help="speak the draft of version 2 with agents that know it: they run commands themselves, and we show them",
    )
    acp.add_argument("--login", metavar="METHOD", help="log in by this method of the agent first")
    acp.add_argument("agent", nargs="+", metavar="AGENT", help="the agent and its arguments, best after --")
