"""The command line of `hermitty rules` and `hermitty approvals`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from hermitty.cli.terminal_options import add_server_options

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_ADD_EPILOG = """\
examples:
  hermitty rules add --allow -- npm test
  hermitty rules add --deny --reason 'releases are made by hand' -- npm publish
  hermitty rules add --allow --paths workspace --writes --scope workspace -- pytest
  hermitty rules add --allow --exact --expires 2h -- make deploy-staging

A rule that allows means these words at the front, in this order; one that denies or asks
means them in any order and spelling. The longest rule counts; of equally long ones the
strictest. No rule allows what would destroy the system.
"""

_APPROVALS_EPILOG = """\
examples:
  hermitty approvals --denied                      what did not run, and why
  hermitty approvals --pending                     the questions that wait at a server
  hermitty approvals --allow q_2f8c                let it run
  hermitty approvals --allow q_2f8c --scope session
"""


def add_rules(commands: "Commands") -> None:
    """Describe `hermitty rules`."""
    rules = commands.add_parser(
        "rules",
        help="what is always allowed, asked about or denied",
        description="Look at and change the rules: what is always allowed, asked about or denied.",
    )
    actions = rules.add_subparsers(dest="rules_command", metavar="ACTION", required=True)

    show = actions.add_parser("list", help="the rules that count here", description="List the rules that count here.")
    show.add_argument("--json", action="store_true", help="print JSON, one rule a line")

    add = actions.add_parser(
        "add",
        help="keep a rule",
        description="Keep a rule: a program and the words that follow it.",
        epilog=_ADD_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decision = add.add_mutually_exclusive_group(required=True)
    for name, text in (("allow", "run it without a question"), ("ask", "always ask"), ("deny", "never run it")):
        decision.add_argument(f"--{name}", dest="decision", action="store_const", const=name, help=text)
    add.add_argument("--scope", choices=("user", "workspace"), default="user", help="everywhere, or in this workspace")
    add.add_argument("--exact", action="store_true", help="these words and no others")
    add.add_argument("--flag", metavar="OPTION", dest="flags", action="append", help="another option that may be given")
    add.add_argument("--no-flags", action="store_true", help="no other options")
    add.add_argument("--paths", metavar="WHERE", help="what it may touch: anything, workspace, or a directory")
    add.add_argument("--writes", action="store_true", help="its output may go to files")
    add.add_argument("--shell", metavar="NAME", dest="shells", action="append", help="only for this shell")
    add.add_argument("--cwd", metavar="DIR", help="only in this directory and below")
    add.add_argument("--level", choices=("low", "medium", "high", "critical"), help="the gravest that it allows")
    add.add_argument("--expires", metavar="WHEN", help="90s, 30m, 12h, 7d, or a time such as 2030-01-01T00:00:00Z")
    add.add_argument("--reason", metavar="TEXT", help="why; shown when the rule decides")
    add.add_argument("--example", metavar="LINE", dest="examples", action="append", help="a line it must match")
    add.add_argument(
        "--counter-example", metavar="LINE", dest="counter_examples", action="append", help="a line it must not match"
    )
    add.add_argument("words", nargs="+", metavar="WORD", help="the command, best after --; `*` is every command")

    remove = actions.add_parser("remove", help="forget a rule", description="Forget a rule.")
    remove.add_argument("id", metavar="ID", help="as `hermitty rules list` shows it")

    check = actions.add_parser(
        "check",
        help="say what is wrong with the files of rules",
        description="Read the files of rules, try every example, and say what is wrong. Exit code 1 if something is.",
    )
    check.add_argument("files", nargs="*", metavar="FILE", help="other files than those that count here")
    for each in (show, add, remove, check):
        each.add_argument("--workspace", metavar="DIR", help="the root of the workspace (default: this directory)")


def add_approvals(commands: "Commands") -> None:
    """Describe `hermitty approvals`."""
    approvals = commands.add_parser(
        "approvals",
        help="who allowed what, newest first",
        description="List what was decided about commands, newest first: by the policy, by rules and by people.",
        epilog=_APPROVALS_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    approvals.add_argument("--pending", action="store_true", help="list the questions that wait at a server")
    reply = approvals.add_mutually_exclusive_group()
    for name, text in (("allow", "answer a question with yes"), ("deny", "with no"), ("skip", "leave the command out")):
        reply.add_argument(f"--{name}", dest="reply", metavar="ID", type=partial(_reply, name), help=text)
    approvals.add_argument(
        "--scope", choices=("once", "session", "workspace", "user"), help="what a yes counts for (default: once)"
    )
    approvals.add_argument("--typed", metavar="TEXT", help="the confirmation of a command that is blocked")
    approvals.add_argument("--server", action="store_true", help="ask the server that runs here, not the file")
    add_server_options(approvals)
    approvals.add_argument("--answers", action="store_true", help="only what people were asked")
    approvals.add_argument("--denied", action="store_true", help="only what did not run")
    approvals.add_argument("--session", metavar="NAME", help="only commands of this session")
    approvals.add_argument("--limit", metavar="N", type=int, default=50, help="at most so many (default: 50)")
    approvals.add_argument("--json", action="store_true", help="print JSON, one decision a line")


def _reply(answer: str, question: str) -> tuple[str, str]:
    return answer, question
