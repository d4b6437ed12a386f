"""`hermitty`: one entry point, one module for each command."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from hermitty.cli.acp_options import add_acp
from hermitty.cli.cluster import add_cluster
from hermitty.cli.escapes import escape_logs, tell
from hermitty.cli.host import add_host
from hermitty.cli.mcp_options import add_mcp
from hermitty.cli.play_options import add_play
from hermitty.cli.policy_options import add_approvals, add_rules
from hermitty.cli.server_options import add_serve
from hermitty.cli.state_dir import use_state_dir
from hermitty.cli.terminal_options import add_server_options, add_terminals
from hermitty.errors import HermittyError
from hermitty.version import __version__

_DESCRIPTION = """\
Terminals for AI agents and the people who watch them: persistent shells with exact
exit codes, directories and output.
"""

_EPILOG = """\
start with:
  hermitty run -- 'make test'     one command in a real terminal; its exit code is ours
  hermitty serve                  terminals that outlive everything, and a page to watch them
  hermitty mcp                    terminals for an agent, as its client starts it
  hermitty doctor                 what works on this machine

`hermitty COMMAND --help` has the options, examples and exit codes of each.
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

_CHECK_EPILOG = """\
examples:
  hermitty check 'git status && rm -rf build'     one word: a line for the shell
  hermitty check -- rm -rf 'a b'                  several words: exactly these arguments
  echo '{"command": "ls", "shell": "zsh"}' | hermitty check --stdin

--stdin reads objects {"command", "shell"?, "cwd"?}, one a line, and prints one Decision
for each, in the same order. A line that is no such object gets a Decision that says ask,
with the field "error".

exit codes: 0 allow, 1 ask, 2 block; with --stdin 0; 125 when it could not be checked.
"""

# What a shell reports for a program that SIGPIPE ended.
_BROKEN_PIPE = 141


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(
        prog="hermitty",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    run.add_argument("--sandbox", choices=("off", "workspace", "strict"), help="confine it (default: by the settings)")
    run.add_argument("--json", action="store_true", help="print one CommandResult as JSON instead of the output")
    run.add_argument("--yes", action="store_true", help="answer approvals with allow")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="the command, best after --")

    add_serve(commands)
    add_terminals(commands)
    add_host(commands)
    add_cluster(commands)
    add_play(commands)
    add_mcp(commands)
    add_acp(commands)
    _add_check(commands)
    add_rules(commands)
    add_approvals(commands)
    _add_history(commands)
    _add_config(commands)
    _add_doctor(commands)
    return top


def _add_doctor(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    doctor = commands.add_parser(
        "doctor",
        help="show what works on this machine",
        description="Try every shell and feature on this machine, and say what works and what to do otherwise.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")


def _add_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = commands.add_parser(
        "check",
        help="say what the policy makes of a command, without running it",
        description="Say what the policy and your rules make of a command, without running it.",
        epilog=_CHECK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("--shell", metavar="NAME", help="bash, zsh, fish, sh, pwsh (default: $SHELL)")
    check.add_argument("--cwd", metavar="DIR", help="directory it would run in (default: this one)")
    check.add_argument("--json", action="store_true", help="print one Decision as JSON")
    check.add_argument("--stdin", action="store_true", help="read JSON lines, print one Decision for each")
    check.add_argument("command", nargs="*", metavar="COMMAND", help="the command, best after --")


def _add_config(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    config = commands.add_parser(
        "config", help="show settings and where they come from", description="Show settings and where they come from."
    )
    actions = config.add_subparsers(dest="config_command", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="every setting, its value and its origin",
        description="Show every setting, its value, and where the value comes from.",
    )
    show.add_argument(
        "--changed", action="store_true", help="only what differs from the defaults by somebody's decision"
    )
    show.add_argument("--explain", action="store_true", help="say what each setting does and what it may be")
    show.add_argument("--workspace", metavar="DIR", help="whose .hermitty.toml counts (default: this directory)")
    show.add_argument("--json", action="store_true", help="print JSON")
    actions.add_parser("path", help="your file of settings, there or not", description="Print the path of your file.")


def _add_history(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    history = commands.add_parser(
        "history",
        help="the commands that ran, newest first",
        description="List the commands that ran, newest first.",
    )
    history.add_argument("--search", metavar="TEXT", help="only command lines with this text in them")
    history.add_argument("--session", metavar="NAME", help="only commands of this session")
    history.add_argument("--failed", action="store_true", help="only commands that failed or were stopped")
    history.add_argument("--limit", metavar="N", type=int, default=50, help="at most so many (default: 50)")
    history.add_argument("--json", action="store_true", help="print one JSON object a line")
    history.add_argument("--server", action="store_true", help="ask the server that runs here, not the file")
    add_server_options(history)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _fill_standard_streams()
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments:
        parser().print_help(sys.stderr)
        return 2  # as for every wrong command line
    options = parser().parse_args(arguments)
    try:
        code = _dispatch(options)
        sys.stdout.flush()
        return code
    except HermittyError as error:
        tell(str(error))
        return 125
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has left, as `head` does. What Python still holds goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


def _dispatch(options: argparse.Namespace) -> int:
    if options.subcommand != "run":  # which passes on what a program prints, byte for byte
        _speak_utf8()
    escape_logs()
    use_state_dir(options)
    return _who_does(options.subcommand)(options)


def _who_does(name: str) -> Callable[[argparse.Namespace], int]:
    """Import what a command needs, and nothing else: `hermitty check` waits for no web server."""
    match name:
        case "run":
            from hermitty.cli.run import run_command

            return run_command
        case "serve":
            from hermitty.cli.serve import run_server

            return run_server
        case "attach":
            from hermitty.cli.attach import attach

            return attach
        case "host":
            from hermitty.cli.host import manage_host

            return manage_host
        case "cluster":
            from hermitty.cli.cluster import manage_cluster

            return manage_cluster
        case "play":
            from hermitty.cli.play import play_recording

            return play_recording
        case "mcp":
            from hermitty.cli.mcp import serve_mcp

            return serve_mcp
        case "acp":
            from hermitty.cli.acp import run_acp

            return run_acp
        case "check":
            from hermitty.cli.check import check_commands

            return check_commands
        case "rules":
            from hermitty.cli.rules import manage_rules

            return manage_rules
        case "approvals":
            from hermitty.cli.approvals import show_approvals

            return show_approvals
        case "history":
            from hermitty.cli.history import show_history

            return show_history
        case "config":
            from hermitty.cli.config import configure

            return configure
        case "doctor":
            from hermitty.cli.doctor import examine

            return examine
        case _:
            from hermitty.cli import terminals

            return {
                "ls": terminals.list_terminals,
                "open": terminals.open_terminal,
                "send": terminals.send_input,
                "screen": terminals.show_screen,
                "log": terminals.show_log,
                "kill": terminals.kill_terminals,
            }[name]


def _speak_utf8() -> None:
    """Write UTF-8, whatever the locale says: JSON is, and names and commands may be anything."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _fill_standard_streams() -> None:
    """Open what the caller closed (`>&-`): the next descriptors that are opened would take these numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as we run


if __name__ == "__main__":
    sys.exit(main())
