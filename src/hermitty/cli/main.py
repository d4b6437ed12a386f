"""`hermitty`: one entry point, one module for each command."""

import argparse
import sys
from collections.abc import Sequence

from hermitty.errors import HermittyError
from hermitty.version import __version__

_DESCRIPTION = """\
Terminals for AI agents and the people who watch them: persistent shells with exact
exit codes, directories and output.
"""

_RUN_EPILOG = """\
examples:
  hermitty run -- 'cd src && make'        one word: a line for the shell
  hermitty run -- git commit -m 'a b'     several words: exactly these arguments
  hermitty run --json --wait 5 -- 'npm test'
  hermitty run --provider pipe -- 'ls /nowhere; echo done'

exit codes: the command's own; 128+N when signal N ended it; 124 when it still ran
after --wait, or waited for input that nobody could give; 126 when it was not
allowed; 125 when hermitty could not run it.
"""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(
        prog="hermitty", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"hermitty {__version__}")
    commands = top.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)

    run = commands.add_parser(
        "run",
        help="run one command in a real terminal and exit with its exit code",
        description="Run one command in a real terminal, stream its output, and exit with its exit code.",
        epilog=_RUN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("--cwd", metavar="DIR", help="directory to run in (default: this one)")
    run.add_argument("--session", metavar="NAME", help="session the command belongs to")
    run.add_argument("--shell", metavar="NAME", help="bash, zsh, fish, sh, ... (default: $SHELL)")
    run.add_argument("--provider", choices=("pty", "pipe"), default="pty", help="a terminal, or plain pipes")
    run.add_argument("--wait", metavar="S", type=float, help="give up waiting after S seconds (exit code 124)")
    run.add_argument("--kill-after", metavar="S", type=float, help="kill the command after S seconds")
    run.add_argument("--json", action="store_true", help="print one CommandResult as JSON instead of the output")
    run.add_argument("--yes", action="store_true", help="answer approvals with allow")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="the command, best after --")

    doctor = commands.add_parser(
        "doctor",
        help="show what works on this machine",
        description="Try every shell and feature on this machine, and say what works and what to do otherwise.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = parser().parse_args(argv)
    try:
        if options.subcommand == "run":
            from hermitty.cli.run import run_command

            return run_command(options)
        from hermitty.cli.doctor import examine

        return examine(as_json=options.json)
    except HermittyError as error:
        print(f"hermitty: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
